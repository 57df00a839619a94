/** Loops in the background that go on after a defect. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { logEvent } from "../../process/log/logEvent.ts"
import { Streak } from "./Outage.ts"

/**
 * For the rounds of one loop. A defect, such as one of the storage, ends the round in which it occurs (with `undefined`), and not the
 * loop. Of defects in consecutive rounds only the first is logged: `a defect in ${what}`.
 */
export const survivingDefects = (what: string) => {
  const streak = new Streak()
  return <A, E>(round: Effect.Effect<A, E>): Effect.Effect<A | undefined, E> =>
    round.pipe(
      Effect.tap(() => Effect.sync(() => streak.ended())),
      Effect.catchAllDefect((defect) =>
        Effect.as(streak.failed(logEvent("background_defect", { what }, defect)), undefined),
      ),
    )
}

/** Runs an effect for each value in turn, also after a defect of one. Of several defects the first one is that of the whole. */
export const forEachToItsEnd = <A>(
  values: ReadonlyArray<A>,
  run: (value: A) => Effect.Effect<unknown>,
): Effect.Effect<void> =>
  Effect.flatMap(
    Effect.forEach(values, (value) => Effect.exit(run(value))),
    (exits): Exit.Exit<void> => exits.find(Exit.isFailure) ?? Exit.void,
  )
