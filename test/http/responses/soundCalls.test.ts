/** Calls of a caller's tools in the statistic of sound calls, at hosts of the Responses form: they call tools as the caller does. */
import { expect, test } from "bun:test"
import * as Schema from "effect/Schema"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { defineStrategy, type HostSnapshot } from "../../../src/plugin.ts"
import { postResponses } from "../../support/clients/responsesForm.ts"
import { type Answer, closeAfterEach, good, routed } from "../../support/gateways/routed.ts"
import { call, eventsOf, responseObject, streamOf } from "../../support/hosts/responsesHost.ts"

closeAfterEach()

const wait = { type: "function", name: "wait", parameters: { type: "object" } }
const exec = { type: "custom", name: "exec" }
const space = { type: "namespace", name: "functions", tools: [wait, exec] }
const custom = {
  ...{ id: "ctc_1", type: "custom_tool_call", status: "completed", call_id: "c", name: "exec", namespace: "functions" },
  input: "text(1)",
}

/** The share of sound calls of a host that answers with this item. */
const shareOf = async (item: JsonObject, stream: boolean) => {
  const seen: Array<HostSnapshot> = []
  const reading = defineStrategy({
    id: "reading",
    config: Schema.Struct({}),
    load: () => (candidates) => {
      seen.push(...candidates.slice(0, 1).map(({ stats }) => stats))
      return candidates
    },
  })
  const answer: Answer = (body) =>
    body["stream"] === true ? streamOf(eventsOf([item])) : Response.json(responseObject([item]))
  const gateway = await routed(
    { a: answer, other: good() },
    {
      ...{ strategies: [reading], routing: { strategy: "reading" }, settings: { a: { plugin: "openai" } } },
      change: { hosts: { a: { api: "responses" } } },
    },
  )
  const ask = () => postResponses(gateway, { tools: [space], stream })
  await (await ask()).text()
  await (await ask()).text()
  return seen.at(-1)?.toolSuccess
}

test.each([
  ["a function of a namespace", { ...call("wait", "{}"), namespace: "functions" }, 1],
  ["a custom tool, whose text is no JSON", custom, 1],
  ["an unknown function", call("gone", "{}"), 0],
] as const)("%s, whole and in a stream", async (_, item, share) => {
  expect([await shareOf(item, false), await shareOf(item, true)]).toEqual([share, share])
})
