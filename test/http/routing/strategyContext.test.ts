/** What a strategy is told of a request and its caller, and that its mistakes cost a request its order alone. docs/strategies.md#write */
import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { defineStrategy, type Rank, type RankContext, rankByHash } from "headgate/plugin"
import { userHash } from "../../../src/domain/request/userHash.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { ManualClock } from "../../support/clocks/manualClock.ts"
import { gatewayWithoutSocket, ownPlugins } from "../../support/gateways/gateway.ts"
import { closeAfterEach, opened } from "../../support/gateways/watched.ts"
import { configFor, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"
import { lastingStorage } from "../../support/storage/lastingStorage.ts"

closeAfterEach()

const strategyOf = (rank: Rank) => defineStrategy({ id: "own", config: Schema.Struct({}), load: () => rank })

const gatewayWith = async (rank: Rank, options: object = {}, tags: Readonly<Record<string, object>> = {}) => {
  const host = opened(scriptedHost(() => wholeAnswer("fine")))
  const config = configFor({ a: { ...host, prompt: "0.000001" }, b: { ...host, prompt: "0.000002" } })
  const plugins = [...(await Effect.runPromise(ownPlugins)), strategyOf(rank)]
  const { providers } = config
  const gateway = await gatewayWithoutSocket({
    ...options,
    plugins,
    config: {
      ...config,
      providers: Object.fromEntries(
        Object.entries(providers).map(([slug, entry]) => [slug, { ...entry, ...tags[slug] }]),
      ),
      routing: { strategy: "own" },
    },
  })
  return opened(gateway)
}

const asked = { model: "acme/small", messages: [{ role: "user", content: "hi" }], max_tokens: 100 }

/** Storage that outlives a gateway. */
const sharedStorage = async () => {
  const scope = await Effect.runPromise(Scope.make())
  return Layer.succeedContext(await Effect.runPromise(Layer.buildWithScope(lastingStorage, scope)))
}

/** A gateway whose strategy notes the context of each ranking, and what a body came to in it. */
const noting = async (storage?: Layer.Layer<Storage>) => {
  const seen: Array<RankContext> = []
  const rank: Rank = (candidates, context) => {
    seen.push(context)
    return candidates
  }
  const gateway = await gatewayWith(rank, storage === undefined ? {} : { storage })
  const contextOf = async (body: object = {}, init: RequestInit = {}): Promise<RankContext> => {
    expect((await gateway.chat({ ...asked, ...body }, init)).status).toBe(200)
    const last = seen.at(-1)
    if (last === undefined) throw new Error("nothing was ranked")
    return last
  }
  return { gateway, contextOf }
}

describe("a strategy is told", () => {
  test("of the key, and of the user as activity shows it; both are the same after a restart, in another installation the user is not", async () => {
    const storage = await sharedStorage()
    const first = await noting(storage)
    const secret = await first.gateway.newKey({ name: "ann" })
    const headers = { authorization: `Bearer ${secret}` }
    const { caller } = await first.contextOf({ user: "ann@acme.example" }, { headers })
    expect(caller.key).toBe(new Bun.CryptoHasher("sha256").update(secret).digest("hex"))
    const installation = await first.gateway.run(Effect.map(Storage, (one) => one.installation))
    expect(caller.user).toBe(userHash(installation, "ann@acme.example"))

    const second = await noting(storage)
    const again = (await second.contextOf({ user: "ann@acme.example" }, { headers })).caller
    expect([again.key, again.user]).toEqual([caller.key, caller.user])
    const elsewhere = await noting()
    expect((await elsewhere.contextOf({ user: "ann@acme.example" })).caller.user).not.toBe(caller.user)
    expect((await elsewhere.contextOf()).caller.user).toBeNull()
  })

  test("of the conversation: the same in its turns, of the session and after a restart, another one for another key", async () => {
    const storage = await sharedStorage()
    const first = await noting(storage)
    const turn = async ({ contextOf }: typeof first, body: object = {}, init: RequestInit = {}) =>
      (await contextOf(body, init)).caller.conversation
    const opening = await turn(first)
    expect(opening).toMatch(/^[0-9a-f]{16}$/)
    const later = [...asked.messages, { role: "assistant", content: "fine" }, { role: "user", content: "more" }]
    expect(await turn(first, { messages: later })).toBe(opening)
    expect(await turn(first, { messages: [{ role: "user", content: "else" }] })).not.toBe(opening)
    const session = await turn(first, { session_id: "s-1" })
    expect(await turn(first, { session_id: "s-1", messages: [{ role: "user", content: "else" }] })).toBe(session)
    const headers = { authorization: `Bearer ${await first.gateway.newKey()}` }
    expect(await turn(first, { session_id: "s-1" }, { headers })).not.toBe(session)

    const second = await noting(storage)
    const same = { authorization: `Bearer ${first.gateway.key}` }
    expect(await turn(second, { session_id: "s-1" }, { headers: same })).toBe(session)
    expect(await turn(second, {}, { headers: same })).toBe(opening)
  })

  test("of what the key has left, what the request costs at each host, and the time", async () => {
    const { gateway, contextOf } = await noting()
    expect((await contextOf()).budget).toEqual({ limit: null, left: null, resetsAt: null })
    const limited = await gateway.newKey({ limit: 3_000_000_000n, limitReset: "daily" })
    const init = { headers: { authorization: `Bearer ${limited}` } }
    const { budget, now } = await contextOf({}, init)
    expect(budget).toMatchObject({ limit: 3_000_000_000n, left: 3_000_000_000n })
    expect(budget.resetsAt).toBeWithin(now, now + 86_400_001)
    const after = (await contextOf({}, init)).budget
    expect(after.left).toBeLessThan(3_000_000_000n)
  })

  test("of a host's tags, those of its provider among them, and of the price of this request there", async () => {
    const seen: Array<readonly [ReadonlyArray<string>, bigint | null]> = []
    const rank: Rank = (candidates, { expectedCost }) => {
      for (const { host } of candidates) seen.push([host.tags, expectedCost(host)])
      return candidates
    }
    const gateway = await gatewayWith(rank, {}, { a: { tags: ["eu", "fast"] } })
    expect((await gateway.chat(asked)).status).toBe(200)
    expect(seen.map(([tags]) => tags)).toEqual([["eu", "fast"], []])
    // "hi" is a token; 100 more at the price of the output, which is the same at both.
    expect(seen.map(([, cost]) => cost)).toEqual([201_000_000n, 202_000_000n])
  })
})

test('F7, "sticky by user" could not be written: the requests of one user go to one host, those of many to both', async () => {
  const gateway = await gatewayWith((candidates, { caller }) => rankByHash(candidates, caller.user ?? ""))
  const hostFor = async (user: string): Promise<string | null> =>
    (await gateway.chat({ ...asked, user })).headers.get("x-gw-host")
  const users = Array.from({ length: 12 }, (_, at) => `user-${at}`)
  const first = await Promise.all(users.map(hostFor))
  expect(new Set(first)).toEqual(new Set(["a", "b"]))
  expect(await Promise.all(users.map(hostFor))).toEqual(first)
})

describe("a strategy that", () => {
  const lines: Array<string> = []
  const logger = Logger.replace(
    Logger.defaultLogger,
    Logger.make(({ message }) => {
      lines.push(JSON.stringify(message))
    }),
  )

  test.each<readonly [string, (clock: ManualClock) => Rank]>([
    [
      "throws",
      () => () => {
        throw new Error("a bug")
      },
    ],
    [
      "takes over a second",
      (clock) => (candidates) => {
        clock.advance(1001)
        return candidates.toReversed()
      },
    ],
  ])("%s costs each request its order and none its answer, is named once, and stays on", async (_what, rankWith) => {
    lines.length = 0
    const clock = new ManualClock()
    let asks = 0
    const rank = rankWith(clock)
    const counted: Rank = (...given) => {
      asks += 1
      return rank(...given)
    }
    const gateway = await gatewayWith(counted, { setting: Layer.merge(Layer.setClock(clock), logger) })
    for (let at = 1; at <= 20; at++) {
      const answer = await gateway.chat(asked)
      expect([answer.status, answer.headers.get("x-gw-host"), asks]).toEqual([200, "a", at])
    }
    const named = lines.filter((line) => line.includes("strategy_failed"))
    expect(named).toHaveLength(1)
    expect(named[0]).toContain("own")
  })
})
