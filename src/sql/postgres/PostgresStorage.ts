/** `Storage` in a database of PostgreSQL. What it needs is loaded when the layer is built. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Say } from "../../process/withProgress.ts"
import { Storage } from "../../services/storage/Storage.ts"
import type { PostgresOpening } from "../opening.ts"
import type { StorageNotOpened } from "../StorageNotOpened.ts"

/** Makes the tables where they are absent. Several gateways may use one database. */
export const layer = (opening: PostgresOpening, say?: Say): Layer.Layer<Storage, StorageNotOpened> =>
  Layer.scoped(
    Storage,
    Effect.flatMap(
      Effect.promise(() => import("./postgresDatabase.ts")),
      ({ openDatabase }) => openDatabase(opening, undefined, say),
    ),
  )
