/** What becomes of money when the database does not take it. G3, G22. */
import { expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { parseUsd } from "../../src/domain/Money.ts"
import { KeyStore } from "../../src/services/KeyStore.ts"
import { StorageUnavailable } from "../../src/services/ledger.ts"
import { Meter } from "../../src/services/Meter.ts"
import { Storage } from "../../src/services/Storage.ts"
import { layer as memoryStorage } from "../../src/sql/MemoryStorage.ts"
import { configFor, scriptedHost, wholeAnswer } from "../support/host.ts"
import { startHouse } from "../support/house.ts"

const ask = { model: "acme/small", max_tokens: 10, messages: [{ role: "user", content: "hi" }] }

/** Storage in memory whose ledger fails as long as `why` says how. */
const failing = () => {
  const state: { why: StorageUnavailable | undefined; appends: number; defect: boolean } = {
    why: undefined,
    appends: 0,
    defect: false,
  }
  const storage = Layer.effect(
    Storage,
    Effect.map(Storage, ({ ledger, ...others }) => ({
      ...others,
      ledger: {
        ...ledger,
        append: (rows: Parameters<typeof ledger.append>[0]) => {
          state.appends += 1
          if (state.defect) return Effect.die(new Error("a bug of the storage"))
          return state.why === undefined ? ledger.append(rows) : Effect.fail(state.why)
        },
      },
    })),
  ).pipe(Layer.provide(memoryStorage))
  return { state, storage }
}

const until = async (holds: () => boolean | Promise<boolean>): Promise<void> => {
  for (let tries = 0; tries < 400; tries++) {
    if (await holds()) return
    await Bun.sleep(20)
  }
  throw new Error("did not come about")
}

const limited = { limit: parseUsd(1) ?? 0n }

test("a row that the database cannot take now is booked once it can; until then nobody is called", async () => {
  const { state, storage } = failing()
  const host = scriptedHost(() => wholeAnswer("hello"))
  const house = await startHouse({ config: configFor({ acme: host }), storage })
  const { secret, record } = await house.run(
    Effect.flatMap(KeyStore, (keys) => keys.create({ kind: "ordinary", name: "limited", ...limited })),
  )
  const headers = { authorization: `Bearer ${Redacted.value(secret)}` }
  const spent = () => house.run(Effect.flatMap(Meter, (meter) => meter.spent(record.id)))

  state.why = new StorageUnavailable({ reason: "database is locked" })
  expect((await house.chat(ask, { headers })).status).toBe(503)
  expect(host.calls.length).toBe(1)
  expect((await spent()).held).toBeGreaterThan(0n)

  const refused = await house.chat(ask, { headers })
  expect([refused.status, JSON.parse(await refused.text()).error.metadata.error_type]).toEqual([
    503,
    "metering_unavailable",
  ])
  expect(host.calls.length).toBe(1)
  expect((await fetch(house.url.replace("/api/v1", "/readyz"))).status).toBe(503)

  state.why = undefined
  await until(async () => (await spent()).held === 0n)
  // 10 tokens at 1 and 5 at 2 USD per million are what the host asks for; the caller, who got a 503, pays nothing.
  expect((await spent()).total).toBe(0n)
  const rows = await house.run(Effect.flatMap(Storage, (kept) => kept.ledger.rows(record.id, 10)))
  expect(rows.map(({ cost, upstreamCost }) => [cost, upstreamCost])).toEqual([[0n, 20_000_000n]])
  expect((await fetch(house.url.replace("/api/v1", "/readyz"))).status).toBe(200)
  expect((await house.chat(ask, { headers })).status).toBe(200)
  await house.stop()
  await host.stop()
})

test("a row that the database will never take holds no money, and stops nobody else", async () => {
  const { state, storage } = failing()
  const host = scriptedHost(() => wholeAnswer("hello"))
  const house = await startHouse({ config: configFor({ acme: host }), storage })
  const { secret, record } = await house.run(
    Effect.flatMap(KeyStore, (keys) => keys.create({ kind: "ordinary", name: "limited", ...limited })),
  )
  const headers = { authorization: `Bearer ${Redacted.value(secret)}` }
  state.why = new StorageUnavailable({ reason: "cannot store REAL value", refused: true })
  expect((await house.chat(ask, { headers })).status).toBe(503)
  state.why = undefined
  expect((await house.run(Effect.flatMap(Meter, (meter) => meter.spent(record.id)))).held).toBe(0n)
  expect((await house.chat(ask, { headers })).status).toBe(200)
  await house.stop()
  await host.stop()
})

test("a row that was kept, and is then refused for ever, holds no money", async () => {
  const { state, storage } = failing()
  const host = scriptedHost(() => wholeAnswer("hello"))
  const house = await startHouse({ config: configFor({ acme: host }), storage })
  const { secret, record } = await house.run(
    Effect.flatMap(KeyStore, (keys) => keys.create({ kind: "ordinary", name: "limited", ...limited })),
  )
  const headers = { authorization: `Bearer ${Redacted.value(secret)}` }
  const spent = () => house.run(Effect.flatMap(Meter, (meter) => meter.spent(record.id)))
  state.why = new StorageUnavailable({ reason: "database is locked" })
  expect((await house.chat(ask, { headers })).status).toBe(503)
  expect((await spent()).held).toBeGreaterThan(0n)
  state.why = new StorageUnavailable({ reason: "cannot store REAL value", refused: true })
  await until(async () => (await spent()).held === 0n)
  state.why = undefined
  expect((await house.chat(ask, { headers })).status).toBe(200)
  expect((await spent()).total).toBe(20_000_000n)
  await house.stop()
  await host.stop()
})

test("a defect of the storage is an answer too, and nobody waits for ever", async () => {
  const { state, storage } = failing()
  const host = scriptedHost(() => wholeAnswer("hello"))
  const house = await startHouse({ config: configFor({ acme: host }), storage })
  state.defect = true
  expect((await house.chat(ask)).status).toBe(503)
  state.defect = false
  await until(async () => (await house.chat(ask)).status === 200)
  await house.stop()
  await host.stop()
})
