/**
 * JSON in texts of a body: the arguments of tool calls, which hosts of some forms are sent as objects. Their values are
 * bounded together with those of the body (`JsonScan.ts`): otherwise a text of empty arrays would take a gigabyte, and seconds in
 * `JSON.parse`. See docs/guarantees.md#g30.
 */

import { type Issues, report } from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import { mostValues } from "../../wire/JsonScan.ts"
import { valuesIn } from "../../wire/jsonDepth.ts"

/** Reports arguments of tool calls, in a body of any form, that have more values together than a body may have. */
export const checkInnerJson = ({ messages, input }: JsonObject, issues: Issues): void => {
  let bytes = 0
  eachArguments(messages, input, (text) => {
    bytes += text.length
  })
  // A value takes a character at least.
  if (bytes <= mostValues) return
  let values = 0
  eachArguments(messages, input, (text) => {
    if (values <= mostValues) values += valuesIn(text, mostValues)
  })
  if (values <= mostValues) return
  const path = messages === undefined ? "input" : "messages"
  report(issues, path, `the arguments of tool calls have too many JSON values: the limit is ${mostValues}`)
}

const eachArguments = (messages: unknown, input: unknown, use: (text: string) => void): void => {
  for (const message of Array.isArray(messages) ? messages : []) {
    const calls: unknown = isJsonObject(message) ? message["tool_calls"] : undefined
    if (!Array.isArray(calls)) continue
    for (const call of calls) {
      const called: unknown = isJsonObject(call) ? call["function"] : undefined
      if (isJsonObject(called) && typeof called["arguments"] === "string") use(called["arguments"])
    }
  }
  for (const item of Array.isArray(input) ? input : []) {
    if (isJsonObject(item) && typeof item["arguments"] === "string") use(item["arguments"])
  }
}
