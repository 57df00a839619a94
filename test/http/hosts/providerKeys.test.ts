/** Several keys of one provider (`api_keys`), over real sockets. docs/provider-keys.md */
import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { errorOf, streamOf, wholeBodyOf } from "../../support/clients/answers.ts"
import { explainedBy } from "../../support/clients/explained.ts"
import { ManualClock } from "../../support/clocks/manualClock.ts"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import {
  chunkOf,
  type HeldStream,
  heldStream,
  type ScriptedHost,
  scriptedHost,
  streamAnswer,
  wholeAnswer,
} from "../../support/hosts/host.ts"
import { lastingStorage } from "../../support/storage/lastingStorage.ts"

closeAfterEach()

/** What a host says to a key; `undefined`: it answers. */
type Verdicts = Record<string, ((request: Request) => Response) | undefined>

const status =
  (code: number, headers: Record<string, string> = {}) =>
  (): Response =>
    Response.json({ error: { message: "no" } }, { status: code, headers })

const keyOf = (request: Request): string => request.headers.get("authorization")?.replace("Bearer secret-", "") ?? ""

const hostBy = (verdicts: Verdicts): ScriptedHost =>
  opened(
    scriptedHost(({ stream }, request) => {
      const usage = { prompt_tokens: 0, completion_tokens: 100 }
      const answer = () => (stream === true ? streamAnswer(["Hello"], usage) : wholeAnswer("Hello", usage))
      return verdicts[keyOf(request)]?.(request) ?? answer()
    }),
  )

/** The keys that a host was called with, in order. */
const usedOf = ({ calls }: ScriptedHost): ReadonlyArray<string> => calls.map(({ request }) => keyOf(request))

const written = (name: string, more: object = {}) => ({ key: `secret-${name}`, ...more })

/** A provider with these keys, at a dollar for a hundred tokens of output, and a dearer one with one key. */
const start = async (
  verdicts: Verdicts,
  keys: ReadonlyArray<object>,
  { storage = lastingStorage, clock = new ManualClock(), limits = {} }: Setting = {},
) => {
  const first = hostBy(verdicts)
  const second = hostBy({})
  const provider = ({ url }: ScriptedHost, access: object) => ({
    plugin: "openai-compatible",
    base_url: url,
    network: "private" as const,
    ...access,
  })
  const host = (name: string, completion: string) => ({
    ...{ provider: name, model: "upstream", max_completion_tokens: 4096 },
    pricing: { prompt: "0", completion },
  })
  const config = {
    providers: {
      several: provider(first, { api_keys: keys }),
      single: provider(second, { api_key: "secret-single" }),
    },
    models: [
      {
        ...{ id: "acme/small", name: "Acme Small", created: 1_760_000_000, context_length: 8192 },
        hosts: [host("several", "0.01"), host("single", "0.02")],
      },
    ],
    routing: { strategy: "price" },
    limits,
  }
  const gateway = await startWatched({ config: config as never, storage, setting: Layer.setClock(clock) })
  const ask = () =>
    gateway.chat({ model: "acme/small", messages: [{ role: "user", content: "hello" }], max_tokens: 100 })
  return { gateway, first, second, ask, clock }
}

interface Setting {
  readonly storage?: Layer.Layer<Storage, unknown>
  readonly clock?: ManualClock
  readonly limits?: object
}

const body = { model: "acme/small", messages: [{ role: "user", content: "hello" }], max_tokens: 100 }

/** Keys are drawn: of three, one is left out of so many requests once in 10^10 times. */
const asked = 60

