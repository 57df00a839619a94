/** What follows from the cost of an answer, and how streams settle theirs. */
import * as Cause from "effect/Cause"
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type { ConfigInForce } from "../../catalogue/ProviderRegistry.ts"
import type { Unavailable } from "../../domain/failures/Failure.ts"
import type { HedgeBudget } from "../../domain/hosts/HedgeBudget.ts"
import type { Charge } from "../../domain/money/Charge.ts"
import { logEvent } from "../../process/log/logEvent.ts"
import type { EffectRunner } from "../request/EffectRunner.ts"
import type { TickTimers } from "../request/Timers.ts"
import type { StreamServices } from "./AnswerStream.ts"
import type { Delivered, EndAttempt } from "./EndAttempt.ts"
import type { HostAnswer } from "./HostAnswer.ts"
import type { ReadingOn } from "./ReadingOn.ts"

interface SettlementServices {
  readonly registry: ConfigInForce
  readonly timers: TickTimers
  readonly runner: EffectRunner
  readonly endAttempt: EndAttempt
  readonly hedges: HedgeBudget
  readonly readingOn: ReadingOn
  readonly log: (line: Effect.Effect<void>) => void
}

/** One for all answers of a gateway. */
export class AnswerSettlement implements StreamServices {
  readonly timers: TickTimers
  readonly readingOn: ReadingOn
  private readonly services: SettlementServices

  constructor(services: SettlementServices) {
    this.services = services
    this.timers = services.timers
    this.readingOn = services.readingOn
  }

  /** What hedging may cost is a share of what answers cost. */
  charged({ cost }: Charge): void {
    const { registry, hedges, timers } = this.services
    if (registry.current().routing.hedge.enabled !== false) hedges.charged(timers.now(), Number(cost.total))
  }

  settle(answer: HostAnswer, delivered: Delivered, onExit: (exit: Exit.Exit<Charge, Unavailable>) => void): void {
    const { runner, endAttempt } = this.services
    runner.run(endAttempt.delivered(answer.attempt, delivered), (exit) => {
      if (Exit.isSuccess(exit)) this.charged(exit.value)
      // A failure was logged by the ledger's writer.
      else if (Option.isNone(Cause.failureOption(exit.cause)))
        this.logDefect(answer.attempt.context.requestId, Cause.squash(exit.cause))
      onExit(exit)
    })
  }

  logDefect(requestId: string, cause: unknown): void {
    this.services.log(logEvent("stream_defect", { requestId }, cause))
  }
}
