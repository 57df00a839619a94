/** An agent's session stays at its host and key as long as its cache lives, and moves once. docs/guarantees.md#g40 */
import { describe, expect, test } from "bun:test"
import * as Layer from "effect/Layer"
import { ManualClock } from "../../support/clocks/manualClock.ts"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import { scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"

closeAfterEach()

const minute = 60_000
const names = ["a", "b", "c", "d"]

interface Options {
  /** Keys of each provider. Default 1. */
  readonly keys?: number
  readonly hosts?: ReadonlyArray<string>
}

const secret = (name: string, at: number) => `secret-${name}-${at}`

const keysOf = (
  name: string,
  count: number,
): readonly [{ readonly key: string }, ...ReadonlyArray<{ readonly key: string }>] => [
  { key: secret(name, 1) },
  ...Array.from({ length: count - 1 }, (_, at) => ({ key: secret(name, at + 2) })),
]

/** Hosts of one model at one price, drawn at random, whose caches say nothing yet. */
const scene = async ({ keys = 1, hosts = names }: Options = {}) => {
  const down = new Set<string>()
  const limited = new Set<string>()
  const usage: Record<string, number> = { cached_tokens: 0 }
  const used: Array<string> = []
  const urls = hosts.map(
    (name) =>
      opened(
        scriptedHost((_, request) => {
          const key = request.headers.get("authorization")?.slice("Bearer ".length) ?? ""
          if (down.has(name)) return Response.json({ error: { message: "no" } }, { status: 503 })
          if (limited.has(key)) return Response.json({ error: { message: "slow down" } }, { status: 429 })
          used.push(key)
          return wholeAnswer("fine", { prompt_tokens: 2000, completion_tokens: 5, prompt_tokens_details: usage })
        }),
      ).url,
  )
  const clock = new ManualClock()
  const gateway = await startWatched({
    setting: Layer.setClock(clock),
    config: {
      providers: Object.fromEntries(
        hosts.map((name, at) => [
          name,
          {
            ...{ plugin: "openai-compatible", base_url: urls[at] ?? "", network: "private" as const },
            ...(keys === 1 ? { api_key: secret(name, 1) } : { api_keys: keysOf(name, keys) }),
          },
        ]),
      ),
      models: [
        {
          ...{ id: "acme/small", name: "Acme Small", context_length: 8192 },
          hosts: hosts.map((provider) => ({
            ...{ provider, model: "upstream", max_completion_tokens: 4096 },
            pricing: { prompt: "0.000001", completion: "0.000002", input_cache_read: "0.0000001" },
          })),
        },
      ],
      limits: { cooldown: { rate_limit_s: 1 }, breaker: { open_s: 0 } },
    },
  })
  const ask = async (path: string, body: object, headers: Record<string, string> = {}) => {
    const response = await gateway.call(path, {
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body: JSON.stringify({ model: "acme/small", max_tokens: 100, ...body }),
    })
    if (response.status !== 200) throw new Error(await response.text())
    await response.text()
    return response.headers.get("x-gw-host") ?? ""
  }
  return { gateway, clock, ask, down, limited, usage, used }
}

/** Turns of a conversation whose opening changes, so that nothing but a name tells it. */
const turn = (at: number) => ({ messages: [{ role: "user", content: `turn ${at}` }] })

const uuid = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"
const userText = `user_${"0".repeat(64)}_account__session_${uuid}`
const userJson = JSON.stringify({ device_id: "d", account_uuid: "", session_id: uuid })

describe("a session stays with the host of its first answer, named by", () => {
  test.each([
    ["`session_id` of the body", { session_id: uuid }, {}],
    ["`prompt_cache_key`", { prompt_cache_key: uuid }, {}],
    ["`metadata.user_id`, as text", { metadata: { user_id: userText } }, {}],
    ["`metadata.user_id`, as JSON", { metadata: { user_id: userJson } }, {}],
    ["`X-Session-Id`", {}, { "x-session-id": uuid }],
    ["`X-Claude-Code-Session-Id`", {}, { "x-claude-code-session-id": uuid }],
    ["the header `session_id`", {}, { session_id: uuid }],
    ["the header `session-id`", {}, { "session-id": uuid }],
    ["the header `x-session-affinity`", {}, { "x-session-affinity": uuid }],
  ] as const)("%s", async (_name, body, headers) => {
    const { ask } = await scene()
    // The Messages form has no `prompt_cache_key`.
    for (const path of "prompt_cache_key" in body ? ["/chat/completions"] : ["/chat/completions", "/messages"]) {
      const hosts = new Set<string>()
      for (let at = 0; at < 8; at++) hosts.add(await ask(path, { ...turn(at), ...body }, headers))
      expect(hosts.size).toBe(1)
    }
  })

  test("nobody: a user's name, or a header of an agent that is too long", async () => {
    const { ask } = await scene()
    const hosts = new Set<string>()
    const headers = { "x-claude-code-session-id": "x".repeat(257) }
    for (let at = 0; at < 40; at++)
      hosts.add(await ask("/messages", { ...turn(at), metadata: { user_id: "user-1234" } }, headers))
    expect(hosts.size).toBeGreaterThan(1)
  })
})

describe("a pause of twelve minutes", () => {
  const marked = (ttl: string) => ({
    messages: [
      { role: "user", content: [{ type: "text", text: "hi", cache_control: { type: "ephemeral" } }] },
      { role: "user", content: [{ type: "text", text: "ho", cache_control: { type: "ephemeral", ttl } }] },
    ],
  })

  /** How many of 12 sessions moved. */
  const moved = async (body: object, pause: number) => {
    const { ask, clock } = await scene()
    const sessions = Array.from({ length: 12 }, (_, at) => ({ ...body, session_id: `session ${at}` }))
    const first: Array<string> = []
    for (const session of sessions) first.push(await ask("/chat/completions", session))
    clock.advance(pause)
    let count = 0
    for (const [at, session] of sessions.entries())
      if ((await ask("/chat/completions", session)) !== first[at]) count += 1
    return count
  }

  test("moves no session with a mark of an hour, and no longer one holds it", async () => {
    expect(await moved(marked("1h"), 12 * minute)).toBe(0)
    expect(await moved(marked("1h"), 60 * minute)).toBeGreaterThan(0)
    expect(await moved(marked("5m"), 12 * minute)).toBeGreaterThan(0)
  })

  test("nor one whose cache is kept for a day", async () => {
    const body = { ...turn(0), prompt_cache_retention: "24h" }
    expect(await moved(body, 5 * 60 * minute)).toBe(0)
  })
})

describe("a session that must move", () => {
  test("moves once", async () => {
    const { ask, down } = await scene()
    const session = { session_id: "one" }
    const first = await ask("/chat/completions", { ...turn(0), ...session })
    down.add(first)
    const second = await ask("/chat/completions", { ...turn(1), ...session })
    down.delete(first)
    expect(second).not.toBe(first)
    for (let at = 2; at < 12; at++) expect(await ask("/chat/completions", { ...turn(at), ...session })).toBe(second)
  })

  test("moves once without a name, too, whatever the new host says of its cache", async () => {
    const { ask, down, usage } = await scene()
    const messages = [{ role: "user", content: "hi" }]
    usage["cached_tokens"] = 1024
    const first = await ask("/chat/completions", { messages })
    usage["cached_tokens"] = 0
    down.add(first)
    const second = await ask("/chat/completions", { messages })
    down.delete(first)
    for (let at = 0; at < 10; at++) expect(await ask("/chat/completions", { messages })).toBe(second)
  })
})

test("what a host wrote to its cache holds the conversation as what it read", async () => {
  const { ask, usage } = await scene()
  usage["cache_write_tokens"] = 1024
  const messages = [{ role: "user", content: "hi" }]
  const first = await ask("/chat/completions", { messages })
  usage["cache_write_tokens"] = 0
  for (let at = 0; at < 10; at++) expect(await ask("/chat/completions", { messages })).toBe(first)
})

describe("a session at a provider with three keys", () => {
  const turns = async ({ ask, used }: Awaited<ReturnType<typeof scene>>, body: object, count: number) => {
    used.length = 0
    for (let at = 0; at < count; at++) await ask("/chat/completions", { ...turn(at), ...body })
    return new Set(used)
  }

  test.each([
    ["one host", ["a"], {}],
    ["several hosts", names, {}],
    ["an order of its caller's own", names, { provider: { order: ["b", "a"] } }],
  ])("keeps its key: %s", async (_name, hosts, body) => {
    const trial = await scene({ keys: 3, hosts })
    expect((await turns(trial, { ...body, session_id: "one" }, 20)).size).toBe(1)
    expect((await turns(trial, body, 30)).size).toBeGreaterThan(1)
  })

  test("keeps another one once its own was refused", async () => {
    const trial = await scene({ keys: 3, hosts: ["a"] })
    const session = { session_id: "one" }
    const [first = ""] = await turns(trial, session, 1)
    trial.limited.add(first)
    const [second = ""] = await turns(trial, session, 1)
    trial.limited.clear()
    trial.clock.advance(minute)
    expect(second).not.toBe(first)
    expect(await turns(trial, session, 15)).toEqual(new Set([second]))
  })

  test("an explanation names the key", async () => {
    const trial = await scene({ keys: 3, hosts: ["a"] })
    const session = { ...turn(0), model: "acme/small", session_id: "one" }
    const [key = ""] = await turns(trial, session, 1)
    for (let seed = 0; seed < 10; seed++) {
      const response = await trial.gateway.call(`/route/explain?seed=${seed}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(session),
      })
      expect(await response.json()).toMatchObject({ data: { attempts: [{ api_key: `key ${key.at(-1)}` }] } })
    }
  })
})
