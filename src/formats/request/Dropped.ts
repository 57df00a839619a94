/** What a translation to the canonical form leaves out. */
import type { JsonObject } from "../../domain/json/json.ts"

/** Names of members that are not sent to any host, by their path in the body. The caller is told. */
export type Dropped = Array<string>

/** Reports the members of an item or a part that are not carried, unless they say nothing. */
export const dropOthers = (value: JsonObject, known: ReadonlySet<string>, path: string, dropped: Dropped): void => {
  for (const name in value) {
    const member = value[name]
    const saysNothing =
      member == null || member === false || member === "" || (Array.isArray(member) && member.length === 0)
    if (!saysNothing && !known.has(name)) dropped.push(`${path}.${name}`)
  }
}
