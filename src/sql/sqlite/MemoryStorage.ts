/**
 * `Storage` in memory: the same tables and statements as in a file, in this process and without a thread. What it needs is loaded
 * when the layer is built, since a gateway that serves from a file does without SQL in this thread.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Storage } from "../../services/storage/Storage.ts"

/** Each build of the layer has its own database, which is gone when the scope closes. */
export const layer: Layer.Layer<Storage> = Layer.unwrapEffect(
  Effect.promise(async () => {
    const [{ Database }, { layerOf }] = await Promise.all([import("bun:sqlite"), import("./inProcessStorage.ts")])
    return layerOf(() => new Database(":memory:"))
  }),
)
