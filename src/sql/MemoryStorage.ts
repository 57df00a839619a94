/** `Storage` in memory: the same tables and statements as in a file, in this process and without a thread. */
import { Database } from "bun:sqlite"
import type * as Layer from "effect/Layer"
import type { Storage } from "../services/Storage.ts"
import { layerOf } from "./inProcessStorage.ts"

/** Each build of the layer has its own database, which is gone when the scope closes. */
export const layer: Layer.Layer<Storage> = layerOf(() => new Database(":memory:"))
