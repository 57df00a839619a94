/** The key store over a database that fails, or that answers late. */
import { describe, expect, test } from "bun:test"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import type { KeyId } from "../../../src/domain/ids.ts"
import { makeSecret } from "../../../src/domain/keys/keySecret.ts"
import { KeyStore } from "../../../src/services/keys/KeyStore.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { StorageUnavailable } from "../../../src/services/storage/StorageUnavailable.ts"
import { layer as memoryStorage } from "../../../src/sql/sqlite/MemoryStorage.ts"
import { ManualClock } from "../../support/clocks/manualClock.ts"

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
  expect(logged[0]).toStartWith("ERROR The database is not available: disk I/O error")
  expect(logged).toHaveLength(1)
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

/** A key store under a clock, over a database that counts the reads of keys and may hold them up. */
const counted = () => {
  const clock = new ManualClock()
  const reads: Array<string> = []
  let gate = Promise.resolve()
  let running = 0
  let most = 0
  const layer = KeyStore.layer().pipe(
    Layer.provide(
      Layer.effect(
        Storage,
        Effect.map(Storage, ({ keys, ...others }) => {
          const find: typeof keys.find = (id) =>
            Effect.gen(function* () {
              reads.push(id)
              running += 1
              most = Math.max(most, running)
              yield* Effect.promise(() => gate)
              running -= 1
              return yield* keys.find(id)
            })
          return { ...others, keys: { ...keys, find } }
        }),
      ),
    ),
    Layer.provide(memoryStorage),
    Layer.provide(Layer.setClock(clock)),
  )
  return {
    clock,
    reads,
    most: () => most,
    /** Reads wait until the returned function is called. */
    hold: () => {
      const { promise, resolve } = Promise.withResolvers<void>()
      gate = promise
      return resolve
    },
    run: <A, E>(steps: Effect.Effect<A, E, KeyStore>) => Effect.runPromise(Effect.provide(steps, layer)),
  }
}

const tries = (secret: Redacted.Redacted) =>
  Effect.flatMap(KeyStore, (keys) => Effect.map(Effect.either(keys.authenticate(secret)), Either.isRight))

test("a forged key with the right checksum was read from the database each time, a disabled one never: all are read once and then refused from memory", async () => {
  const store = counted()
  await store.run(
    Effect.gen(function* () {
      const keys = yield* KeyStore
      const make = Effect.map(keys.create({ kind: "ordinary", name: "n" }), ({ secret, record }) => ({
        secret,
        id: record.id,
      }))
      const unknown = Redacted.make(makeSecret("ordinary"))
      const deleted = yield* make
      const disabled = yield* make
      const usedAndDisabled = yield* make
      const expiresAt = store.clock.unsafeCurrentTimeMillis() + 1000
      const expired = yield* keys.create({ kind: "ordinary", name: "n", expiresAt })
      expect(yield* tries(usedAndDisabled.secret)).toBe(true)
      expect(yield* tries(expired.secret)).toBe(true)
      yield* keys.remove(deleted.id)
      yield* keys.update(disabled.id, { disabled: true })
      yield* keys.update(usedAndDisabled.id, { disabled: true })
      // A management key has looked at it.
      yield* keys.read(disabled.id)
      store.clock.advance(1000)
      const all = [unknown, deleted.secret, disabled.secret, usedAndDisabled.secret, expired.secret]
      const readsOf = function* (secret: Redacted.Redacted) {
        const before = store.reads.length
        const accepted = yield* tries(secret)
        return [accepted, store.reads.length - before] as const
      }
      for (const secret of all) {
        expect(yield* Effect.gen(() => readsOf(secret))).toEqual([false, 1])
        for (let again = 0; again < 3; again++) expect(yield* Effect.gen(() => readsOf(secret))).toEqual([false, 0])
      }
      store.clock.advance(2000)
      for (const secret of all) expect(yield* Effect.gen(() => readsOf(secret))).toEqual([false, 1])
      // A change is in force at once.
      yield* keys.update(disabled.id, { disabled: false })
      expect(yield* tries(disabled.secret)).toBe(true)
    }),
  )
})

