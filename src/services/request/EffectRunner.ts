/**
 * Runs effects without a fiber where none is needed: most effects on the way of a request are finished already (an `Exit`, an `Either`),
 * and most others only wait for a callback. See docs/decisions/0064-a-request-is-an-object.md.
 */
import * as Effect from "effect/Effect"
import * as Effectable from "effect/Effectable"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as FiberRef from "effect/FiberRef"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import type { Scheduler } from "effect/Scheduler"

export type OnExit<A, E = never> = (exit: Exit.Exit<A, E>) => void

export interface EffectRunner {
  /**
   * Runs an effect to its end. `onExit` is called once, possibly before this returns. The returned function interrupts the fiber, if one
   * was started.
   */
  readonly run: <A, E>(effect: Effect.Effect<A, E>, onExit: OnExit<A, E>) => () => void
}

/** An effect that a runner starts without a fiber. It cannot be interrupted. */
export abstract class Startable<A, E = never> extends Effectable.Class<A, E> {
  /** Starts it. `onExit` is called once, possibly before this returns. Does not throw. */
  abstract startBy(runner: EffectRunner, onExit: OnExit<A, E>): void
}

/** An effect that ends when `resume` is called, possibly within `register`; only the first call counts. */
export abstract class Wait<A, E = never> extends Startable<A, E> {
  abstract register(resume: OnExit<A, E>): void

  override startBy(_runner: EffectRunner, onExit: OnExit<A, E>): void {
    let isOver = false
    const once = (exit: Exit.Exit<A, E>): void => {
      if (isOver) return
      isOver = true
      onExit(exit)
    }
    try {
      this.register(once)
    } catch (defect) {
      once(Exit.die(defect))
    }
  }

  override commit(): Effect.Effect<A, E> {
    return Effect.async<A, E>((resume) => this.register(resume))
  }
}

class FunctionWait<A, E> extends Wait<A, E> {
  override readonly register: (resume: OnExit<A, E>) => void

  constructor(register: (resume: OnExit<A, E>) => void) {
    super()
    this.register = register
  }
}

/** A `Wait` whose `register` is this function. */
export const wait = <A, E = never>(register: (resume: OnExit<A, E>) => void): Effect.Effect<A, E> =>
  new FunctionWait(register)

/** The outcome of an effect that is already finished, else `undefined`. */
export const finished = <A, E>(effect: Effect.Effect<A, E>): Exit.Exit<A, E> | undefined => {
  // An `Effect<A, E>` that is an `Exit` or `Either` has the same A and E, which the guards do not know.
  if (Exit.isExit(effect)) return effect as Exit.Exit<A, E>
  if (!Either.isEither(effect)) return undefined
  const either = effect as Either.Either<A, E>
  return Either.isRight(either) ? Exit.succeed(either.right) : Exit.fail(either.left)
}

/** Whether an effect is finished, so that nobody has to wait for it. */
export const isFinished = <A, E>(effect: Effect.Effect<A, E>): boolean => Exit.isExit(effect) || Either.isEither(effect)

/** Like `Effect.map`, but gives a finished effect, and maps at once, for a finished one. */
export const mapOf = <A, E, B>(effect: Effect.Effect<A, E>, map: (value: A) => B): Effect.Effect<B, E> => {
  const exit = finished(effect)
  return exit === undefined ? Effect.map(effect, map) : Exit.map(exit, map)
}

/** Like `Effect.mapError`, but gives a finished effect for a finished one. */
export const mapErrorOf = <A, E, E2>(effect: Effect.Effect<A, E>, map: (error: E) => E2): Effect.Effect<A, E2> => {
  const exit = finished(effect)
  return exit === undefined ? Effect.mapError(effect, map) : Exit.mapError(exit, map)
}

// Runs tasks within the event that woke the fiber, and never yields: nothing that a request does computes for long.
const atOnce: Scheduler = {
  shouldYield: () => false,
  scheduleTask: (task) => task(),
}

const nothingToInterrupt = (): void => {}

/** Runs effects in the context of `runtime`: its logger, clock and tracer. */
export const makeEffectRunner = (runtime: Runtime.Runtime<never>): EffectRunner => {
  // `onExit` is told of a failure, which Effect would log for debugging besides, with whatever a plugin or a host put into it.
  const quiet = Runtime.setFiberRef(runtime, FiberRef.unhandledErrorLogLevel, Option.none())
  const fork = Runtime.runFork(Runtime.setFiberRef(quiet, FiberRef.currentScheduler, atOnce))
  const runner: EffectRunner = {
    run: (effect, onExit) => {
      const exit = finished(effect)
      if (exit !== undefined) onExit(exit)
      else if (effect instanceof Startable) effect.startBy(runner, onExit)
      else {
        const fiber = fork(effect)
        fiber.addObserver(onExit)
        return () => fiber.unsafeInterruptAsFork(FiberId.none)
      }
      return nothingToInterrupt
    },
  }
  return runner
}
