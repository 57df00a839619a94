/**
 * Work for a request in steps, without a fiber of its own. A step is a method that asks a service something (`ask`, `after`) and names the
 * method that goes on with the answer: at once where the service has finished already, else when it is done. A class has its steps in the
 * order in which they run. What it holds between two steps is a field. It is an effect, which can be run once. See
 * docs/decisions/0064-a-request-is-an-object.md.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import { type EffectRunner, makeEffectRunner, type OnExit, Startable } from "./EffectRunner.ts"

/** `E`: what a step may fail with. `Out`: what all of them together may. */
export abstract class StepByStep<A, E, Out = E> extends Startable<A, Out> {
  private runner: EffectRunner | undefined
  private onExit: OnExit<A, Out> | undefined
  /** While it waits for an effect: the step that goes on, and whether it looks before that. */
  private next: ((value: never) => void) | undefined
  private looks = false
  private onDone: OnExit<unknown, E> | undefined

  /** The first step. */
  protected abstract begin(): void
  /** A step has failed, or has thrown. */
  protected abstract failed(cause: Cause.Cause<E>): void
  /** Looks whether the caller is still there. */
  protected abstract look(): void

  override startBy(runner: EffectRunner, onExit: OnExit<A, Out>): void {
    this.runner = runner
    this.onExit = onExit
    try {
      this.begin()
    } catch (defect) {
      this.failed(Cause.die(defect))
    }
  }

  /** In an app of Effect it runs what it asks for in the context of the fiber that waits for it. */
  override commit(): Effect.Effect<A, Out> {
    return Effect.flatMap(Effect.runtime<never>(), (runtime) =>
      Effect.async<A, Out>((resume) => this.startBy(makeEffectRunner(runtime), resume)),
    )
  }

  /** Goes on with `next` once the effect has succeeded. */
  protected after<B>(effect: Effect.Effect<B, E>, next: (value: B) => void): void {
    if (!this.wentOnAtOnce(effect, next)) this.wait(effect, next, false)
  }

  /** The same for a service that is rarely waited for. Where it is, the caller may have left meanwhile. */
  protected ask<B>(effect: Effect.Effect<B, E>, next: (value: B) => void): void {
    if (!this.wentOnAtOnce(effect, next)) this.wait(effect, next, true)
  }

  protected succeed(value: A): void {
    this.end(Exit.succeed(value))
  }

  protected fail(error: E): void {
    this.failed(Cause.fail(error))
  }

  /** Only the first call counts. */
  protected end(exit: Exit.Exit<A, Out>): void {
    const { onExit } = this
    this.onExit = undefined
    onExit?.(exit)
  }

  /** Goes on at once where the effect is finished. Its types are those of the `Either` or `Exit` that it is, which the guards do not know. */
  private wentOnAtOnce<B>(effect: Effect.Effect<B, E>, next: (value: B) => void): boolean {
    if (Either.isEither(effect)) {
      const either = effect as Either.Either<B, E>
      if (Either.isRight(either)) next.call(this, either.right)
      else this.fail(either.left)
      return true
    }
    if (!Exit.isExit(effect)) return false
    const exit = effect as Exit.Exit<B, E>
    if (Exit.isSuccess(exit)) next.call(this, exit.value)
    else this.failed(exit.cause)
    return true
  }

  private wait<B>(effect: Effect.Effect<B, E>, next: (value: B) => void, looks: boolean): void {
    this.next = next
    this.looks = looks
    // One for all steps, since most requests wait two or three times.
    this.onDone ??= (exit) => this.resume(exit)
    this.runner?.run(effect, this.onDone)
  }

  private resume(exit: Exit.Exit<unknown, E>): void {
    try {
      if (this.looks) this.look()
      // Of the effect that has ended. The types do not know which one that is.
      if (Exit.isSuccess(exit)) this.next?.(exit.value as never)
      else this.failed(exit.cause)
    } catch (defect) {
      this.failed(Cause.die(defect))
    }
  }
}
