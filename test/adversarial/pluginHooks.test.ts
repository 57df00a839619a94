/** What a plugin may do wrong in the hooks that `test/http/faults/pluginMistakes.test.ts` does not cover. */
import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { type ChatResponse, chatProtocol, defineProvider, HostFailed, httpError } from "headgate/plugin"
import { ManualClock, pass } from "../support/clocks/manualClock.ts"
import { until } from "../support/clocks/until.ts"
import { openAccount } from "../support/gateways/account.ts"
import { ownPlugins, type TestGatewayOptions } from "../support/gateways/gateway.ts"
import { closeAfterEach, opened, startWatched } from "../support/gateways/watched.ts"
import { configFor, type ScriptedHost, scriptedHost, streamAnswer, wholeAnswer } from "../support/hosts/host.ts"
import { gatedStorage } from "../support/storage/gatedStorage.ts"

closeAfterEach()

const good = (text: string): ScriptedHost =>
  opened(scriptedHost((body) => (body["stream"] === true ? streamAnswer([text]) : wholeAnswer(text))))
const refusing = (): ScriptedHost =>
  opened(scriptedHost(() => Response.json({ error: { message: "no", code: 7 } }, { status: 500 })))

// biome-ignore lint/suspicious/noExplicitAny: a plugin in JavaScript
type Loose = any

interface Surroundings extends Pick<TestGatewayOptions, "storage" | "setting"> {
  readonly limits?: Record<string, unknown>
}

const start = async (
  provider: () => Loose,
  hosts: Record<string, ScriptedHost>,
  { limits = {}, ...surroundings }: Surroundings = {},
) => {
  const { providers, ...rest } = configFor(hosts, {
    server: { drain_s: 0 },
    limits: { deadline_ms: 30_000, ...limits },
  })
  const config = { ...rest, providers: { ...providers, first: { ...providers["first"], plugin: "odd" } } } as Loose
  const gateway = await startWatched({
    plugins: [
      ...(await Effect.runPromise(ownPlugins)),
      defineProvider({ id: "odd", name: "Odd", config: Schema.Struct({}), load: provider }),
    ],
    config,
    ...surroundings,
  })
  const account = await openAccount(gateway)
  const messages = [{ role: "user", content: "hi" }]
  const ask = (stream: boolean, order = "first", init: RequestInit = {}) =>
    gateway.chat(
      { model: "acme/small", messages, max_tokens: 10, stream, provider: { order: [order] } },
      { headers: { authorization: `Bearer ${account.secret}` }, ...init },
    )
  return { gateway, account, ask }
}

const settled = async <A>(asked: Promise<A>): Promise<A> => {
  let over = false
  void asked.then(
    () => {
      over = true
    },
    () => {
      over = true
    },
  )
  await until(() => over, "the answer")
  return asked
}

describe("a `sign` that never ends", () => {
  for (const stream of [false, true]) {
    test(`is ended by the deadline, stream ${stream}`, async () => {
      const provider = () => ({ protocols: { chat: chatProtocol() }, error: httpError, sign: () => Effect.never })
      const { account, ask } = await start(
        provider,
        { first: good("one"), second: good("two") },
        { limits: { deadline_ms: 300 } },
      )
      expect((await settled(ask(stream))).status).toBe(408)
      expect(await account.reserved()).toBe(0n)
    })

    test(`is ended by the caller, stream ${stream}`, async () => {
      const provider = () => ({ protocols: { chat: chatProtocol() }, error: httpError, sign: () => Effect.never })
      const { account, ask } = await start(
        provider,
        { first: good("one"), second: good("two") },
        { limits: { max_in_flight: 1 } },
      )
      const leave = new AbortController()
      const asked = ask(stream, "first", { signal: leave.signal }).catch(() => "left")
      await until(async () => (await account.reserved()) > 0n, "the call")
      leave.abort()
      await asked
      await until(async () => (await account.reserved()) === 0n, "the release")
      await until(async () => (await ask(false, "second")).status === 200, "the place")
    })
  }
})

test.each([false, true])(
  "a `sign` that never ends, for a request that ended while its account was loaded: its place is free, stream: %p",
  async (stream) => {
    const { layer, gates } = gatedStorage()
    const provider = () => ({ protocols: { chat: chatProtocol() }, error: httpError, sign: () => Effect.never })
    const clock = new ManualClock()
    const { gateway, ask } = await start(
      provider,
      { first: good("one"), second: good("two") },
      { limits: { deadline_ms: 1000, max_in_flight: 1 }, storage: layer, setting: Layer.setClock(clock) },
    )
    const headers = { authorization: `Bearer ${await gateway.newKey()}` }
    gates.spend.close()
    const asked = ask(stream, "first", { headers })
    await until(() => gates.spend.waiting() > 0, "the reading of the spend")
    await pass(clock, 1200)
    gates.spend.open()
    expect((await settled(asked)).status).toBe(408)
    await until(async () => (await ask(false, "second")).status === 200, "the place")
  },
)

