/** A request that is answered as a whole: its hosts in turn, then the charge. */
import type { Limits } from "../../catalogue/ResolvedConfig.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import type { Charge } from "../../domain/money/Charge.ts"
import type { AnyRequest } from "../../domain/request/operations.ts"
import type { Plan } from "../../domain/routing/Plan.ts"
import type { RequestContext } from "../request/RequestContext.ts"
import type { AnswerBody, AnswerRead, AnswerReader } from "./AnswerReader.ts"
import type { AnswerSettlement } from "./AnswerSettlement.ts"
import type { Attempt } from "./Attempt.ts"
import type { Begun, CallListener } from "./AttemptStart.ts"
import { wholeAnswerTimer } from "./attemptTimer.ts"
import { PartByPart } from "./batch/PartByPart.ts"
import { type AnswerCut, answerBeyondLimit } from "./beyondLimit.ts"
import type { Delivered } from "./EndAttempt.ts"
import { Failover, type FailoverServices } from "./Failover.ts"
import { WholeHostAnswer } from "./WholeHostAnswer.ts"

/** A whole answer, charged and in the ledger. */
export interface Completed {
  readonly host: Host
  /** The body in the client's format. */
  readonly body: AnswerBody
  /** Default: JSON. */
  readonly contentType?: string | undefined
  readonly charge: Charge
  /** Members of the request that were not sent to the host. */
  readonly dropped: ReadonlyArray<string>
}

/** Succeeds when the answer is charged and booked. */
export class WholeAnswer extends Failover<AnswerRead | AnswerCut, Completed> {
  private readonly settlement: AnswerSettlement
  private readonly reader: AnswerReader
  /** As they are when it begins. */
  private readonly limits: Limits
  /** Both set by the step `accept`, and read by later ones only. */
  private attempt!: Attempt
  private answer!: AnswerRead | AnswerCut

  constructor(
    services: FailoverServices,
    settlement: AnswerSettlement,
    context: RequestContext,
    request: AnyRequest,
    plan: Plan,
    reader: AnswerReader,
  ) {
    super(services, context, request, plan)
    this.settlement = settlement
    this.reader = reader
    this.limits = services.registry.current().limits
  }

  override call(begun: Begun, listener: CallListener<AnswerRead | AnswerCut>): void {
    const { batch } = begun.attempt
    if (batch === undefined) this.callOnce(begun, listener)
    else {
      const send = (part: Begun, parts: PartByPart) => this.callOnce(part, parts)
      send(begun, new PartByPart(this.services, begun, batch, send, listener))
    }
  }

  private callOnce(begun: Begun, listener: CallListener<AnswerRead | AnswerCut>): void {
    const { services, limits, reader } = this
    const timer = wholeAnswerTimer(services, limits, begun, this)
    new WholeHostAnswer(services.client, begun, limits.bodyBytes, reader, timer, listener).send()
  }

  protected override accept(answer: AnswerRead | AnswerCut, attempt: Attempt): void {
    this.attempt = attempt
    this.answer = answer
    const { delivered } = answer
    const read: Delivered = attempt.isReadOn ? { ...delivered, outcome: "caller-gone", isAwaited: false } : delivered
    this.after(this.services.endAttempt.delivered(attempt, read), this.booked)
  }

  private booked(charge: Charge): void {
    this.settlement.charged(charge)
    const { ending } = this.context.lifetime
    if (this.attempt.isReadOn && ending !== undefined) this.fail(ending)
    else this.complete(charge)
  }

  private complete(charge: Charge): void {
    const { attempt, answer } = this
    if ("beyond" in answer) this.fail(answerBeyondLimit(attempt, answer.beyond, charge))
    else {
      this.succeed({
        host: attempt.host,
        body: answer.write(charge),
        contentType: answer.contentType,
        charge,
        dropped: attempt.dropped,
      })
    }
  }
}
