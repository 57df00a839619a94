/** Which host gets the next turn of a conversation: stickiness, and the strategy `cheapest-warm`. See docs/strategies.md. */
import { describe, expect, test } from "bun:test"
import * as Layer from "effect/Layer"
import { errorOf, streamOf, wholeBodyOf } from "../../support/clients/answers.ts"
import { ManualClock } from "../../support/clocks/manualClock.ts"
import { closeAfterEach, opened, startWatched, type Watched } from "../../support/gateways/watched.ts"
import { configFor, type ScriptedHost, scriptedHost, streamAnswer, wholeAnswer } from "../../support/hosts/host.ts"

closeAfterEach()

const minute = 60_000

interface Hosts {
  /** What a host says it read from its cache. */
  cached: number
  /** Hosts that fail. */
  readonly down: Set<string>
}

interface Setting {
  readonly strategy?: string
  /** USD per token that is read from the cache; `null`: no such price. */
  readonly cacheRead?: string | null
  /** A service tier that `a` has too, at the same prices. */
  readonly tier?: string
}

interface Trial extends Hosts {
  readonly gateway: Watched
  readonly clock: ManualClock
  /** Asks, and says which host answered. */
  readonly served: (body?: Record<string, unknown>, init?: RequestInit) => Promise<string | null>
}

/** Hosts `a` and `b`; `a` is cheaper, and `b` has a cheaper price for what it reads from its cache. */
const trial = async ({ strategy = "price", cacheRead = "0.0000001", tier }: Setting = {}): Promise<Trial> => {
  const hosts: Hosts = { cached: 0, down: new Set() }
  const host = (name: string): ScriptedHost =>
    opened(
      scriptedHost((body) => {
        if (hosts.down.has(name)) return Response.json({ error: { message: "no" } }, { status: 500 })
        const usage = {
          prompt_tokens: 2000,
          completion_tokens: 5,
          prompt_tokens_details: { cached_tokens: hosts.cached },
        }
        return body["stream"] === true ? streamAnswer(["fine"], usage) : wholeAnswer("fine", usage)
      }),
    )
  const config = configFor({
    a: { ...host("a"), prompt: "0.000001" },
    b: { ...host("b"), prompt: "0.0000011" },
  })
  const read = cacheRead === null ? {} : { input_cache_read: cacheRead }
  const models = config.models.map((model) => ({
    ...model,
    hosts: [
      ...model.hosts.map((one) => ({ ...one, pricing: { ...one.pricing, ...(one.provider === "b" ? read : {}) } })),
      ...(tier === undefined ? [] : model.hosts.slice(0, 1).map((one) => ({ ...one, variant: tier }))),
    ],
  }))
  const clock = new ManualClock()
  const gateway = await startWatched({
    config: { ...config, models, routing: { strategy } },
    setting: Layer.setClock(clock),
  })
  const served: Trial["served"] = async (body, init) => {
    const response = await gateway.chat({ model: "acme/small", messages: opening, ...body }, init)
    if (response.status !== 200) throw new Error(await response.text())
    await response.text()
    return response.headers.get("x-gw-host")
  }
  return Object.assign(hosts, { gateway, clock, served })
}

const opening = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "hi" },
]
const onlyB = { provider: { only: ["b"] } }

