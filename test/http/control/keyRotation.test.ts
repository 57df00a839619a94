/** `POST /keys/{hash}/rotate`: another secret for the same key. docs/decisions/0049-rotation-of-keys.md */
import { afterEach, describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { layer as memoryStorage } from "../../../src/sql/sqlite/MemoryStorage.ts"
import { until } from "../../support/clocks/until.ts"
import {
  type Anything,
  asManager,
  bearer,
  type ControlPlane,
  type ControlPlaneOptions,
  expectError,
  json,
  noon,
  row,
  startControlPlane,
} from "../../support/gateways/control.ts"
import { execute, hasPostgres, makeDatabase, postgresAt } from "../../support/storage/postgres.ts"

const closing: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const day = 86_400_000

const started = async (storage: NonNullable<ControlPlaneOptions["storage"]>): Promise<ControlPlane> => {
  const plane = await startControlPlane({ storage })
  closing.push(plane.close)
  return plane
}

const rotate = async (at: ControlPlane, hash: string, body: object = {}): Promise<Anything> => {
  const response = await at.send(`/api/v1/keys/${hash}/rotate`, asManager("POST", body))
  expect(response.status).toBe(201)
  return json(response)
}

const accepted = async (at: ControlPlane, secret: string): Promise<boolean> => {
  const { status } = await at.send("/api/v1/key", bearer(secret))
  expect([200, 401]).toContain(status)
  return status === 200
}

const storages: ReadonlyArray<readonly [string, () => Promise<NonNullable<ControlPlaneOptions["storage"]>>]> = [
  ["SQLite", async () => memoryStorage],
  ...(hasPostgres ? [["PostgreSQL", async () => Layer.orDie(postgresAt(await makeDatabase()))] as const] : []),
]

describe.each(storages)("on %s a rotation", (_, make) => {
  test("gives a key a second secret for the same budget, and both are accepted for a day", async () => {
    const plane = await started(await make())
    const old = await plane.newKey({ limit: 10_000_000_000_000n })
    const hash = keyId(old)
    await plane.run(Effect.flatMap(Storage, ({ ledger }) => ledger.append([row(old, "2", noon)])))
    const answer = await rotate(plane, hash)
    expect(answer).toMatchObject({
      data: { hash, limit: 10, usage: 2, label: `${answer.key.slice(0, 9)}...${answer.key.slice(-3)}` },
      previous_ends_at: new Date(noon + day).toISOString(),
    })
    expect(answer.key).not.toBe(old)
    expect(answer.data.previous_ends_at).toBe(answer.previous_ends_at)
    const other = await plane.newKey()
    const endsOf = async () =>
      new Map(
        (await json(await plane.send("/api/v1/keys", asManager()))).data.map((key: Anything) => [
          key.hash,
          key.previous_ends_at,
        ]),
      )
    expect(await endsOf()).toEqual(
      new Map([
        [hash, answer.previous_ends_at],
        [keyId(other), null],
      ]),
    )
    await plane.send(`/api/v1/keys/${keyId(other)}`, asManager("DELETE"))
    // Clients name a key by the hash that they have: of its first secret, or of the one that they were given.
    for (const name of [hash, keyId(answer.key)]) {
      const found = await json(await plane.send(`/api/v1/keys/${name}`, asManager()))
      expect(found.data).toMatchObject({ hash, usage: 2, limit_remaining: 8 })
      expect(found.data.previous_ends_at).toBe(answer.previous_ends_at)
    }
    expect((await json(await plane.send("/api/v1/key", bearer(answer.key)))).data.usage).toBe(2)
    expect([await accepted(plane, old), await accepted(plane, answer.key)]).toEqual([true, true])
    plane.time.now = noon + day - 1
    expect(await accepted(plane, old)).toBe(true)
    plane.time.now = noon + day
    expect([await accepted(plane, old), await accepted(plane, answer.key)]).toEqual([false, true])
    expect((await json(await plane.send("/api/v1/keys", asManager()))).data).toHaveLength(1)
    // It has ended.
    expect(await endsOf()).toEqual(new Map([[hash, null]]))
  })

  test("with overlap_s 0 ends the secrets before it at once, and a second one in the day shortens the first one's", async () => {
    const plane = await started(await make())
    const old = await plane.newKey()
    const hash = keyId(old)
    const second = await rotate(plane, hash)
    const third = await rotate(plane, hash, { overlap_s: 60 })
    expect(await Promise.all([old, second.key, third.key].map((key) => accepted(plane, key)))).toEqual([
      true,
      true,
      true,
    ])
    plane.time.now = noon + 60_000
    expect(await Promise.all([old, second.key, third.key].map((key) => accepted(plane, key)))).toEqual([
      false,
      false,
      true,
    ])
    const fourth = await rotate(plane, keyId(third.key), { overlap_s: 0 })
    expect([await accepted(plane, third.key), await accepted(plane, fourth.key)]).toEqual([false, true])
    // Also after what is in memory is dropped.
    await plane.send(`/api/v1/keys/${hash}`, asManager("PATCH", { name: "renamed" }))
    const all = [old, second.key, third.key, fourth.key]
    expect(await Promise.all(all.map((key) => accepted(plane, key)))).toEqual([false, false, false, true])
  })

  test("goes for all that is done to the key: disabled, enabled, deleted", async () => {
    const plane = await started(await make())
    const old = await plane.newKey()
    const { key } = await rotate(plane, keyId(old))
    const both = async () => [await accepted(plane, old), await accepted(plane, key)]
    await plane.send(`/api/v1/keys/${keyId(key)}`, asManager("PATCH", { disabled: true }))
    expect(await both()).toEqual([false, false])
    await plane.send(`/api/v1/keys/${keyId(old)}`, asManager("PATCH", { disabled: false }))
    expect(await both()).toEqual([true, true])
    expect((await plane.send(`/api/v1/keys/${keyId(key)}`, asManager("DELETE"))).status).toBe(200)
    expect(await both()).toEqual([false, false])
    await expectError(await plane.send(`/api/v1/keys/${keyId(old)}`, asManager()), 404)
  })

  test("needs no body", async () => {
    const plane = await started(await make())
    const hash = keyId(await plane.newKey())
    const response = await plane.send(`/api/v1/keys/${hash}/rotate`, { ...asManager("POST"), body: null })
    expect(await json(response)).toMatchObject({ previous_ends_at: new Date(noon + day).toISOString() })
  })

  test("is refused for a key that does not exist, and for an overlap that is none", async () => {
    const plane = await started(await make())
    const hash = keyId(await plane.newKey())
    await expectError(await plane.send(`/api/v1/keys/${"0".repeat(64)}/rotate`, asManager("POST", {})), 404)
    for (const overlap_s of [-1, 1.5, 30 * 86_400 + 1, "60", null]) {
      const response = await plane.send(`/api/v1/keys/${hash}/rotate`, asManager("POST", { overlap_s }))
      expect((await expectError(response, 400)).metadata.path).toBe("overlap_s")
    }
    await expectError(await plane.send(`/api/v1/keys/${hash}/rotate`, { ...bearer("x"), method: "POST" }), 401)
  })
})

describe.skipIf(!hasPostgres)("a rotation at one of two gateways on a database", () => {
  test("is known to the other within five seconds, and is a row of the audit log without secrets", async () => {
    const database = await makeDatabase()
    const storage = () => Layer.orDie(postgresAt(database))
    const [one, other] = [await started(storage()), await started(storage())]
    const old = await one.newKey()
    expect(await accepted(other, old)).toBe(true)
    const { key } = await rotate(one, keyId(old), { overlap_s: 0 })
    await until(async () => !(await accepted(other, old)), "the end of the old secret")
    expect([await accepted(other, key), await accepted(one, old)]).toEqual([true, false])
    const [found] = await execute(
      database,
      "SELECT action, object, changes FROM headgate.audit ORDER BY seq DESC LIMIT 1",
    )
    expect(found?.rows[0]).toMatchObject({ action: "key.rotate", object: keyId(old) })
    expect(JSON.stringify(found?.rows[0])).not.toContain(key)
  })
})
