/** Members whose value asks for what happens anyway: agents send them in each request, and none is named as dropped. docs/routing.md */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { explainedBy } from "../../support/clients/explained.ts"
import { type Hosts, minimal, protocols, startHosts } from "./hosts.ts"

let hosts: Hosts
let listing: Hosts
beforeAll(async () => {
  hosts = await startHosts()
  listing = await startHosts({ supportedParameters: ["max_tokens", "stop"] })
})
afterAll(() => Promise.all([hosts.stop(), listing.stop()]))

const chatLike: JsonObject = {
  ...{ store: false, background: false, n: 1, presence_penalty: 0, frequency_penalty: 0, min_p: 0, top_a: 0, top_p: 1 },
  ...{
    logprobs: false,
    top_logprobs: 0,
    service_tier: "auto",
    structured_outputs: false,
    metadata: {},
    logit_bias: {},
  },
  ...{
    modalities: ["text"],
    stop: [],
    parallel_tool_calls: true,
    response_format: { type: "text" },
  },
  temperature: 1,
}
const asking: Readonly<Record<string, JsonObject>> = {
  "/chat/completions": chatLike,
  "/completions": { store: false, n: 1, best_of: 1, echo: false, presence_penalty: 0, frequency_penalty: 0, top_p: 1 },
  "/messages": { store: false, service_tier: "standard_only", stop_sequences: [], betas: [], mcp_servers: [] },
  // As Codex, pi and cline send them.
  "/responses": {
    ...{ store: false, background: false, truncation: "auto", include: ["reasoning.encrypted_content"] },
    ...{
      parallel_tool_calls: true,
      tools: [],
      metadata: {},
      top_logprobs: 0,
      service_tier: "auto",
    },
    ...{
      text: { format: { type: "text" } },
      top_p: 1,
      presence_penalty: 0,
      frequency_penalty: 0,
      max_tool_calls: null,
    },
  },
}
const rows = Object.entries(asking).flatMap(([form, body]) =>
  protocols.map((protocol) => [form, protocol, body] as const),
)

describe("what asks for nothing was named as dropped", () => {
  test.each(rows)("%s at a host of the protocol %s", async (form, protocol, body) => {
    expect(await hosts.ask(form, protocol, body)).toMatchObject({ status: 200, dropped: [] })
    // Of a host that lists what it takes the temperature is missed, and the rest is not.
    const lost = "temperature" in body ? ["temperature"] : []
    expect(await listing.ask(form, protocol, body)).toMatchObject({ status: 200, dropped: lost })
  })

  test("and an explanation named it too", async () => {
    for (const protocol of protocols) {
      const body = { model: `acme/${protocol}`, ...minimal["/chat/completions"], ...chatLike }
      expect((await explainedBy(hosts.gateway, body)).dropped_parameters).toEqual({})
    }
  })
})

test("a host that takes such a member is sent it, since its own default may be another", async () => {
  const { sent } = await hosts.ask("/chat/completions", "compatible", { top_p: 1, presence_penalty: 0, n: 1 })
  expect(sent).toMatchObject({ top_p: 1, presence_penalty: 0, n: 1 })
  expect((await hosts.ask("/chat/completions", "compatible", { store: false })).sent).not.toHaveProperty("store")
})

test.each<[string, string, JsonObject]>([
  ["store", "messages", { store: true }],
  ["n", "messages", { n: 2 }],
  ["presence_penalty", "responses", { presence_penalty: 0.1 }],
  ["frequency_penalty", "converse", { frequency_penalty: -1 }],
  ["top_p", "messages", { top_p: 0.9, temperature: 1 }],
  ["logprobs", "cohere", { logprobs: true }],
  ["service_tier", "cohere", { service_tier: "scale" }],
  ["metadata", "google", { metadata: { a: "b" } }],
  ["logit_bias", "messages", { logit_bias: { 1: 1 } }],
  ["modalities", "messages", { modalities: ["text", "audio"], audio: null }],
  [
    "parallel_tool_calls",
    "google",
    { parallel_tool_calls: false, tools: [{ type: "function", function: { name: "f" } }] },
  ],
  ["repetition_penalty", "messages", { repetition_penalty: 1 }],
  ["prompt_cache_key", "google", { prompt_cache_key: "key" }],
])("%s is named at a host of the protocol %s where %j asks for something", async (name, protocol, body) => {
  const known = protocols.find((each) => each === protocol) ?? "chat"
  const { status, dropped } = await hosts.ask("/chat/completions", known, body)
  if (status === 200) expect(dropped).toEqual([name])
  else expect([name, status]).toEqual(["modalities", 404])
})
