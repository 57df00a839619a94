/**
 * Asks the other processes that use the database, and answers them. A question is a row that they hear of by a notice, or else when they
 * look, every two seconds. See docs/decisions/0084-live-requests-of-all-processes.md.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { type EffectRunner, makeEffectRunner } from "../request/EffectRunner.ts"
import { monotonic } from "../request/RequestContext.ts"
import type { LiveAnswer, LiveQuestion, LiveRepository, SharedRepositories } from "../storage/SharedRepositories.ts"
import type { StorageUnavailable } from "../storage/StorageUnavailable.ts"

/** What came of a question. */
export interface Answers {
  readonly contents: ReadonlyArray<string>
  /** Whether every process that has a lease has answered. */
  readonly isComplete: boolean
}

export interface Asking {
  readonly stop: string | null
  readonly withinMs: number
  /** Whether this answer is enough, and the others are not waited for. */
  readonly isEnough: (content: string) => boolean
}

/** How often answers are looked for, since notices may be lost, milliseconds. */
const lookEveryMs = 200

/** Questions that this process knows to have answered. */
const mostRemembered = 200

export class OtherProcesses {
  private readonly live: LiveRepository
  private readonly id: () => string
  private readonly answerTo: (stop: string | null) => string
  private readonly nowMs: () => number
  private readonly runner: EffectRunner
  /** By question: wakes those who wait for answers. */
  private readonly waiting = new Map<string, () => void>()
  private readonly answered = new Set<string>()

  private constructor(
    live: LiveRepository,
    id: () => string,
    answerTo: (stop: string | null) => string,
    nowMs: () => number,
    runner: EffectRunner,
  ) {
    this.live = live
    this.id = id
    this.answerTo = answerTo
    this.nowMs = nowMs
    this.runner = runner
  }

  /**
   * Answers until the scope closes. `id`: the name of this process in the database. `answerTo`: what it has to say to a question
   * (`LiveQuestion.stop`).
   */
  static readonly make = (
    { live, on }: Pick<SharedRepositories, "live" | "on">,
    id: () => string,
    answerTo: (stop: string | null) => string,
  ): Effect.Effect<OtherProcesses, never, Scope.Scope> =>
    Effect.gen(function* () {
      const runner = makeEffectRunner(yield* Effect.runtime<never>())
      const others = new OtherProcesses(live, id, answerTo, monotonic(yield* Effect.clock), runner)
      yield* on({
        asked: (question) => others.answer(question),
        answered: (question) => others.waiting.get(question)?.(),
      })
      return others
    })

  /** Waits until all have answered, one has said enough, or the time is over. */
  ask({ stop, withinMs, isEnough }: Asking): Effect.Effect<Answers, StorageUnavailable> {
    const question: LiveQuestion = { id: crypto.randomUUID(), stop }
    const until = this.nowMs() + withinMs
    const { live } = this
    const asked = Effect.gen(this, function* () {
      this.remember(question.id)
      const processes = yield* live.ask(this.id(), question)
      let answers: ReadonlyArray<LiveAnswer> = []
      while (processes.length > 0) {
        answers = yield* live.answers(question.id)
        const missing = processes.filter((name) => !answers.some(({ process }) => process === name))
        if (missing.length === 0 || answers.some(({ content }) => isEnough(content))) break
        const left = until - this.nowMs()
        if (left <= 0) return { contents: answers.map(contentOf), isComplete: false }
        yield* this.newsOrTime(question.id, Math.min(left, lookEveryMs))
      }
      return { contents: answers.map(contentOf), isComplete: true }
    })
    // What stays after a failure is removed with the next question.
    const over = Effect.zipRight(
      Effect.sync(() => this.waiting.delete(question.id)),
      Effect.ignore(live.close(question.id)),
    )
    return Effect.ensuring(asked, over)
  }

  private newsOrTime(question: string, ms: number): Effect.Effect<void> {
    const news = Effect.async<void>((resume) => {
      this.waiting.set(question, () => resume(Effect.void))
    })
    // A race waits for what it cannot interrupt, and who stops a request cannot be interrupted.
    return Effect.raceFirst(Effect.interruptible(news), Effect.interruptible(Effect.sleep(ms)))
  }

  /** Once: a question is heard of as long as it is open. */
  private answer({ id, stop }: LiveQuestion): void {
    if (this.answered.has(id)) return
    this.remember(id)
    const content = this.answerTo(stop)
    // Who asked goes without it, and says so.
    this.runner.run(Effect.ignore(this.live.answer(id, { process: this.id(), content })), () => {})
  }

  private remember(question: string): void {
    this.answered.add(question)
    for (const id of this.answered) {
      if (this.answered.size <= mostRemembered) break
      this.answered.delete(id)
    }
  }
}

const contentOf = ({ content }: LiveAnswer): string => content