describe("a session", () => {
  const session = { session_id: "one" }

  test("stays with the host that served it, until ten minutes passed without an answer", async () => {
    const { served, clock } = await trial()
    expect(await served({ ...session, ...onlyB })).toBe("b")
    clock.advance(9 * minute)
    expect(await served(session)).toBe("b")
    clock.advance(9 * minute)
    expect(await served(session)).toBe("b")
    clock.advance(10 * minute)
    expect(await served(session)).toBe("a")
  })

  test("is also named by `X-Session-Id`, which the body's own comes before", async () => {
    const { served } = await trial()
    await served({ ...session, ...onlyB })
    expect(await served({}, { headers: { "x-session-id": "one" } })).toBe("b")
    expect(await served({}, { headers: { "x-session-id": "other" } })).toBe("a")
    expect(await served({ session_id: "other" }, { headers: { "x-session-id": "one" } })).toBe("a")
    expect(await served(session, { headers: { "x-session-id": "other" } })).toBe("b")
  })

  test("with a name of more than 256 characters in the header is refused", async () => {
    const { gateway } = await trial()
    const headers = { "x-session-id": "x".repeat(257) }
    const response = await gateway.chat({ model: "acme/small", messages: opening }, { headers })
    expect(response.status).toBe(400)
    expect((await errorOf(response)).message).toBe("x-session-id: must have at most 256 characters.")
  })

  test("stays with a host whose answers are streamed", async () => {
    const { gateway } = await trial()
    const stream = { model: "acme/small", messages: opening, stream: true, ...session }
    await streamOf(await gateway.chat({ ...stream, ...onlyB }))
    const response = await gateway.chat(stream)
    expect((await streamOf(response)).text).toBe("fine")
    expect(response.headers.get("x-gw-host")).toBe("b")
  })

  test("stays with a host behind those of the wanted service tier: it came before them", async () => {
    const { served } = await trial({ tier: "priority" })
    await served({ ...session, ...onlyB })
    expect(await served({ ...session, service_tier: "priority" })).toBe("a/priority")
    await served({ ...session, ...onlyB })
    expect(await served({ ...session, service_tier: "priority", provider: { ignore: ["a/priority"] } })).toBe("b")
  })

  test("leaves a host that failed", async () => {
    const { served, down } = await trial()
    await served({ ...session, ...onlyB })
    down.add("b")
    expect(await served(session)).toBe("a")
    down.delete("b")
    expect(await served(session)).toBe("a")
  })

  test("is not taken for that of another key", async () => {
    const { served, gateway } = await trial()
    await served({ ...session, ...onlyB })
    const authorization = `Bearer ${await gateway.newKey({})}`
    expect(await served(session, { headers: { authorization } })).toBe("a")
    expect(await served(session)).toBe("b")
  })

  test("neither follows nor is taught by `order`", async () => {
    const { served } = await trial()
    await served({ ...session, ...onlyB })
    expect(await served({ ...session, provider: { order: ["a"] } })).toBe("a")
    expect(await served(session)).toBe("b")
    const other = { session_id: "other" }
    expect(await served({ ...other, provider: { order: ["b"] } })).toBe("b")
    expect(await served(other)).toBe("a")
  })

  test("follows the preferences: a host that they exclude is not called", async () => {
    const { served } = await trial()
    await served({ ...session, ...onlyB })
    expect(await served({ ...session, provider: { ignore: ["b"] } })).toBe("a")
    // A host without a cache does not take its place.
    expect(await served(session)).toBe("b")
  })

  test("keeps its host under a sort", async () => {
    const { served } = await trial({ strategy: "balanced" })
    await served({ ...session, ...onlyB })
    expect(await served({ ...session, provider: { sort: "price" } })).toBe("b")
  })

  test.each([null, "0.0000011"])("does not stay with a host that reads its cache at %p", async (cacheRead) => {
    const { served } = await trial({ cacheRead })
    await served({ ...session, ...onlyB })
    expect(await served(session)).toBe("a")
  })

  test("keeps its host among the hosts of several models, ordered together", async () => {
    const { served } = await trial()
    const together = { models: ["acme/small"], provider: { sort: { by: "price", partition: "none" } } }
    await served({ ...session, ...onlyB })
    expect(await served({ ...session, ...together })).toBe("b")
  })
})

describe("without a session", () => {
  const later = [...opening, { role: "assistant", content: "fine" }, { role: "user", content: "and?" }]

  test("a conversation stays with a host once that reported a cache hit", async () => {
    const trying = await trial()
    await trying.served(onlyB)
    expect(await trying.served({ messages: later })).toBe("a")
    trying.cached = 1024
    await trying.served(onlyB)
    trying.cached = 0
    expect(await trying.served({ messages: later })).toBe("b")
    // Each answer counts, whether it was a hit or not.
    trying.clock.advance(9 * minute)
    expect(await trying.served({ messages: later })).toBe("b")
    trying.clock.advance(9 * minute)
    expect(await trying.served({ messages: later })).toBe("b")
  })

  test.each([
    [
      "the first message of the user",
      [
        { role: "system", content: "Be brief." },
        { role: "user", content: "ho" },
      ],
    ],
    [
      "the instructions",
      [
        { role: "system", content: "Be long." },
        { role: "user", content: "hi" },
      ],
    ],
  ])("%s tells it from another one", async (_name, messages) => {
    const trying = await trial()
    trying.cached = 1024
    await trying.served(onlyB)
    expect(await trying.served({ messages })).toBe("a")
    expect(await trying.served({ messages: later })).toBe("b")
  })

  test("`prompt_cache_key` names it", async () => {
    const trying = await trial()
    trying.cached = 1024
    const messages = [{ role: "user", content: "something else" }]
    await trying.served({ ...onlyB, prompt_cache_key: "tenant" })
    expect(await trying.served({ messages, prompt_cache_key: "tenant" })).toBe("b")
    expect(await trying.served({ messages, prompt_cache_key: "other" })).toBe("a")
  })
})

