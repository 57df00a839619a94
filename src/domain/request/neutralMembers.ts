/**
 * Members whose value asks for what happens without them. Where a host is not sent one of these, nothing is lost, so it is not named
 * among what was dropped. A host that takes it is sent it: a server's own default may be another. Pure.
 */
import { isJsonObject, type JsonObject } from "../json/Json.ts"

const neutral: Readonly<Record<string, ReadonlyArray<unknown>>> = {
  // One answer, and calls as the model makes them.
  n: [1],
  best_of: [1],
  parallel_tool_calls: [true],
  // Sampling as it is without the parameter. Not `repetition_penalty` and `top_k`: some models come with others than 1 and 0.
  presence_penalty: [0],
  frequency_penalty: [0],
  min_p: [0],
  top_a: [0],
  top_p: [1],
  logprobs: [false],
  top_logprobs: [0],
  // A host without tiers serves by the only one that it has.
  service_tier: ["auto", "default", "standard_only"],
  structured_outputs: [false],
  // Hosts are told so anyway.
  store: [false],
  background: [false],
}

const objects: ReadonlySet<string> = new Set(["metadata", "logit_bias"])

export const asksNothing = (name: string, value: unknown): boolean => {
  if (value == null) return true
  if (Array.isArray(value))
    return value.length === 0 || (name === "modalities" && value.every((kind) => kind === "text"))
  if (isJsonObject(value))
    return name === "response_format" ? value["type"] === "text" : objects.has(name) && Object.keys(value).length === 0
  return Object.hasOwn(neutral, name) && neutral[name]?.includes(value) === true
}

/** The names without those of neutral members. A name that is no member of the payload is a path, or was taken out of it before. */
export const withoutNeutral = (dropped: ReadonlyArray<string>, payload: JsonObject): ReadonlyArray<string> =>
  dropped.some((name) => isNeutral(name, payload)) ? dropped.filter((name) => !isNeutral(name, payload)) : dropped

const isNeutral = (name: string, payload: JsonObject): boolean =>
  payload[name] != null && asksNothing(name, payload[name])
