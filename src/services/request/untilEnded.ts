/** Waits for code of a plugin or an embedder, which may never finish, no longer than the request lasts. */
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { Ending, Lifetime } from "./RequestContext.ts"
import { isFinished, type StepRunner, wait } from "./Steps.ts"

/** Runs an effect that may never end: it is interrupted when the request is ended, and fails with what `ended` makes of the reason. */
export const untilEnded = <A, E, E2>(
  runner: StepRunner,
  lifetime: Lifetime,
  effect: Effect.Effect<A, E>,
  ended: (ending: Ending) => E2,
): Effect.Effect<A, E | E2> => (isFinished(effect) ? effect : interruptedAtEnd(runner, lifetime, effect, ended))

const interruptedAtEnd = <A, E, E2>(
  runner: StepRunner,
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
    const interrupt = runner.effect(effect, (exit) => {
      lifetime.forget(giveUp)
      resume(exit)
    })
  })