describe("F6: an `encode` that changes the request, whose host then fails", () => {
  const changing = () => {
    const chat = chatProtocol()
    return {
      error: httpError,
      protocols: {
        chat: {
          ...chat,
          encode: (request: Loose, host: Loose) => {
            request.payload.messages[0].content = "something else"
            request.payload.messages.push({ role: "user", content: "and more" })
            request.payload.temperature = 2
            request.stream = false
            return chat.encode(request, host)
          },
        },
      },
    }
  }

  for (const stream of [false, true])
    test(`gave the next host the changed prompt, in silence; it gets what the caller sent, stream ${stream}`, async () => {
      const hosts = { first: refusing(), second: good("fine") }
      const { ask } = await start(changing, hosts)
      const answer = await ask(stream)
      expect([answer.status, answer.headers.get("x-gw-host")]).toEqual([200, "second"])
      await answer.text()
      expect(hosts.first.calls[0]?.body["messages"]).toHaveLength(2)
      const [sent] = hosts.second.calls
      expect(sent?.body["messages"]).toEqual([{ role: "user", content: "hi" }])
      expect([sent?.body["temperature"], sent?.body["stream"] === true]).toEqual([undefined, stream])
    })
})

describe("a failure whose members have other types than the contract says", () => {
  const failures: Record<string, Loose> = {
    "a detail that is a number": { reason: "overloaded", detail: 7 },
    "a detail that is an object": { reason: "overloaded", detail: { text: "no" } },
    "a code that is a number": { reason: "overloaded", code: 42 },
    "a reason that is none": { reason: "whatever" },
    "a wait that is not a number": { reason: "rate-limited", retryAfterSeconds: Number.NaN },
    "a wait that is text": { reason: "rate-limited", retryAfterSeconds: "soon" },
    "a wait without end": { reason: "rate-limited", retryAfterSeconds: Number.POSITIVE_INFINITY },
    "a status that is text": { reason: "overloaded", status: "500" },
  }
  for (const [name, members] of Object.entries(failures)) {
    for (const stream of [false, true]) {
      test(`error: ${name}, stream ${stream}: the next host answers`, async () => {
        const provider = () => ({ protocols: { chat: chatProtocol() }, error: () => new HostFailed(members) })
        const { account, ask } = await start(provider, { first: refusing(), second: good("two") })
        const response = await settled(ask(stream))
        expect([response.status, response.headers.get("x-gw-host")]).toEqual([200, "second"])
        await response.text()
        expect(await account.reserved()).toBe(0n)
      })
      test(`error: ${name}, stream ${stream}, the only host: a documented error`, async () => {
        const provider = () => ({ protocols: { chat: chatProtocol() }, error: () => new HostFailed(members) })
        const { account, ask } = await start(provider, { first: refusing() })
        const response = await settled(ask(stream))
        expect(response.status).toBeOneOf([429, 502, 503])
        const text = await response.text()
        expect(JSON.parse(text)).toMatchObject({ error: { code: response.status } })
        expect(await account.reserved()).toBe(0n)
      })
    }
    test(`decode: ${name}: the next host answers`, async () => {
      const provider = () => ({
        protocols: { chat: { ...chatProtocol(), decode: () => new HostFailed(members) } },
        error: httpError,
      })
      const { account, ask } = await start(provider, { first: good("one"), second: good("two") })
      const response = await settled(ask(false))
      expect([response.status, response.headers.get("x-gw-host")]).toEqual([200, "second"])
      expect(await account.reserved()).toBe(0n)
    })
  }
})

describe("an answer that cannot be read twice, or not be written", () => {
  const wholes: Record<string, (right: ChatResponse) => Loose> = {
    "a content that throws when it is read again": (right) => ({
      ...right,
      choices: right.choices.map((one) => {
        let reads = 0
        const message = Object.defineProperty({ role: "assistant" }, "content", {
          enumerable: true,
          get: () => {
            if (++reads > 1) throw new Error("once only")
            return "text"
          },
        })
        return { ...one, message }
      }),
    }),
    "a value that JSON does not have": (right) => ({
      ...right,
      choices: right.choices.map((one) => ({ ...one, logprobs: { content: [1n] } })),
    }),
  }
  for (const [name, whole] of Object.entries(wholes)) {
    test(`${name}: nothing stays reserved, and who gets an error does not pay`, async () => {
      const chat = chatProtocol()
      const provider = () => ({
        protocols: {
          chat: {
            ...chat,
            decode: (...asked: Parameters<typeof chat.decode>) => {
              const right = chat.decode(...asked)
              return "_tag" in right ? right : whole(right)
            },
          },
        },
        error: httpError,
      })
      const { account, ask } = await start(provider, { first: good("one") })
      const response = await settled(ask(false))
      expect(await account.reserved()).toBe(0n)
      if (response.status !== 200) expect(await account.total()).toBe(0n)
    })
  }
})
