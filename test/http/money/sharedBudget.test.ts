/** Two gateways of one program on one database of PostgreSQL: what they know of each other. docs/guarantees.md#g1, #g7, #g8 and #g24 */
import { afterEach, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type { KeyRecord } from "../../../src/domain/keys/key.ts"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import { KeyStore, type NewKey } from "../../../src/services/keys/KeyStore.ts"
import { Meter } from "../../../src/services/money/Meter.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import * as PostgresStorage from "../../../src/sql/postgres/PostgresStorage.ts"
import { finishesOf, readStrictly } from "../../support/clients/strictSse.ts"
import { type TcpProxy, tcpProxy } from "../../support/clients/tcpProxy.ts"
import { until } from "../../support/clocks/until.ts"
import { startGateway, type TestGateway } from "../../support/gateways/gateway.ts"
import {
  chunkOf,
  configFor,
  heldStream,
  type ScriptedHost,
  scriptedHost,
  wholeAnswer,
} from "../../support/hosts/host.ts"
import { describePostgres, execute, makeDatabase, port, redactedUrlOf } from "../../support/storage/postgres.ts"

const closing: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

/** The clock of this machine, so many milliseconds off. */
class WrongClock {
  offMs = 0
  readonly layer = Layer.unwrapEffect(
    Effect.map(Effect.clock, (clock) =>
      Layer.setClock(
        Object.assign(Object.create(clock) as typeof clock, { unsafeCurrentTimeMillis: () => Date.now() + this.offMs }),
      ),
    ),
  )
}

interface Pair {
  readonly database: string
  readonly host: ScriptedHost
  readonly first: TestGateway
  readonly second: TestGateway
  readonly proxies: ReadonlyArray<TcpProxy>
  /** A key of both. */
  readonly newKey: (key: Partial<NewKey>) => Promise<SharedKey>
}

interface SharedKey {
  readonly secret: string
  readonly id: KeyRecord["id"]
  readonly chat: (gateway: TestGateway, more?: Readonly<Record<string, unknown>>) => Promise<Response>
  readonly spent: (
    gateway: TestGateway,
  ) => Promise<{ readonly total: bigint; readonly daily: bigint; readonly reserved: bigint }>
  /** What its rows cost. */
  readonly booked: () => Promise<bigint>
}

/** A picodollar amount: 50 tokens of output. */
const one = 100_000_000n

const pair = async (
  answer: Parameters<typeof scriptedHost>[0] = () => wholeAnswer("Hello", { prompt_tokens: 10, completion_tokens: 50 }),
  clocks: ReadonlyArray<WrongClock> = [],
  more: Readonly<Record<string, unknown>> = {},
): Promise<Pair> => {
  const database = await makeDatabase()
  const host = scriptedHost(answer)
  closing.push(host.stop)
  const config = { ...configFor({ a: { url: host.url, prompt: "0" } }), ...more }
  const proxies: Array<TcpProxy> = []
  const start = async (clock: WrongClock | undefined) => {
    const proxy = await tcpProxy(port)
    proxies.push(proxy)
    closing.push(proxy.close)
    const storage = PostgresStorage.layer({ url: redactedUrlOf(database, proxy.port), durability: "process" })
    const gateway = await startGateway({ config, storage, ...(clock === undefined ? {} : { setting: clock.layer }) })
    closing.push(gateway.stop)
    return gateway
  }
  const first = await start(clocks[0])
  const second = await start(clocks[1])
  return {
    ...{ database, host, first, second, proxies },
    newKey: async (key) => {
      const secret = await first.newKey(key)
      const id = keyId(secret)
      const headers = { authorization: `Bearer ${secret}` }
      const ask = { model: "acme/small", messages: [{ role: "user", content: "hello" }], max_tokens: 50 }
      return {
        ...{ secret, id },
        chat: (gateway, changed = {}) => gateway.chat({ ...ask, ...changed }, { headers }),
        spent: (gateway) => gateway.run(Effect.flatMap(Meter, (meter) => meter.spent(id))),
        booked: async () => {
          const rows = await first.run(Effect.flatMap(Storage, ({ ledger }) => ledger.rows(id, 10_000)))
          return rows.reduce((sum, { cost }) => sum + cost, 0n)
        },
      }
    },
  }
}

/** A stream of one token after another that ends only with its call. */
const endless = () =>
  new Response(
    new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        // A turn for each event, so that the others are served in between.
        await new Promise((resolve) => setImmediate(resolve))
        const chunk = chunkOf({ delta: { content: "four" }, finish_reason: null })
        controller.enqueue(new TextEncoder().encode(`data: ${chunk}\n\n`))
      },
    }),
    { headers: { "content-type": "text/event-stream" } },
  )

const statusOf = async (answer: Promise<Response>): Promise<number> => (await answer).status

/** A gateway that stood still for a moment gives back too late what another one needs for a request that is refused meanwhile. */
const answeredAtLast = (ask: () => Promise<Response>): Promise<void> =>
  until(async () => (await statusOf(ask())) === 200, "the money")

const patience = 1_800_000

