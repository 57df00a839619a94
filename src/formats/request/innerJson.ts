/**
 * JSON in texts of a body: the arguments of tool calls, which hosts of some forms are sent as objects. Their values are
 * bounded together with those of the body (`JsonScan.ts`): otherwise a text of empty arrays would take a gigabyte, and seconds in
 * `JSON.parse`. See docs/guarantees.md#g30.
 */

import { type Issues, report } from "../../domain/json/checks.ts"
import { type JsonObject, objectIn, objectsIn } from "../../domain/json/json.ts"
import { mostValues } from "../../wire/JsonScan.ts"
import { valuesIn } from "../../wire/jsonDepth.ts"

/** Reports arguments of tool calls, in a body of any form, that have more values together than a body may have. */
export const checkInnerJson = (body: JsonObject, issues: Issues): void => {
  const texts = argumentsIn(body)
  // A value takes a character at least.
  if (texts.reduce((sum, { length }) => sum + length, 0) <= mostValues) return
  let values = 0
  for (const text of texts) if (values <= mostValues) values += valuesIn(text, mostValues)
  if (values <= mostValues) return
  const path = body["messages"] === undefined ? "input" : "messages"
  report(issues, path, `the arguments of tool calls have too many JSON values: the limit is ${mostValues}`)
}

/** The arguments of calls: in messages, or items of the Responses form. */
const argumentsIn = ({ messages, input }: JsonObject): ReadonlyArray<string> => {
  const found: Array<unknown> = []
  for (const { tool_calls: calls } of objectsIn(messages)) {
    if (Array.isArray(calls))
      for (const { function: called } of objectsIn(calls)) found.push(objectIn(called)["arguments"])
  }
  for (const item of objectsIn(input)) found.push(item["arguments"])
  return found.filter((text) => typeof text === "string")
}
