/** A host that is data alone, in a folder outside the gateway's own plugins: short, found, accepted by the kit, and called. */
import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import * as Effect from "effect/Effect"
import { providerChecks } from "headgate/testing"
import acme from "../../examples/plugins/providers/acme/index.ts"
import { discover } from "../../src/plugin/loading/discover.ts"

const folder = fileURLToPath(new URL("../../examples/plugins", import.meta.url))

const usage = { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 }
const body = {
  choices: [{ index: 0, message: { role: "assistant", content: "Hi!" }, finish_reason: "stop" }],
  usage,
}
const call = (city: string, index: number) => ({
  ...{ index, id: `call_${index}`, type: "function" },
  function: { name: "weather", arguments: JSON.stringify({ city }) },
})
const event = (members: object) => `data: ${JSON.stringify(members)}\n\n`
const said = (delta: object, finish: string | null = null) =>
  event({ choices: [{ index: 0, delta, finish_reason: finish }] })
const text = `${said({ content: "Hi!" })}${said({}, "stop")}${event({ choices: [], usage })}data: [DONE]\n\n`
const tools =
  said({ tool_calls: [call("Oslo", 0)] }) +
  said({ tool_calls: [call("Rome", 1)] }) +
  said({}, "tool_calls") +
  `${event({ choices: [], usage })}data: [DONE]\n\n`

describe("a host that is data", () => {
  test("takes fewer than 40 lines", () => {
    const source = readFileSync(`${folder}/providers/acme/index.ts`, "utf8")
    expect(source.split("\n").length).toBeLessThan(40)
  })

  test("is found in its folder", async () => {
    const { plugins, invalid } = await Effect.runPromise(discover([folder]))
    expect(invalid).toEqual([])
    expect(plugins).toEqual([acme])
  })

  test("names the variables that turn it on", () => {
    expect([acme.variables, acme.discoveredBy]).toEqual([{ region: "ACME_REGION" }, [["ACME_API_KEY", "ACME_REGION"]]])
  })
})

const checks = await providerChecks({
  plugin: acme,
  config: { region: "eu", api_key: "key-of-acme-0123456789" },
  answers: [{ body, expects: { text: "Hi!", finishReason: "stop" } }],
  streams: [
    { name: "a word", bytes: text, expects: { text: "Hi!", finishReason: "stop", counted: usage } },
    {
      name: "two calls",
      bytes: tools,
      expects: {
        text: "",
        toolCalls: ["Oslo", "Rome"].map((city) => ({ name: "weather", arguments: { city } })),
        finishReason: "tool_calls",
      },
    },
  ],
  errors: [
    {
      status: 429,
      headers: { "retry-after": "3" },
      body: { error: { message: "Slow." } },
      expects: { reason: "rate-limited", retryAfterSeconds: 3 },
    },
    { status: 400, body: { error: { code: "out_of_credit" } }, expects: { reason: "account", hasDetail: false } },
  ],
  lacks: ["reasoning", "cache"],
})
describe("the conformance kit", () => {
  for (const check of checks) test(check.name, check.run)
})
