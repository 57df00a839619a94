import * as Effect from "effect/Effect"

/** Lets other work of the event loop go first. */
export const otherWorkFirst: Effect.Effect<void> = Effect.async((resume) => {
  setImmediate(() => resume(Effect.void))
})