describe("several keys of a provider", () => {
  test.each([
    ["429", 429],
    ["401", 401],
    ["403", 403],
  ])(
    "a key whose host says %s cools down alone: the next key is used, and then no longer that one",
    async (_, code) => {
      const verdicts: Verdicts = { a: status(code), b: status(code) }
      // No retries: another key is no further host.
      const { gateway, first, second, ask, clock } = await start(verdicts, [written("a"), written("b"), written("c")], {
        limits: { retries: 0 },
      })
      for (let n = 0; n < asked; n++) {
        const answer = await ask()
        expect([answer.status, answer.headers.get("x-gw-host")]).toEqual([200, "several"])
      }
      const used = usedOf(first)
      expect(["a", "b"].map((name) => used.filter((key) => key === name).length)).toEqual([1, 1])
      expect(used.filter((key) => key === "c")).toHaveLength(asked)
      expect(second.calls).toHaveLength(0)
      clock.advance(60_000)
      verdicts["a"] = verdicts["b"] = undefined
      for (let n = 0; n < asked; n++) await wholeBodyOf(await ask())
      expect(new Set(usedOf(first).slice(asked + 2))).toEqual(new Set(["a", "b", "c"]))
      expect(gateway.log()).toContain(`key: "key 1"`)
      expect(gateway.log()).not.toContain("secret-")
    },
  )

  test("with all of them cooling down the host is left out, with why, and is back after the shortest wait", async () => {
    const verdicts: Verdicts = { a: status(429, { "retry-after": "20" }), b: status(429, { "retry-after": "50" }) }
    const { gateway, first, second, ask, clock } = await start(verdicts, [written("a"), written("b")])
    expect((await ask()).headers.get("x-gw-host")).toBe("single")
    expect(usedOf(first).toSorted()).toEqual(["a", "b"])
    const { attempts, excluded } = await explainedBy(gateway, body)
    expect(attempts.map(({ host }) => host)).toEqual(["single"])
    expect(excluded).toMatchObject([
      {
        ...{ host: "several", by: "api_keys" },
        reason:
          "none of its keys may be used: key 1: left alone after a failure: rate-limited; key 2: left alone after a failure: rate-limited",
      },
    ])
    clock.advance(19_999)
    expect((await ask()).headers.get("x-gw-host")).toBe("single")
    expect(second.calls).toHaveLength(2)
    clock.advance(1)
    verdicts["a"] = undefined
    expect((await ask()).headers.get("x-gw-host")).toBe("several")
    expect(usedOf(first).at(-1)).toBe("a")
  })

  test("that is the only host: 429 from all keys is a 429, with the shortest of the times to wait, also while they rest", async () => {
    const verdicts: Verdicts = { a: status(429, { "retry-after": "20" }), b: status(429, { "retry-after": "50" }) }
    const { gateway } = await start(verdicts, [written("a"), written("b")])
    const only = () => gateway.chat({ ...body, provider: { only: ["several"] } })
    for (const expected of [429, 429]) {
      const refused = await only()
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([expected, "20"])
      expect(JSON.stringify(await errorOf(refused))).not.toContain("secret-")
    }
  })

  test("a request that the host itself forbids leaves the last key in use", async () => {
    const { first, gateway } = await start({ a: status(403), b: status(403) }, [written("a"), written("b")])
    const only = () => gateway.chat({ ...body, provider: { only: ["several"] } })
    expect((await only()).status).toBe(403)
    expect(usedOf(first).toSorted()).toEqual(["a", "b"])
    expect((await only()).status).toBe(403)
    expect(usedOf(first)).toHaveLength(3)
  })

  test("a stream is begun with another key, too", async () => {
    const { first, gateway } = await start({ a: status(429) }, [
      written("a", { weight: 1000 }),
      written("b", { weight: 0.001 }),
    ])
    const answer = await gateway.chat({ ...body, stream: true })
    expect([answer.status, answer.headers.get("x-gw-host")]).toEqual([200, "several"])
    await answer.text()
    expect(usedOf(first)).toEqual(["a", "b"])
  })

  test("another failure is its host's: the next host is tried, and no other key", async () => {
    const { first, second, ask } = await start({ a: status(500), b: status(500) }, [written("a"), written("b")])
    expect((await ask()).headers.get("x-gw-host")).toBe("single")
    expect([first.calls.length, second.calls.length]).toEqual([1, 1])
  })

  test("are used in proportion to their weights, as the seed says, and explained by place", async () => {
    const { gateway, first } = await start({}, [written("a", { weight: 3 }), written("b")])
    const chosen = async (seed: number) => {
      const { attempts } = await explainedBy(gateway, body, `?seed=${seed}`)
      return (attempts[0] as { readonly api_key?: string } | undefined)?.api_key
    }
    const seeds = Array.from({ length: 200 }, (_, at) => at * 7919)
    const choices = await Promise.all(seeds.map(chosen))
    expect(choices).toEqual(await Promise.all(seeds.map(chosen)))
    const share = choices.filter((label) => label === "key 1").length / seeds.length
    expect(Math.abs(share - 0.75)).toBeLessThan(0.1)
    expect(new Set(choices)).toEqual(new Set(["key 1", "key 2"]))
    const answer = await wholeBodyOf(await gateway.chat(body))
    const row = await gateway.run(Effect.flatMap(Storage, ({ ledger }) => ledger.generation(answer.id)))
    expect(await chosen(row?.seed ?? -1)).toBe(usedOf(first)[0] === "a" ? "key 1" : "key 2")
  })
})