describePostgres("two gateways on one database", () => {
  test(
    "spend one budget: either can use what the other has left, and both know what was spent",
    async () => {
      const { first, second, newKey } = await pair()
      const key = await newKey({ limit: 40n * one })
      // The first ones lease more than they need, which the last ones have to get from the other gateway.
      for (let at = 0; at < 40; at++) await answeredAtLast(() => key.chat(at < 4 ? first : second))
      for (const gateway of [first, second]) {
        expect(await statusOf(key.chat(gateway))).toBe(402)
        expect(await key.spent(gateway)).toMatchObject({ total: 40n * one, daily: 40n * one, reserved: 0n })
      }
      expect(await key.booked()).toBe(40n * one)
    },
    patience,
  )

  test(
    "what is idle at one of them returns by itself, all of it at a stop",
    async () => {
      const { database, first, second, newKey } = await pair()
      const key = await newKey({ limit: 1000n * one })
      for (const gateway of [first, second]) expect(await statusOf(key.chat(gateway))).toBe(200)
      const slices = async () =>
        (await execute(database, `SELECT amount FROM headgate.slices WHERE key_id = '${key.id}' AND amount > 0`))[0]
          ?.rowCount ?? 0
      expect(await slices()).toBe(2)
      await until(async () => (await slices()) === 0, "the money", patience)
      expect(await statusOf(key.chat(second))).toBe(200)
      expect(await slices()).toBe(1)
      await second.stop()
      expect(await slices()).toBe(0)
    },
    patience,
  )

  test(
    "a lower limit, set through one, holds at the other",
    async () => {
      const { first, second, newKey } = await pair()
      const key = await newKey({ limit: 1000n * one })
      for (const gateway of [first, second]) expect(await statusOf(key.chat(gateway))).toBe(200)
      await first.run(Effect.flatMap(KeyStore, (keys) => keys.update(key.id, { limit: 5n * one })))
      const limitAt = (gateway: TestGateway) =>
        gateway.run(
          Effect.flatMap(KeyStore, (keys) =>
            Effect.map(keys.authenticate(Redacted.make(key.secret)), ({ limit }) => limit),
          ),
        )
      await until(async () => (await limitAt(second)) === 5n * one)
      const statuses = await Promise.all(
        Array.from({ length: 40 }, (_, at) => statusOf(key.chat(at % 2 === 0 ? first : second))),
      )
      const answered = statuses.filter((status) => status === 200).length
      expect(answered).toBeLessThanOrEqual(3)
      for (let at = answered; at < 3; at++) await answeredAtLast(() => key.chat(at % 2 === 0 ? first : second))
      for (const gateway of [first, second]) expect(await statusOf(key.chat(gateway))).toBe(402)
      expect(await key.booked()).toBe(5n * one)
    },
    patience,
  )

  test(
    "a key that one deletes or disables is refused by the other, and its streams there end with 403 in them",
    async () => {
      const streams: Array<ReturnType<typeof heldStream>> = []
      const { first, second, newKey } = await pair((_, request) => {
        const stream = heldStream(request)
        stream.send(chunkOf({ delta: { content: "word" }, finish_reason: null }))
        streams.push(stream)
        return stream.response
      })
      for (const change of ["delete", "disable"] as const) {
        const key = await newKey({ limit: 1000n * one })
        const answer = await key.chat(second, { stream: true })
        await first.run(
          Effect.flatMap(KeyStore, (keys) =>
            change === "delete" ? keys.remove(key.id) : keys.update(key.id, { disabled: true }),
          ),
        )
        const { events } = readStrictly(await answer.text())
        expect(events.some((event) => JSON.stringify(event).includes('"code":403'))).toBe(true)
        expect(await statusOf(key.chat(second))).toBe(401)
        expect(await key.booked()).toBeGreaterThan(0n)
      }
    },
    patience,
  )

  test(
    "with the connection for notices lost, changes are read all the same",
    async () => {
      const { database, first, second, newKey, proxies } = await pair()
      const key = await newKey({})
      expect(await statusOf(key.chat(second))).toBe(200)
      proxies[1]?.cut()
      await first.run(Effect.flatMap(KeyStore, (keys) => keys.remove(key.id)))
      await until(async () => (await statusOf(key.chat(second))) === 401)
      // One that no notice tells of, as if it were lost.
      const other = await newKey({})
      expect(await statusOf(other.chat(second))).toBe(200)
      await execute(
        database,
        `UPDATE headgate.keys SET disabled = true WHERE id = '${other.id}'`,
        `WITH head AS (UPDATE headgate.audit_head SET seq = seq + 1 RETURNING seq)
        INSERT INTO headgate.audit (seq, at, actor, action, object, changes, hash)
        SELECT seq, 0, 'test', 'key.update', '${other.id}', '{"disabled":[false,true]}', '' FROM head`,
      )
      await until(async () => (await statusOf(other.chat(second))) === 401)
    },
    patience,
  )

  test(
    "whose clocks differ by five minutes around midnight: each day's limit is spent once",
    async () => {
      const [ahead, behind] = [new WrongClock(), new WrongClock()]
      const { first, second, newKey } = await pair(undefined, [ahead, behind])
      const midnight = Math.ceil(Date.now() / 86_400_000) * 86_400_000
      const setTo = (clock: WrongClock, time: number) => {
        clock.offMs = time - Date.now()
      }
      setTo(ahead, midnight + 60_000)
      setTo(behind, midnight - 240_000)
      const key = await newKey({ limit: 3n * one, limitReset: "daily" })
      const burst = async (gateway: TestGateway) => {
        const statuses = await Promise.all(Array.from({ length: 8 }, () => statusOf(key.chat(gateway))))
        return statuses.filter((status) => status === 200).length
      }
      expect([await burst(first), await burst(second)]).toEqual([3, 3])
      // The slower clock reaches the day that the other one has spent; the faster one steps back to the day before.
      setTo(behind, midnight + 1000)
      setTo(ahead, midnight - 1000)
      expect([await burst(second), await burst(first)]).toEqual([0, 0])
      expect(await key.booked()).toBe(6n * one)
    },
    patience,
  )

  test(
    "streams draw on what both may spend, to the limit and one event beyond it",
    async () => {
      const { first, second, newKey } = await pair(endless)
      // A token of output costs two microdollars.
      const limit = 2_000_000n * 12_000n
      const key = await newKey({ limit })
      const texts = await Promise.all(
        [first, second].map(async (gateway) =>
          (await key.chat(gateway, { stream: true, max_tokens: undefined })).text(),
        ),
      )
      for (const text of texts) {
        const finishes = finishesOf(readStrictly(text).events)
        expect(finishes).toMatchObject([{ choices: [{ finish_reason: "length" }] }])
      }
      const booked = await key.booked()
      expect([booked <= limit + 2n * 2_000_000n, booked > limit / 2n]).toEqual([true, true])
    },
    patience,
  )

  test(
    "requests to free models are limited per day by both together, exactly",
    async () => {
      const { first, second, newKey } = await pair(undefined, [], {
        billing: { free_models: { requests_per_minute: 0, requests_per_day: 7 } },
        models: [{ id: "acme/echo:free", context_length: 1000, hosts: [{ provider: "echo", model: "headgate/echo" }] }],
      })
      const key = await newKey({})
      const free = (gateway: TestGateway) => statusOf(key.chat(gateway, { model: "acme/echo:free" }))
      const statuses = await Promise.all(Array.from({ length: 30 }, (_, at) => free(at % 2 === 0 ? first : second)))
      expect(statuses.filter((status) => status === 200)).toHaveLength(7)
      expect(new Set(statuses)).toEqual(new Set([200, 429]))
    },
    patience,
  )

  test(
    "a request to a free model that the day's limit refuses does not count for the minute",
    async () => {
      const { first, second, newKey } = await pair(undefined, [], {
        billing: { free_models: { requests_per_minute: 4, requests_per_day: 3 } },
        models: [{ id: "acme/echo:free", context_length: 1000, hosts: [{ provider: "echo", model: "headgate/echo" }] }],
      })
      const key = await newKey({})
      const ask = (gateway: TestGateway) => key.chat(gateway, { model: "acme/echo:free" })
      for (let at = 0; at < 3; at++) expect(await statusOf(ask(first))).toBe(200)
      // What the first one has left of the minute comes to the second one, in the end.
      const refusal = async () => {
        const answer = await ask(second)
        expect(answer.status).toBe(429)
        return answer.text()
      }
      for (let at = 3; at < 9; at++)
        await until(async () => (await refusal()).includes("free-models-per-day"), "the refusal of the day")
    },
    patience,
  )

  test(
    "whose statements are all slow block each other in no circle, and spend no more than the limit",
    async () => {
      const { first, second, newKey, proxies } = await pair()
      const key = await newKey({ limit: 5n * one })
      const unlimited = await newKey({})
      for (const proxy of proxies) proxy.delay(slowMs)
      const started = performance.now()
      const statuses = await Promise.all(
        Array.from({ length: 20 }, (_, at) =>
          statusOf((at < 14 ? key : unlimited).chat(at % 2 === 0 ? first : second)),
        ),
      )
      if (slowMs >= 2000) console.log(`20 requests, ${slowMs} ms per statement: ${performance.now() - started} ms`)
      for (const proxy of proxies) proxy.delay(0)
      expect(statuses.slice(14)).toEqual(Array.from({ length: 6 }, () => 200))
      const admitted = statuses.slice(0, 14).filter((status) => status === 200).length
      expect(statuses.slice(0, 14).filter((status) => ![200, 402].includes(status))).toEqual([])
      for (let left = admitted; left < 5; left++) await answeredAtLast(() => key.chat(first))
      expect(await statusOf(key.chat(second))).toBe(402)
      expect(await key.booked()).toBe(5n * one)
    },
    patience,
  )
})

/** `SLOW_MS=2000` for the figures of a release. */
const slowMs = Number(process.env["SLOW_MS"] ?? 300)
