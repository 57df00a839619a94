/**
 * Ends an attempt: settles or releases its hold, records the outcome for its host, and writes the log. Metrics and a
 * span of the attempt belong here. Called from request steps and from streams.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import { HostFailed, type Unavailable } from "../../domain/failures/Failure.ts"
import type { HostReason } from "../../domain/failures/HostReason.ts"
import { type QuietEnd, verdictOn } from "../../domain/failures/Verdict.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import type { AnswerOutcome, Charge } from "../../domain/money/Charge.ts"
import { parseUsage } from "../../domain/price/Usage.ts"
import type { ChatUsage } from "../../domain/request/chat.ts"
import { bytesOfTokens, tokensIn, tokensWritten } from "../../domain/request/estimate.ts"
import { hiddenTokens } from "../../domain/request/hiddenTokens.ts"
import { allMedia, type MediaTokens } from "../../domain/request/MediaTokens.ts"
import { isUnaryName } from "../../domain/request/operations.ts"
import { PluginFault } from "../../plugin/checks/PluginFault.ts"
import type { AnswerContext } from "../../wire/Protocol.ts"
import { HostStats } from "../hosts/HostStats.ts"
import { isOfKey, ProviderKeys } from "../hosts/ProviderKeys.ts"
import type { Settlement } from "../money/heldMoney.ts"
import { Meter } from "../money/Meter.ts"
import type { RequestContext } from "../request/RequestContext.ts"
import { makeStepRunner } from "../request/Steps.ts"
import type { Attempt } from "./Attempt.ts"

/** An answer, or the part of it that came. */
export interface Delivered {
  readonly outcome: AnswerOutcome
  /** The failure of a host that broke off. */
  readonly failure?: HostFailed | undefined
  /** As the host sent it, unchecked. */
  readonly usage: ChatUsage | undefined
  /** `Answer.outputBytes` and `Answer.outputMedia`. */
  readonly outputBytes: number
  readonly outputMedia?: MediaTokens | undefined
  /** Whether the model's reasoning came as text, so that none of it is hidden. */
  readonly showsReasoning?: boolean | undefined
  /** `Answer.isUnfinished`. */
  readonly isUnfinished?: boolean | undefined
  readonly finishReason: string
  /** Of an answer to a request with tools: `Sample.areToolCallsSound`. */
  readonly areToolCallsSound?: boolean | undefined
  /** Whether the caller waits for the booking. */
  readonly isAwaited: boolean
}

/** What a call asked for that another one was faster than. */
export type LostRequest = Pick<AnswerContext["request"], "stream" | "maxTokens">

export interface EndAttempt {
  /** The host answered, in whole or in part: it is charged as its outcome says. */
  readonly delivered: (attempt: Attempt, delivered: Delivered) => Effect.Effect<Charge, Unavailable>
  /** It failed before anything reached the caller: costs nothing, and the next host may be tried. */
  readonly failed: (attempt: Attempt, failure: HostFailed) => void
  /**
   * The request was ended before the host sent anything. A caller who left pays for the prompt; a caller who was cut
   * off by the gateway pays nothing. A deadline counts against a host that had all of the time.
   */
  readonly abandoned: (attempt: Attempt) => Effect.Effect<void, Unavailable>
  /**
   * A call beside another one that was faster, or whose caller pays for that one: it is free to the key, and the ledger
   * keeps what the host asks for it. `isSlow`: its time so far counts as its time to the first event, or to the end of a whole
   * answer.
   */
  readonly lost: (attempt: Attempt, request: LostRequest, isSlow: boolean) => Effect.Effect<unknown, Unavailable>
  /** It was prepared, but its host is not called. */
  readonly unused: (attempt: Attempt) => void
}

