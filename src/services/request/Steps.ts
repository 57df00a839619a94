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

type OnExit<A, E> = (exit: Exit.Exit<A, E>) => void

/** An effect that ends when `resume` is called, possibly within `register`; only the first call counts. It cannot be interrupted. */
export abstract class Wait<A, E = never> extends Effectable.Class<A, E> {
  abstract register(resume: OnExit<A, E>): void

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

/** What `yield*` in steps takes, and gives an `A` for. */
export interface Yieldable<A, E = never> {
  [Symbol.iterator](): Iterator<YieldWrap<Effect.Effect<A, E>>, A, never>
}

/** A value for `yield*`. The iterable, its iterator and the iterator's result are one object, since many are made per request. */
class KnownValue<A> implements Yieldable<A> {
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

/** The effect's value, as `yield* effect` gives it. Of one that has succeeded already, without yielding to the runner. */
export const unwrap = <A, E>(effect: Effect.Effect<A, E>): Yieldable<A, E> => {
  if (Either.isEither(effect)) {
    // An `Effect<A, E>` that is an `Either` has the same A and E, which the guard does not know.
    const either = effect as Either.Either<A, E>
    return Either.isRight(either) ? new KnownValue(either.right) : effect
  }
  return Exit.isExit(effect) && Exit.isSuccess(effect) ? new KnownValue(effect.value as A) : effect
}

/** The effect's value or its failure, like `Effect.merge`. Of one that is finished already, without yielding to the runner. */
export const valueOrFailure = <A, E>(effect: Effect.Effect<A, E>): Yieldable<A | E> => {
  if (Either.isEither(effect)) return new KnownValue(Either.merge(effect as Either.Either<A, E>))
  if (!Exit.isExit(effect)) return Effect.merge(effect)
  const exit = effect as Exit.Exit<A, E>
  if (Exit.isSuccess(exit)) return new KnownValue(exit.value)
  const failure = Cause.failureOrCause(exit.cause)
  return Either.isLeft(failure) ? new KnownValue(failure.left) : Exit.failCause(failure.right)
}

/** Whether an effect is finished, so that yielding it does not wait. */
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

// Runs tasks within the event that woke the fiber, and never yields: no step of a request computes for long.
const atOnce: Scheduler = {
  shouldYield: () => false,
  scheduleTask: (task) => task(),
}

const register = <A, E>(wait: Wait<A, E>, onExit: OnExit<A, E>): void => {
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
  readonly steps: <A, E>(steps: Steps<A, E>, onExit: OnExit<A, E>) => void
  /** Runs an effect in the same way. The returned function interrupts the fiber, if one was started. */
  readonly effect: <A, E>(effect: Effect.Effect<A, E>, onExit: OnExit<A, E>) => () => void
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

  return { steps: (steps, onExit) => new RunningSteps(effect, steps, onExit).resume(Exit.void), effect }
}

/** The loop that runs the steps of one request. */
class RunningSteps<A, E> {
  private readonly runEffect: StepRunner["effect"]
  private readonly steps: Steps<A, E>
  private readonly onExit: OnExit<A, E>
  /** The outcome of the last step, until `advance` takes it. So a step that ends at once takes no recursion. */
  private outcome: Exit.Exit<unknown, E> | undefined
  private isRunning = false

  constructor(runEffect: StepRunner["effect"], steps: Steps<A, E>, onExit: OnExit<A, E>) {
    this.runEffect = runEffect
    this.steps = steps
    this.onExit = onExit
  }

  readonly resume: OnExit<unknown, E> = (exit) => {
    this.outcome = exit
    if (!this.isRunning) this.advance()
  }

  private advance(): void {
    this.isRunning = true
    while (this.outcome !== undefined) {
      const end = this.step(this.outcome)
      if (end === undefined) continue
      this.onExit(end)
      return
    }
    this.isRunning = false
  }

  /** Gives the generator the outcome of its last step. Returns the outcome of all steps; `undefined`: there are more. */
  private step(last: Exit.Exit<unknown, E>): Exit.Exit<A, E> | undefined {
    this.outcome = undefined
    if (Exit.isFailure(last)) return Exit.failCause(last.cause)
    let next: IteratorResult<YieldWrap<Effect.Effect<unknown, E>>, A>
    try {
      // The generator gets the value of its own `yield*`, which the types do not express.
      next = this.steps.next(last.value as never)
    } catch (defect) {
      return Exit.die(defect)
    }
    if (next.done === true) return Exit.succeed(next.value)
    this.runEffect(yieldWrapGet(next.value), this.resume)
    return undefined
  }
}
