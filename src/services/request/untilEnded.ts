/** Waits for code of a plugin or an embedder, but no longer than the request lasts: such code may never finish. */
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { type EffectRunner, isFinished, wait } from "./EffectRunner.ts"
import type { Ending, Lifetime } from "./RequestContext.ts"

/** Runs an effect that may never end: it is interrupted when the request is ended, and fails with what `ended` makes of the reason. */
export const untilEnded = <A, E, E2>(
  runner: EffectRunner,
  lifetime: Lifetime,
  effect: Effect.Effect<A, E>,
  ended: (ending: Ending) => E2,
): Effect.Effect<A, E | E2> => (isFinished(effect) ? effect : interruptedAtEnd(runner, lifetime, effect, ended))

const interruptedAtEnd = <A, E, E2>(
  runner: EffectRunner,
  lifetime: Lifetime,
  effect: Effect.Effect<A, E>,
  ended: (ending: Ending) => E2,
): Effect.Effect<A, E | E2> =>
  wait<A, E | E2>((resume) => {
    if (lifetime.ending !== undefined) return resume(Exit.fail(ended(lifetime.ending)))
    const giveUp = () => {
      if (lifetime.ending !== undefined) resume(Exit.fail(ended(lifetime.ending)))
      interrupt()
    }
    lifetime.onEnd(giveUp)
    const interrupt = runner.run(effect, (exit) => {
      lifetime.forget(giveUp)
      resume(exit)
    })
  })