export const makeEndAttempt: Effect.Effect<EndAttempt, never, Meter | HostStats | ProviderKeys> = Effect.gen(
  function* () {
    const meter = yield* Meter
    const stats = yield* HostStats
    const keys = yield* ProviderKeys
    const runner = makeStepRunner(yield* Effect.runtime<never>())
    const log = (line: Effect.Effect<void>) => void runner.effect(line, () => {})

    const hiddenBy = (attempt: Attempt, shown: number, most: number): number =>
      most === 0 ? 0 : hiddenTokens(attempt.elapsedMs(), stats.snapshot(attempt.host).throughput, shown, most)

    const blame = ({ context, host, permit, key }: Attempt, failure: HostFailed): void => {
      // A refused key says nothing of its host.
      if (key === undefined || !keys.failed(key, failure)) {
        stats.failed(host, failure)
        permit.failed(failure)
        context.conversation?.failed(host, failure)
      }
      // It ends the request, and is logged there.
      if (failure.reason === "defect") return
      if (key !== undefined && isOfKey(failure)) context.triedKeys = [...context.triedKeys, key.used.id]
      log(failureLog(context, host, failure, key?.key.label))
    }

    /** Logs, for debugging alone, that a request was sent twice because the host had closed a kept connection. That is usual, and no retry. */
    const tellResent = ({ context, host, resends }: Attempt): void => {
      if (resends === 0) return
      const about = { ...context.logIds, host: host.tag, model: host.model }
      log(Effect.logDebug("a request was sent again: the host had closed the kept connection", about))
    }

    return {
      delivered: (attempt, delivered) => {
        const { outcome, failure, usage, outputBytes, outputMedia, isUnfinished, areToolCallsSound } = delivered
        const { context, host, hold, permit } = attempt
        if (failure !== undefined) blame(attempt, failure)
        else if (verdictOn(quietEnd(outcome)).breaker === "success") permit.succeeded()
        attempt.close(outcome, failure)
        tellResent(attempt)
        const durationMs = attempt.elapsedMs()
        const latencyMs = attempt.beganMs + (attempt.latencyMs ?? durationMs)
        const counted = parseUsage(usage)
        const shown = tokensIn(outputBytes) + (outputMedia === undefined ? 0 : allMedia(outputMedia))
        const mostHidden = counted !== undefined || delivered.showsReasoning === true ? 0 : hold.mostHidden
        const hidden = hiddenBy(attempt, shown, mostHidden)
        if (outcome === "finished" && isUnfinished !== true) {
          // Where output may be hidden, an estimate of what was shown would make the host look slower than it is.
          const completionTokens = counted?.completionTokens ?? (mostHidden > 0 ? 0 : shown)
          stats.succeeded(host, { latencyMs: attempt.latencyMs, durationMs, completionTokens, areToolCallsSound })
          context.conversation?.succeeded(host, counted)
        } else if (failure === undefined && attempt.latencyMs !== undefined) {
          // Ended by the caller or by a limit of ours: the host had answered in time, and has neither failed nor finished.
          stats.record(host, { latencyMs: attempt.latencyMs })
        }
        const isOwnFault = failure === undefined
        return meter.settle(hold, {
          outcome,
          usage: counted,
          outputBytes,
          outputMedia,
          hiddenTokens: hidden,
          isUnfinished,
          finishReason: delivered.finishReason,
          latencyMs,
          isAwaited: delivered.isAwaited,
          isOwnFault,
        })
      },
      failed: (attempt, failure) => {
        blame(attempt, failure)
        attempt.close("failed", failure)
        tellResent(attempt)
        meter.release(attempt.hold)
      },
      abandoned: (attempt) => {
        const { context, hold } = attempt
        if (hadAllTheTime(attempt)) blame(attempt, tooSlow)
        attempt.close("abandoned")
        if (context.lifetime.ending?._tag !== "CallerGone") {
          meter.release(hold)
          return Effect.void
        }
        // Nothing of a whole answer is seen before all of it is there.
        const isWholeAnswer = !isUnaryName(context.operation) && !hold.streamed
        const mostHidden = isWholeAnswer ? Number.POSITIVE_INFINITY : hold.mostHidden
        const hidden = hiddenBy(attempt, 0, mostHidden)
        return meter.settle(hold, { ...unanswered("caller-gone", context), hiddenTokens: hidden })
      },
      lost: (attempt, { stream, maxTokens }, isSlow) => {
        const { context, host, hold } = attempt
        const elapsedMs = attempt.elapsedMs()
        // Without it the times of a host would look shorter the more of its slow answers are cut off.
        if (isSlow) stats.record(host, stream ? { latencyMs: elapsedMs } : { durationMs: elapsedMs })
        attempt.close("lost")
        // A host writes a whole answer before it sends anything.
        const written = stream ? 0 : tokensWritten(stats.snapshot(host).throughput, elapsedMs)
        const outputBytes = bytesOfTokens(Math.min(written, maxTokens ?? written, host.maxCompletionTokens))
        return meter.settle(hold, { ...unanswered("lost", context), outputBytes })
      },
      unused: (attempt) => {
        attempt.close(undefined)
        meter.release(attempt.hold)
      },
    }
  },
)

