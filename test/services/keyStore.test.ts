/** The key store over a database that fails, or that answers late. */
import { describe, expect, test } from "bun:test"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import type { KeyId } from "../../src/domain/Ids.ts"
import { makeSecret } from "../../src/domain/KeySecret.ts"
import { KeyStore } from "../../src/services/KeyStore.ts"
import { StorageUnavailable } from "../../src/services/ledger.ts"
import { Storage } from "../../src/services/Storage.ts"
import { layer as memoryStorage } from "../../src/sql/MemoryStorage.ts"

test("a key that cannot be looked up: 503 to the caller, the reason in the log, once", async () => {
  const logged: Array<string> = []
  const logger = Logger.make(({ logLevel, message }) => void logged.push(`${logLevel.label} ${String(message)}`))
  const find = () => Effect.fail(new StorageUnavailable({ reason: "disk I/O error" }))
  const layer = KeyStore.layer().pipe(
    Layer.provide(
      Layer.effect(
        Storage,
        Effect.map(Storage, (storage) => ({ ...storage, keys: { ...storage.keys, find } })),
      ),
    ),
    Layer.provide(memoryStorage),
    Layer.provideMerge(Logger.replace(Logger.defaultLogger, logger)),
  )
  const failure = await Effect.runPromise(
    Effect.provide(
      Effect.flatMap(KeyStore, (keys) => Effect.flip(keys.authenticate(Redacted.make(makeSecret("ordinary"))))),
      layer,
    ),
  )
  expect(failure).toMatchObject({ _tag: "Unavailable", why: "storage", retryAfterSeconds: 5 })
  expect(failure.message).not.toContain("disk")
  expect(logged).toEqual(["ERROR The database is not available: disk I/O error"])
})

test("a key that is deleted between the read of its record and the answer is not accepted, now or later", async () => {
  const read = Promise.withResolvers<void>()
  const answer = Promise.withResolvers<void>()
  const revoked: Array<string> = []
  let late = true
  const layer = KeyStore.layer().pipe(
    Layer.provide(
      Layer.effect(
        Storage,
        Effect.map(Storage, ({ keys, ...others }) => {
          const find: typeof keys.find = (id) =>
            Effect.tap(keys.find(id), () => {
              if (!late) return Effect.void
              late = false
              read.resolve()
              return Effect.promise(() => answer.promise)
            })
          return { ...others, keys: { ...keys, find } }
        }),
      ),
    ),
    Layer.provide(memoryStorage),
  )
  await Effect.runPromise(
    Effect.scoped(
      Effect.gen(function* () {
        const keys = yield* KeyStore
        yield* keys.onRevoked((id) => void revoked.push(id))
        const { record, secret } = yield* keys.create({ kind: "ordinary", name: "n" })
        const authenticating = yield* Effect.fork(Effect.flip(keys.authenticate(secret)))
        yield* Effect.promise(() => read.promise)
        yield* keys.remove(record.id)
        answer.resolve()
        expect((yield* authenticating.await)._tag).toBe("Success")
        expect((yield* Effect.flip(keys.authenticate(secret)))._tag).toBe("KeyNotAccepted")
        expect(revoked).toEqual([record.id])
      }).pipe(Effect.provide(layer)),
    ),
  )
})

test("a listener hears of keys that were disabled or deleted, and of nothing once its scope is closed", async () => {
  const heard: Array<string> = []
  await Effect.runPromise(
    Effect.gen(function* () {
      const keys = yield* KeyStore
      const { record } = yield* keys.create({ kind: "ordinary", name: "n" })
      const change = Effect.gen(function* () {
        yield* keys.update(record.id, { name: "other" })
        yield* keys.update(record.id, { disabled: true })
        yield* keys.update(record.id, { disabled: false })
      })
      yield* Effect.scoped(
        Effect.zipRight(
          keys.onRevoked((id) => void heard.push(id)),
          change,
        ),
      )
      yield* change
      expect(heard).toEqual([record.id])
    }).pipe(Effect.provide(Layer.provide(KeyStore.layer(), memoryStorage))),
  )
})

describe("a key that is used while the database changes it", () => {
  type Keys = Context.Tag.Service<typeof Storage>["keys"]

  /** Changes a key that is authenticated once more just before the database has the change, and then again. */
  const changed = async (
    slow: (keys: Keys, meanwhile: Effect.Effect<void>) => Partial<Keys>,
    change: (keys: KeyStore["Type"], id: KeyId) => Effect.Effect<unknown, unknown>,
  ): Promise<string> => {
    let meanwhile: Effect.Effect<void> = Effect.void
    const storage = Layer.effect(
      Storage,
      Effect.map(Storage, ({ keys, ...others }) => {
        const slowed = slow(
          keys,
          Effect.suspend(() => meanwhile),
        )
        return { ...others, keys: { ...keys, ...slowed } }
      }),
    ).pipe(Layer.provide(memoryStorage))
    return Effect.runPromise(
      Effect.gen(function* () {
        const keys = yield* KeyStore
        const { record, secret } = yield* keys.create({ kind: "ordinary", name: "n" })
        meanwhile = Effect.asVoid(Effect.orDie(keys.authenticate(secret)))
        yield* change(keys, record.id)
        return (yield* Effect.either(keys.authenticate(secret)))._tag
      }).pipe(Effect.provide(KeyStore.layer().pipe(Layer.provide(storage)))),
    )
  }

  test("is refused once it is deleted", async () => {
    const slow = (keys: Keys, meanwhile: Effect.Effect<void>): Partial<Keys> => ({
      remove: (...args) => Effect.zipRight(meanwhile, keys.remove(...args)),
    })
    expect(await changed(slow, (keys, id) => keys.remove(id))).toBe("Left")
  })

  test("is refused once it is disabled", async () => {
    const slow = (keys: Keys, meanwhile: Effect.Effect<void>): Partial<Keys> => ({
      update: (...args) => Effect.zipRight(meanwhile, keys.update(...args)),
    })
    expect(await changed(slow, (keys, id) => keys.update(id, { disabled: true }))).toBe("Left")
  })
})
