/**
 * Ends an attempt: settles or releases its hold, records the outcome for its host, and writes the log. Metrics and a
 * span of the attempt belong here. Called from request steps and from streams.
 */
import * as Cause from "effect/Cause"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { AnswerOutcome, Charge } from "../domain/Charge.ts"
import type { ChatUsage } from "../domain/Chat.ts"
import { bytesOfTokens, tokensIn, tokensWritten } from "../domain/Estimate.ts"
import { HostFailed, type Unavailable } from "../domain/Failure.ts"
import type { Host } from "../domain/Host.ts"
import { parseUsage } from "../domain/Usage.ts"
import { PluginFault } from "../plugin/PluginFault.ts"
import type { AnswerContext } from "../wire/Protocol.ts"
import type { Attempt } from "./Attempt.ts"
import type { HostStats } from "./HostStats.ts"
import type { Settlement } from "./heldMoney.ts"
import type { Meter } from "./Meter.ts"
import { isOfKey, type ProviderKeys } from "./ProviderKeys.ts"
import type { LogIds, RequestContext } from "./RequestContext.ts"

/** An answer, or the part of it that came. */
export interface Delivered {
  readonly outcome: AnswerOutcome
  /** The failure of a host that broke off. */
  readonly failure?: HostFailed | undefined
  /** As the host sent it, unchecked. */
  readonly usage: ChatUsage | undefined
  readonly outputBytes: number
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
   * off by the gateway pays nothing. A deadline counts against a host that had most of the time.
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

export const makeEndAttempt = (
  meter: Context.Tag.Service<Meter>,
  stats: Context.Tag.Service<HostStats>,
  keys: Context.Tag.Service<ProviderKeys>,
  log: (effect: Effect.Effect<void>) => void,
): EndAttempt => {
  const blame = ({ context, host, permit, key }: Attempt, failure: HostFailed): void => {
    // A refused key says nothing of its host.
    if (key === undefined || !keys.failed(key, failure)) {
      stats.failed(host, failure)
      permit.failed(failure)
      context.conversation?.failed(host, failure)
    }
    if (key !== undefined && isOfKey(failure)) context.triedKeys = [...context.triedKeys, key.used.id]
    log(failureLog(context.logIds, host, failure, key?.key.label))
  }

  return {
    delivered: (attempt, { outcome, failure, usage, outputBytes, finishReason, areToolCallsSound, isAwaited }) => {
      const { context, host, hold, permit } = attempt
      if (failure !== undefined) blame(attempt, failure)
      else if (outcome === "finished") permit.succeeded()
      attempt.close()
      const durationMs = attempt.elapsedMs()
      const latencyMs = attempt.beganMs + (attempt.latencyMs ?? durationMs)
      const counted = parseUsage(usage)
      if (outcome === "finished") {
        const completionTokens = counted?.completionTokens ?? tokensIn(outputBytes)
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
        finishReason,
        latencyMs,
        isAwaited,
        isOwnFault,
      })
    },
    failed: (attempt, failure) => {
      blame(attempt, failure)
      attempt.close()
      meter.release(attempt.hold)
    },
    abandoned: (attempt) => {
      const { context, hold } = attempt
      if (wasTooSlow(attempt)) blame(attempt, tooSlow)
      attempt.close()
      if (context.lifetime.ending?._tag !== "CallerGone") {
        meter.release(hold)
        return Effect.void
      }
      return meter.settle(hold, unanswered("caller-gone", context))
    },
    lost: (attempt, { stream, maxTokens }, isSlow) => {
      const { context, host, hold } = attempt
      const elapsedMs = attempt.elapsedMs()
      // Without it the times of a host would look shorter the more of its slow answers are cut off.
      if (isSlow) stats.record(host, stream ? { latencyMs: elapsedMs } : { durationMs: elapsedMs })
      attempt.close()
      // A host writes a whole answer before it sends anything.
      const written = stream ? 0 : tokensWritten(stats.snapshot(host).throughput, elapsedMs)
      const outputBytes = bytesOfTokens(Math.min(written, maxTokens ?? written, host.maxCompletionTokens))
      return meter.settle(hold, { ...unanswered("lost", context), outputBytes })
    },
    unused: (attempt) => {
      attempt.close()
      meter.release(attempt.hold)
    },
  }
}

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

/** Whether the deadline came while the host had sent nothing, although it had most of the request's time. */
const wasTooSlow = (attempt: Attempt): boolean => {
  const { context } = attempt
  return context.lifetime.ending?._tag === "TimedOut" && attempt.elapsedMs() * 2 >= context.elapsedMs()
}

/**
 * The log line for a failed host. A fault of a plugin is logged as an error, since it does not go away by itself. The line
 * has nothing of the prompt or the answer, nor the host's own message (`detail`).
 */
export const failureLog = (ids: LogIds, host: Host, failure: HostFailed, key?: string): Effect.Effect<void> => {
  const { reason, status, code, cause } = failure
  const attempt = { ...ids, host: host.tag, model: host.model, ...(key === undefined ? {} : { key }) }
  if (cause instanceof PluginFault) {
    const { plugin, member, hook, message: problem, thrownAt } = cause
    return Effect.logError("a plugin made a mistake", { ...attempt, plugin, member, hook, problem, thrownAt })
  }
  const about = { ...attempt, reason, status, code }
  return cause === undefined
    ? Effect.logWarning("a host failed", about)
    : Effect.logWarning("a host failed", about, Cause.fail(cause))
}