/** What is booked for an attempt whose host has sent nothing so far. */
const unanswered = (outcome: AnswerOutcome, context: RequestContext): Settlement => ({
  outcome,
  usage: undefined,
  outputBytes: 0,
  finishReason: "",
  latencyMs: context.elapsedMs(),
  isAwaited: false,
})

const tooSlow = new HostFailed({ reason: "timeout" })

/**
 * Whether the deadline came while the host had sent nothing, although it had the whole time of the request: nine tenths of it,
 * since admission takes some. A host that had less was called with what others had left of the time.
 */
const hadAllTheTime = (attempt: Attempt): boolean => {
  const { ending, allowedMs } = attempt.context.lifetime
  return ending?._tag === "TimedOut" && attempt.elapsedMs() >= 0.9 * allowedMs
}

/** An end without a failure of the host, in the words of `domain/failures/Verdict.ts`. */
const quietEnd = (outcome: AnswerOutcome): QuietEnd =>
  outcome === "finished" || outcome === "caller-gone" || outcome === "lost" ? outcome : "cut"

/**
 * The log line for a failed attempt. A fault of a plugin is logged as an error, since it does not go away by itself; a request
 * that a host found wrong is its caller's matter. The line has nothing of the prompt or the answer, nor the host's own message
 * (`detail`).
 */
export const failureLog = (
  { logIds, key: caller }: Pick<RequestContext, "logIds" | "key">,
  host: Host,
  failure: HostFailed,
  key?: string,
): Effect.Effect<void> => {
  const { reason, status, code, cause } = failure
  const attempt = { ...logIds, host: host.tag, model: host.model, ...(key === undefined ? {} : { key }) }
  if (cause instanceof PluginFault) {
    const { plugin, member, hook, message: problem, thrownAt } = cause
    return Effect.logError("a plugin made a mistake", { ...attempt, plugin, member, hook, problem, thrownAt })
  }
  const about = {
    ...attempt,
    reason,
    ...(status === undefined ? {} : { status }),
    ...(code === undefined ? {} : { code }),
  }
  if (reason === "request") {
    // The hash names the key in listings; a name is the operator's own word for it.
    const asked = { ...about, caller: caller.id, ...(caller.name === "" ? {} : { callerName: caller.name }) }
    return Effect.logInfo("a host refused a request", asked)
  }
  const text = ownTexts.get(reason) ?? "a host failed"
  return cause === undefined ? Effect.logWarning(text, about) : Effect.logWarning(text, about, Cause.fail(cause))
}

/** What is logged of failures that are not the host's. */
const ownTexts: ReadonlyMap<HostReason, string> = new Map<HostReason, string>([
  ["limit", "an answer is beyond a limit of the gateway"],
  ["shortage", "the gateway has no descriptors, memory or ports left"],
  ["unsendable", "a request could not be written"],
  ["cut-short", "a host was cut short by the deadline"],
])
