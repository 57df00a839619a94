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
const finished = <A, E>(effect: Effect.Effect<A, E>): Exit.Exit<A, E> | undefined => {
  // An `Effect<A, E>` that is an `Exit` or `Either` has the same A and E, which the guards do not know.
  if (Exit.isExit(effect)) return effect as Exit.Exit<A, E>
  if (!Either.isEither(effect)) return undefined
  const either = effect as Either.Either<A, E>
  return Either.isRight(either) ? Exit.succeed(either.right) : Exit.fail(either.left)
}

/** What `yield*` takes in steps. */
export interface Reading<A, E = never> {
  [Symbol.iterator](): Iterator<YieldWrap<Effect.Effect<A, E>>, A, never>
}

/** A value that is there: an iterator that has ended, and its own result, so that reading it takes one object. */
class Ready<A> implements Reading<A> {
  readonly done = true
  readonly value: A
  constructor(value: A) {
    this.value = value
  }
  [Symbol.iterator](): this {
    return this
  }
  next(): this {
    return this
  }
}

/** The effect's value. Where it is finished, `yield* read(effect)` does not leave the steps as `yield* effect` does. */
export const read = <A, E>(effect: Effect.Effect<A, E>): Reading<A, E> => {
  if (Either.isEither(effect)) {
    // An `Effect<A, E>` that is an `Either` has the same A and E, which the guard does not know.
    const either = effect as Either.Either<A, E>
    return Either.isRight(either) ? new Ready(either.right) : effect
  }
  return Exit.isExit(effect) && Exit.isSuccess(effect) ? new Ready(effect.value as A) : effect
}

/** Like `Effect.merge`: the effect's value or its failure, read like a value. */
export const readMerged = <A, E>(effect: Effect.Effect<A, E>): Reading<A | E> => {
  if (Either.isEither(effect)) return new Ready(Either.merge(effect as Either.Either<A, E>))
  if (!Exit.isExit(effect)) return Effect.merge(effect)
  const exit = effect as Exit.Exit<A, E>
  if (Exit.isSuccess(exit)) return new Ready(exit.value)
  const failure = Cause.failureOrCause(exit.cause)
  return Either.isLeft(failure) ? new Ready(failure.left) : Exit.failCause(failure.right)
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

  return { steps: (steps, onExit) => new Run(effect, steps, onExit).resume(Exit.void), effect }
}

/** Steps while they run. */
class Run<A, E> {
  private readonly run: StepRunner["effect"]
  private readonly steps: Steps<A, E>
  private readonly onExit: (exit: Exit.Exit<A, E>) => void
  /** The outcome of the last step while `advance` was running. The loop continues with it, without recursion. */
  private ready: Exit.Exit<unknown, E> | undefined
  private isRunning = false

  constructor(run: StepRunner["effect"], steps: Steps<A, E>, onExit: (exit: Exit.Exit<A, E>) => void) {
    this.run = run
    this.steps = steps
    this.onExit = onExit
  }

  readonly resume = (exit: Exit.Exit<unknown, E>): void => {
    this.ready = exit
    if (!this.isRunning) this.advance()
  }

  private advance(): void {
    this.isRunning = true
    while (this.ready !== undefined) {
      const end = this.step(this.ready)
      if (end === undefined) continue
      this.onExit(end)
      return
    }
    this.isRunning = false
  }

  /** Continues with the outcome of the last step. Returns the end of the steps, `undefined` before it. */
  private step(last: Exit.Exit<unknown, E>): Exit.Exit<A, E> | undefined {
    this.ready = undefined
    if (Exit.isFailure(last)) return Exit.failCause(last.cause)
    let next: IteratorResult<YieldWrap<Effect.Effect<unknown, E>>, A>
    try {
      // The generator gets the value of its own `yield*`, which the types do not express.
      next = this.steps.next(last.value as never)
    } catch (defect) {
      return Exit.die(defect)
    }
    if (next.done === true) return Exit.succeed(next.value)
    this.run(yieldWrapGet(next.value), this.resume)
    return undefined
  }
}
