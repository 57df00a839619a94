/**
 * Storage in memory that stays open when its gateway has stopped, so that a test can read what was booked meanwhile.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { layer as memoryStorage } from "../../src/sql/MemoryStorage.ts"

export const lastingStorage = Layer.unwrapEffect(
  Effect.gen(function* () {
    const neverClosed = yield* Scope.make()
    return Layer.succeedContext(yield* Layer.buildWithScope(memoryStorage, neverClosed))
  }),
)
