/** A host's key that is not accepted: agents are told not to repeat the request. docs/errors.md#agents */
import { expect, test } from "bun:test"
import Anthropic from "@anthropic-ai/sdk"
import OpenAI from "openai"
import { requestsOf } from "../../support/clients/requestsOf.ts"
import { closeAfterEach, opened, startWatched, type Watched } from "../../support/gateways/watched.ts"
import { configFor, type ScriptedHost, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"

closeAfterEach()

const refusal = (status: number, message: string) => () => Response.json({ error: { message } }, { status })
const deadKey = refusal(401, "Incorrect API key provided.")
const noCredit = refusal(402, "Insufficient credit.")
const inTrouble = refusal(500, "Something broke.")

const scene = async (...answers: ReadonlyArray<() => Response>) => {
  const hosts = Object.fromEntries(answers.map((answer, at) => [`host-${at}`, opened(scriptedHost(answer))]))
  return { hosts: Object.values<ScriptedHost>(hosts), gateway: await startWatched({ config: configFor(hosts) }) }
}

const messages = [{ role: "user" as const, content: "hi" }]
const model = "acme/small"

/** A call with an SDK's own number of repetitions. Returns the status at its end, and how many requests were sent. */
const sdks: Readonly<Record<string, (gateway: Watched, counted: typeof fetch, stream: boolean) => Promise<unknown>>> = {
  "openai, chat": ({ url, key }, counted, stream) =>
    new OpenAI({ apiKey: key, baseURL: url, fetch: counted }).chat.completions.create({ model, messages, stream }),
  "openai, Responses": ({ url, key }, counted, stream) =>
    new OpenAI({ apiKey: key, baseURL: url, fetch: counted }).responses.create({ model, input: "hi", stream }),
  anthropic: ({ url, key }, counted, stream) =>
    new Anthropic({ apiKey: key, baseURL: url.replace(/\/v1$/, ""), fetch: counted }).messages.create({
      ...{ model, messages, max_tokens: 16, stream },
    }),
}

test.each(Object.entries(sdks))(
  "%s waited a minute, twice, for a host whose key is dead: now it stops",
  async (_, ask) => {
    for (const stream of [false, true]) {
      const { gateway, hosts } = await scene(deadKey, noCredit)
      expect(await requestsOf((counted) => ask(gateway, counted, stream))).toEqual({ status: 502, requests: 1 })
      expect(hosts.map(({ calls }) => calls.length)).toEqual([1, 1])
    }
  },
)

const chat = async ({ gateway }: Awaited<ReturnType<typeof scene>>) => {
  const response = await gateway.chat({ model, messages, provider: { order: ["host-0", "host-1"] } })
  await response.text()
  return [response.status, response.headers.get("retry-after"), response.headers.get("x-should-retry")]
}

test("the wait is that of the host, which cools down", async () => {
  expect(await chat(await scene(deadKey))).toEqual([502, "60", "false"])
  expect(await chat(await scene(deadKey, noCredit))).toEqual([502, "60", "false"])
})

test("beside a host that may answer the next time, the request may be repeated at once", async () => {
  expect(await chat(await scene(deadKey, inTrouble))).toEqual([502, null, null])
  expect(await chat(await scene(inTrouble, deadKey))).toEqual([502, null, null])
})

test("beside a host that cools down for a moment, the wait is that host's", async () => {
  let isLimited = true
  const limited = () =>
    isLimited
      ? Response.json({ error: { message: "slow down" } }, { status: 429, headers: { "retry-after": "20" } })
      : wholeAnswer("fine")
  const scenery = await scene(limited, deadKey)
  const { gateway } = scenery
  const only = await gateway.chat({ model, messages, provider: { only: ["host-0"] } })
  expect(only.status).toBe(429)
  isLimited = false
  const [status, wait, advice] = await chat(scenery)
  expect([status, advice]).toEqual([502, null])
  expect(Number(wait)).toBeWithin(1, 21)
})