describe("cheapest-warm", () => {
  const text = "x".repeat(8000)
  const first = [
    { role: "system", content: text },
    { role: "user", content: "hi" },
  ]
  const second = [...first, { role: "assistant", content: "fine" }, { role: "user", content: "and?" }]

  test("goes where the prompt is warm, and away when it has cooled", async () => {
    const { served, clock } = await trial({ strategy: "cheapest-warm" })
    expect(await served({ messages: first })).toBe("a")
    await served({ messages: first, ...onlyB })
    clock.advance(minute)
    expect(await served({ messages: second })).toBe("b")
    clock.advance(60 * minute)
    expect(await served({ messages: second })).toBe("a")
  })

  test("knows a prompt by its instructions, too", async () => {
    const { served } = await trial({ strategy: "cheapest-warm" })
    await served({ messages: first, ...onlyB })
    expect(await served({ messages: [first[0], { role: "user", content: "another question" }] })).toBe("b")
    expect(await served({ messages: [{ role: "system", content: text.slice(1) }, first[1]] })).toBe("a")
  })

  test("does not stay with the host of a session, and `provider.sort` selects it", async () => {
    const { served } = await trial()
    await served({ session_id: "one", ...onlyB })
    expect(await served({ session_id: "one", provider: { sort: "cheapest-warm" } })).toBe("a")
    expect(await served({ session_id: "one" })).toBe("b")
  })

  test("does not know the prompts of another key", async () => {
    const { served, gateway } = await trial({ strategy: "cheapest-warm" })
    await served({ messages: first, ...onlyB })
    const authorization = `Bearer ${await gateway.newKey({})}`
    expect(await served({ messages: first }, { headers: { authorization } })).toBe("a")
    expect(await served({ messages: first })).toBe("b")
  })

  test("a conversation that goes on moves to a host with a cache", async () => {
    const { served } = await trial({ strategy: "cheapest-warm" })
    expect(await served({ messages: first })).toBe("a")
    expect(await served({ messages: second })).toBe("b")
  })

  test("answers are charged by what the host says it read, whatever was expected", async () => {
    const trying = await trial({ strategy: "cheapest-warm" })
    trying.cached = 1500
    const response = await trying.gateway.chat({ model: "acme/small", messages: first, ...onlyB })
    const { usage } = await wholeBodyOf(response)
    expect(usage).toMatchObject({ cost: 500 * 0.0000011 + 1500 * 0.0000001 + 5 * 0.000002 })
  })
})

describe("an explanation", () => {
  const explained = async ({ gateway }: Trial, body: Record<string, unknown>, headers: Record<string, string> = {}) => {
    const response = await gateway.call("/route/explain", {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ model: "acme/small", messages: opening, ...body }),
    })
    // Another form of the answer fails the test.
    const { data } = (await response.json()) as {
      readonly data: { readonly attempts: ReadonlyArray<{ readonly host: string; readonly why: unknown }> }
    }
    return data.attempts
  }

  test("has the host of the session in front, and teaches nothing", async () => {
    const trying = await trial()
    const hosts = async (session: string) =>
      (await explained(trying, {}, { "x-session-id": session })).map(({ host }) => host)
    await trying.served({ session_id: "one", ...onlyB })
    expect(await hosts("one")).toEqual(["b", "a"])
    expect(await hosts("other")).toEqual(["a", "b"])
    trying.clock.advance(9 * minute)
    expect(await hosts("one")).toEqual(["b", "a"])
    trying.clock.advance(minute)
    expect(await hosts("one")).toEqual(["a", "b"])
  })

  test("says what `cheapest-warm` expected", async () => {
    const trying = await trial({ strategy: "cheapest-warm" })
    const messages = [{ role: "user", content: "x".repeat(8000) }]
    await trying.served({ messages, ...onlyB })
    trying.clock.advance(5 * minute)
    const attempts = await explained(trying, { messages })
    expect(attempts.map(({ host }) => host)).toEqual(["b", "a"])
    const usual = { prompt_tokens: 2000, further_turns: 1 }
    const { why: warm } = attempts[0] ?? {}
    expect(warm).toMatchObject({ ...usual, warm_tokens: 2000, served_s_ago: 300, cache_chance: 0.3679 })
    expect(attempts[1]?.why).toMatchObject({ ...usual, warm_tokens: 0, cache_chance: 0, turn_usd: "0.003" })
  })
})
