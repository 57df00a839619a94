/**
 * Storage in memory: one that ends with its gateway, and one that stays open when its gateway has stopped, so that a test can read
 * what was booked meanwhile.
 */
import { Database } from "bun:sqlite"
import { SqlClient } from "@effect/sql/SqlClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { layerOf } from "../../../src/sql/sqlite/inProcessStorage.ts"
import { makeClient } from "../../../src/sql/sqlite/sqliteClient.ts"
import { migrate } from "../../../src/sql/tables/migrations.ts"

/** An empty database with its tables. Making them takes as long as the rest of a gateway, so they are made once. */
const emptyTables = Effect.runSync(
  Effect.cached(
    Effect.suspend(() => {
      const db = new Database(":memory:")
      return Effect.orDie(
        Effect.map(Effect.provideServiceEffect(migrate, SqlClient, makeClient(db)), () => db.serialize()),
      )
    }),
  ),
)

/** Fails the test where a method is called with what could not be sent to the thread of a SQLite file. */
const withCloneable = <Repository extends object>(repository: Repository): Repository =>
  new Proxy(repository, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== "function") return member
      return (...parameters: ReadonlyArray<unknown>): unknown => {
        try {
          structuredClone(parameters)
        } catch (error) {
          // The gateway would log what is thrown here as a defect, and go on.
          queueMicrotask(() => {
            throw new Error(`${String(name)} of a repository is called with what cannot be cloned`, { cause: error })
          })
        }
        return Reflect.apply(member, target, parameters)
      }
    },
  })

const checked = (storage: typeof Storage.Service): typeof Storage.Service => ({
  ...storage,
  keys: withCloneable(storage.keys),
  sessions: withCloneable(storage.sessions),
  audit: withCloneable(storage.audit),
  freeRequests: withCloneable(storage.freeRequests),
  ledger: withCloneable(storage.ledger),
  journal: withCloneable(storage.journal),
  activity: withCloneable(storage.activity),
  analytics: withCloneable(storage.analytics),
  hostStats: withCloneable(storage.hostStats),
  prices: withCloneable(storage.prices),
  idempotency: withCloneable(storage.idempotency),
  alerts: withCloneable(storage.alerts),
  requests: withCloneable(storage.requests),
})

/** The same as the gateway's own storage in memory, which makes its tables anew: it ends with its scope. */
export const memoryStorage = Layer.unwrapEffect(
  Effect.map(emptyTables, (image) =>
    Layer.map(
      layerOf(() => Database.deserialize(image)),
      (context) => Context.make(Storage, checked(Context.get(context, Storage))),
    ),
  ),
)

export const lastingStorage = Layer.unwrapEffect(
  Effect.gen(function* () {
    const neverClosed = yield* Scope.make()
    return Layer.succeedContext(yield* Layer.buildWithScope(memoryStorage, neverClosed))
  }),
)
