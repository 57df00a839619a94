/**
 * Members whose value asks for what happens without them. Where a host is not sent one of these, nothing is lost, so it is not named
 * among what was dropped. A host that takes it is sent it: a server's own default may be another. Pure.
 */
import type { JsonObject } from "../json/json.ts"
import { type ChatParameter, chatParameterRows } from "./chatParameters.ts"

type Neutral = NonNullable<ChatParameter["neutral"]>

/** By name. Those of chat parameters stand in their table. */
const neutral: ReadonlyMap<string, Neutral> = new Map([
  ...chatParameterRows.flatMap(([name, { neutral }]) => (neutral === undefined ? [] : [[name, neutral] as const])),
  // Hosts are told so anyway.
  ["store", [false]],
  ["background", [false]],
])

export const asksNothing = (name: string, value: unknown): boolean => {
  if (value == null || (Array.isArray(value) && value.length === 0)) return true
  const values = neutral.get(name)
  return typeof values === "function" ? values(value) : values?.includes(value) === true
}

/** The names without those of neutral members. A name that is no member of the payload is a path, or was taken out of it before. */
export const withoutNeutral = (dropped: ReadonlyArray<string>, payload: JsonObject): ReadonlyArray<string> =>
  dropped.some((name) => isNeutral(name, payload)) ? dropped.filter((name) => !isNeutral(name, payload)) : dropped

const isNeutral = (name: string, payload: JsonObject): boolean =>
  payload[name] != null && asksNothing(name, payload[name])
