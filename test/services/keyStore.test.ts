/** A database that fails: the caller gets a 503, the log gets the reason. */
import { expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
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
