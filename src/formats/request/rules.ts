/** What a body must hold besides the checks of its members. */

import type { Issues, JsonSchema } from "../../domain/json/checks.ts"
import type { JsonObject } from "../../domain/json/json.ts"

/** Reports what is wrong with the body as a whole, and has the JSON Schema of the bodies that it accepts. */
export interface Rule {
  (body: JsonObject, issues: Issues): void
  readonly schema: JsonSchema
}

export const ruleOf = (schema: JsonSchema, rule: (body: JsonObject, issues: Issues) => void): Rule =>
  Object.assign(rule, { schema })