test("a key that is made while a read of it runs is accepted at once", async () => {
  const store = counted()
  await store.run(
    Effect.gen(function* () {
      const keys = yield* KeyStore
      // Nobody knows a key before it is made, so another one is made in between: all that was read before counts for nothing.
      const release = store.hold()
      const unknown = Redacted.make(makeSecret("ordinary"))
      const trying = yield* Effect.fork(tries(unknown))
      while (store.reads.length === 0) yield* Effect.promise(() => Bun.sleep(1))
      const { secret } = yield* keys.create({ kind: "ordinary", name: "n" })
      release()
      expect(yield* trying).toBe(false)
      expect(store.reads.length).toBe(2)
      expect(yield* tries(secret)).toBe(true)
    }),
  )
})

test("many forged keys at once: eight are read, some wait, the rest is refused, and a key that is known waits for none", async () => {
  const store = counted()
  await store.run(
    Effect.gen(function* () {
      const keys = yield* KeyStore
      const { secret } = yield* keys.create({ kind: "ordinary", name: "n" })
      expect(yield* tries(secret)).toBe(true)
      const release = store.hold()
      const failures: Array<string> = []
      const forged = yield* Effect.fork(
        Effect.forEach(
          Array.from({ length: 400 }, () => Redacted.make(makeSecret("ordinary"))),
          (one) => Effect.map(Effect.flip(keys.authenticate(one)), ({ _tag }) => failures.push(_tag)),
          { concurrency: "unbounded" },
        ),
      )
      while (failures.length < 400 - 264) yield* Effect.promise(() => Bun.sleep(1))
      expect(new Set(failures)).toEqual(new Set(["Unavailable"]))
      expect(yield* tries(secret)).toBe(true)
      release()
      yield* forged
      expect(failures.filter((tag) => tag === "KeyNotAccepted").length).toBe(264)
      expect(store.most()).toBe(8)
    }),
  )
})

describe("many requests at once with one key that is not in memory, as after a start", () => {
  const asMany = (secret: Redacted.Redacted) =>
    Effect.forEach(
      Array.from({ length: 400 }),
      () => Effect.either(Effect.flatMap(KeyStore, (keys) => keys.authenticate(secret))),
      { concurrency: "unbounded" },
    )
  const forgotten = Effect.gen(function* () {
    const keys = yield* KeyStore
    const { secret, record } = yield* keys.create({ kind: "ordinary", name: "n" })
    yield* keys.update(record.id, { name: "m" })
    return secret
  })

  test("were refused but for 264 of them: they are one read, and all are answered", async () => {
    const store = counted()
    await store.run(
      Effect.gen(function* () {
        const secret = yield* forgotten
        const before = store.reads.length
        const release = store.hold()
        const asked = yield* Effect.fork(asMany(secret))
        while (store.reads.length === before) yield* Effect.promise(() => Bun.sleep(1))
        release()
        expect((yield* asked).every(Either.isRight)).toBe(true)
        expect(store.reads.length).toBe(before + 1)
      }),
    )
  })

  test("are refused together, by one read, where it is forged", async () => {
    const store = counted()
    await store.run(
      Effect.gen(function* () {
        const answers = yield* asMany(Redacted.make(makeSecret("ordinary")))
        const refused = answers.filter((one) => Either.isLeft(one) && one.left._tag === "KeyNotAccepted")
        expect([refused.length, store.reads.length]).toEqual([400, 1])
      }),
    )
  })

  test("do not end with the one that reads", async () => {
    const store = counted()
    await store.run(
      Effect.gen(function* () {
        const secret = yield* forgotten
        const before = store.reads.length
        const release = store.hold()
        const first = yield* Effect.fork(tries(secret))
        while (store.reads.length === before) yield* Effect.promise(() => Bun.sleep(1))
        const others = yield* Effect.fork(asMany(secret))
        yield* Effect.promise(() => Bun.sleep(1))
        expect(Exit.isInterrupted(yield* Fiber.interrupt(first))).toBe(true)
        release()
        expect((yield* others).every(Either.isRight)).toBe(true)
      }),
    )
  })
})
