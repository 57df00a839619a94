/**
 * Effects without a fiber for each request. The steps of a request are a generator of effects, as in `Effect.gen`, and
 * most of them are already finished: an `Exit`, an `Either`. A `StepRunner` continues at once with those, registers a
 * callback for a `wait`, and starts a fiber only for other effects. The same generator also runs in `Effect.gen`, for
 * embedders.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Effectable from "effect/Effectable"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as FiberId from "effect/FiberId"
import * as FiberRef from "effect/FiberRef"
import * as Runtime from "effect/Runtime"
import type { Scheduler } from "effect/Scheduler"
import { type YieldWrap, yieldWrapGet } from "effect/Utils"

/** What a `function*` with `yield*` of effects returns. */
export type Steps<A, E = never> = Generator<YieldWrap<Effect.Effect<unknown, E>>, A, never>

type Register<A, E> = (resume: (exit: Exit.Exit<A, E>) => void) => void

class Wait<A, E> extends Effectable.Class<A, E> {
  readonly register: Register<A, E>
  constructor(register: Register<A, E>) {
    super()
    this.register = register
  }
  override commit(): Effect.Effect<A, E> {
    return Effect.async<A, E>((resume) => this.register(resume))
  }
}

/** An effect that ends when `resume` is called, once; possibly within `register`. It cannot be interrupted. */
export const wait = <A, E = never>(register: Register<A, E>): Effect.Effect<A, E> => new Wait(register)

/** The outcome of an effect that is already finished, else `undefined`. */
export const finished = <A, E>(effect: Effect.Effect<A, E>): Exit.Exit<A, E> | undefined => {
  // An `Effect<A, E>` that is an `Exit` or `Either` has the same A and E, which the guards do not know.
  if (Exit.isExit(effect)) return effect as Exit.Exit<A, E>
  if (!Either.isEither(effect)) return undefined
  const either = effect as Either.Either<A, E>
  return Either.isRight(either) ? Exit.succeed(either.right) : Exit.fail(either.left)
}

/** Whether an effect is finished, so that yielding it does not wait. */
export const isFinished = <A, E>(effect: Effect.Effect<A, E>): boolean => Exit.isExit(effect) || Either.isEither(effect)

/** Like `Effect.either`, but gives a finished effect for a finished one. */
export const eitherOf = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<Either.Either<A, E>> => {
  const exit = finished(effect)
  if (exit === undefined) return Effect.either(effect)
  if (Exit.isSuccess(exit)) return Exit.succeed(Either.right(exit.value))
  const failure = Cause.failureOrCause(exit.cause)
  return Either.isLeft(failure) ? Exit.succeed(Either.left(failure.left)) : Exit.failCause(failure.right)
}

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

// Runs tasks within the event that woke the fiber, and never yields: no step of a request computes for long.
const atOnce: Scheduler = {
  shouldYield: () => false,
  scheduleTask: (task) => task(),
}

const register = <A, E>(wait: Wait<A, E>, onExit: (exit: Exit.Exit<A, E>) => void): void => {
  let isOver = false
  const once = (exit: Exit.Exit<A, E>): void => {
    if (isOver) return
    isOver = true
    onExit(exit)
  }
  try {
    wait.register(once)
  } catch (defect) {
    once(Exit.die(defect))
  }
}

const nothingToInterrupt = (): void => {}

export interface StepRunner {
  /** Runs the steps to their end. `onExit` is called once, possibly before this returns. */
  readonly steps: <A, E>(steps: Steps<A, E>, onExit: (exit: Exit.Exit<A, E>) => void) => void
  /** Runs an effect in the same way. The returned function interrupts the fiber, if one was started. */
  readonly effect: <A, E>(effect: Effect.Effect<A, E>, onExit: (exit: Exit.Exit<A, E>) => void) => () => void
}

/** Runs steps and effects in the context of `runtime`: its logger, clock and tracer. */
export const makeStepRunner = (runtime: Runtime.Runtime<never>): StepRunner => {
  const fork = Runtime.runFork(Runtime.setFiberRef(runtime, FiberRef.currentScheduler, atOnce))

  const effect: StepRunner["effect"] = (effect, onExit) => {
    const exit = finished(effect)
    if (exit !== undefined) onExit(exit)
    else if (effect instanceof Wait) register(effect, onExit)
    else {
      const fiber = fork(effect)
      fiber.addObserver(onExit)
      return () => fiber.unsafeInterruptAsFork(FiberId.none)
    }
    return nothingToInterrupt
  }

  const steps: StepRunner["steps"] = <A, E>(steps: Steps<A, E>, onExit: (exit: Exit.Exit<A, E>) => void): void => {
    /** The outcome of the last step while `advance` was running. The loop continues with it, without recursion. */
    let ready: Exit.Exit<unknown, E> | undefined
    let isRunning = false

    const resume = (exit: Exit.Exit<unknown, E>): void => {
      ready = exit
      if (!isRunning) advance()
    }
    const advance = (): void => {
      isRunning = true
      while (ready !== undefined) {
        if (Exit.isFailure(ready)) {
          onExit(Exit.failCause(ready.cause))
          return
        }
        // The generator gets the value of its own `yield*`, which the types do not express.
        const sent = ready.value as never
        ready = undefined
        let next: IteratorResult<YieldWrap<Effect.Effect<unknown, E>>, A>
        try {
          next = steps.next(sent)
        } catch (defect) {
          onExit(Exit.die(defect))
          return
        }
        if (next.done === true) {
          onExit(Exit.succeed(next.value))
          return
        }
        effect(yieldWrapGet(next.value), resume)
      }
      isRunning = false
    }
    resume(Exit.void)
  }

  return { steps, effect }
}