describe("the limit of a key", () => {
  test("is spent by what its host charged, also for an answer that broke off and cost the caller nothing", async () => {
    const usage = { prompt_tokens: 0, completion_tokens: 100 }
    let held: HeldStream | undefined
    const verdicts: Verdicts = {
      a: (request) => {
        held = heldStream(request)
        held.send(chunkOf({ delta: { content: "Hello" }, finish_reason: null }, { usage }))
        return held.response
      },
    }
    const keys = [written("a", { limit: "0.5", weight: 1000 }), written("b", { weight: 0.001 })]
    const { gateway, first, ask } = await start(verdicts, keys)
    const response = await gateway.chat({ ...body, stream: true })
    held?.send('{"error":{"code":500,"message":"broke"}}')
    expect((await streamOf(response)).last).toMatchObject({ error: { code: 502 }, usage: { cost: 0 } })
    expect((await ask()).status).toBe(200)
    expect(usedOf(first)).toEqual(["a", "b"])
  })

  test("holds beyond a restart, and is reset at midnight in UTC: what its host charged counts, to the picodollar", async () => {
    const clock = new ManualClock(Date.UTC(2026, 6, 15, 23, 0))
    const storage = Layer.succeedContext(await Effect.runPromise(Effect.scoped(Layer.build(lastingStorage))))
    const keys = [
      written("a", { limit: 3, limit_reset: "daily", weight: 1000 }),
      written("b", { limit: "1.5", weight: 0.001 }),
    ]
    const before = await start({}, keys, { storage, clock })
    const servedBy = async ({ ask, first }: typeof before) => {
      const name = (await ask()).headers.get("x-gw-host")
      return name === "several" ? usedOf(first).at(-1) : name
    }
    expect([await servedBy(before), await servedBy(before)]).toEqual(["a", "a"])
    await before.gateway.stop()
    // In another order: what a key has spent is not that of its place.
    const after = await start({}, keys.toReversed(), { storage, clock })
    expect(await servedBy(after)).toBe("a")
    // Its day's three dollars are spent. The other one has a dollar and a half, which the second request passes.
    expect([await servedBy(after), await servedBy(after), await servedBy(after)]).toEqual(["b", "b", "single"])
    const { excluded } = await explainedBy(after.gateway, body)
    expect(excluded[0]?.reason).toBe(
      "none of its keys may be used: key 1: its limit is used up; key 2: its daily limit is used up",
    )
    const refused = await after.gateway.chat({ ...body, provider: { only: ["several"] } })
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "300"])
    clock.advance(3_600_000)
    expect(await servedBy(after)).toBe("a")
  })
})

test.each([
  ["429", status(429)],
  ["401", status(401)],
])(
  "a host all of whose keys rest after %s was listed as normal: it is listed as resting until one is back",
  async (_, no) => {
    const verdicts: Verdicts = { a: no }
    const { gateway, ask, clock } = await start(verdicts, [written("a"), written("b")])
    const listed = async () => (await gateway.listed()).map(({ tag, status }) => [tag, status])
    while (!gateway.log().includes('key: "key 1"')) await wholeBodyOf(await ask())
    expect(await listed()).toEqual([
      ["several", 0],
      ["single", 0],
    ])
    verdicts["b"] = no
    await wholeBodyOf(await ask())
    expect(await listed()).toEqual([
      ["several", -3],
      ["single", 0],
    ])
    clock.advance(60_000)
    expect(await listed()).toEqual([
      ["several", 0],
      ["single", 0],
    ])
  },
)
