/** Sends the parts of a batch, one after another. */
import * as Cause from "effect/Cause"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import { HostFailed } from "../../../domain/failures/Failure.ts"
import { addedBySign } from "../../calls/signedSecrets.ts"
import type { UpstreamClient } from "../../calls/UpstreamClient.ts"
import type { EffectRunner } from "../../request/EffectRunner.ts"
import { untilEnded } from "../../request/untilEnded.ts"
import type { AnswerRead } from "../AnswerReader.ts"
import { type Begun, type CallListener, unsigned } from "../AttemptStart.ts"
import type { AnswerCut } from "../beyondLimit.ts"
import type { Delivered } from "../EndAttempt.ts"
import type { Batch } from "./Batch.ts"

interface PartServices {
  readonly client: UpstreamClient
  readonly runner: EffectRunner
}

/** `send`: makes one call. `listener`: gets the joined answer, or the first failure. */
export class PartByPart implements CallListener<AnswerRead | AnswerCut> {
  private readonly services: PartServices
  private readonly begun: Begun
  private readonly batch: Batch
  private readonly send: (begun: Begun, listener: PartByPart) => void
  private readonly listener: CallListener<AnswerRead | AnswerCut>

  constructor(
    services: PartServices,
    begun: Begun,
    batch: Batch,
    send: (begun: Begun, listener: PartByPart) => void,
    listener: CallListener<AnswerRead | AnswerCut>,
  ) {
    this.services = services
    this.begun = begun
    this.batch = batch
    this.send = send
    this.listener = listener
  }

  answered(_: Begun, answer: AnswerRead | AnswerCut | HostFailed): void {
    const { begun, batch, listener } = this
    if (answer instanceof HostFailed) listener.answered(begun, answer)
    else if ("beyond" in answer) listener.answered(begun, { ...answer, delivered: withAll(answer.delivered, batch) })
    else if (batch.isAnswered) listener.answered(begun, answer)
    else this.sendNext()
  }

  private sendNext(): void {
    const { begun, batch, services, listener } = this
    const { attempt, endpoint } = begun
    const { encoded } = batch
    attempt.callsAgain()
    const signing = services.client.signed(endpoint, encoded)
    services.runner.run(untilEnded(services.runner, attempt.context.lifetime, signing, unsigned), (exit) => {
      if (Exit.isSuccess(exit)) {
        attempt.signature = [...attempt.signature, ...addedBySign(encoded, exit.value)]
        this.send({ ...begun, encoded: exit.value }, this)
      } else {
        const failure = Cause.failureOrCause(exit.cause)
        const cause = Either.isLeft(failure) ? failure.left : new HostFailed({ reason: "defect", cause: failure.right })
        listener.answered(begun, cause)
      }
    })
  }
}

/** Adds the answered parts to an answer that exceeds a limit, because they are paid for too. */
const withAll = (delivered: Delivered, batch: Batch): Delivered => ({
  ...delivered,
  usage: batch.usageWith(delivered.usage),
})
