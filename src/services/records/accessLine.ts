/**
 * The line of the log for a request that is over. Its names are those of `GET /requests`, where that has them; what is not known is left
 * out. It has no text that the caller wrote, but for names of models and apps, and ids. Pure. See docs/reference/accessLog.md.
 */

import { withoutKeys } from "../../domain/json/redaction.ts"
import { isoTime } from "../../domain/keys/keyValues.ts"
import type { AccessFieldName } from "../../domain/log/accessFields.ts"
import { formatUsd } from "../../domain/price/money.ts"
import { overheadMs } from "../request/overhead.ts"
import type { RequestEnd } from "../request/RequestEnds.ts"
import type { RecordedAttempt } from "../storage/requests.ts"
import { attemptsOf, isOfDataPlane, rounded, shownModel, whyOf } from "./requestRecord.ts"

export type LogFields = Readonly<Record<string, unknown>>

/** Calls of hosts: a list where a line is JSON, and one text that people can read where it is not. */
class CalledHosts {
  private readonly attempts: ReadonlyArray<RecordedAttempt>

  constructor(attempts: ReadonlyArray<RecordedAttempt>) {
    this.attempts = attempts
  }

  toJSON() {
    return this.attempts.map(({ ms, fault, ...attempt }) => ({ ...attempt, duration_ms: ms, fault: fault ?? null }))
  }

  /** Host, status (or why there was none) and time of each: `acme/eu:429:120.4ms,acme/us:dns:5ms`. */
  toString(): string {
    return this.attempts
      .map(({ host, status, outcome, fault, ms }) => `${host}:${status ?? fault ?? outcome}:${ms}ms`)
      .join(",")
  }
}

/** Fields, but for those that are not known. */
class Known {
  readonly all: Record<string, unknown> = {}

  add(name: AccessFieldName, value: unknown): void {
    if (value !== null && value !== undefined && value !== "") this.all[name] = value
  }

  /** A text that the caller chose: it may be a key by mistake. */
  addChosen(name: AccessFieldName, text: string | null | undefined): void {
    if (text != null) this.add(name, withoutKeys(text))
  }
}

/** `requests`: how many requests the line stands for. */
export const accessLine = (end: RequestEnd, requests: number): LogFields => {
  const line = new Known()
  line.add("request_id", end.requestId)
  line.add("route", end.route)
  line.add("status", end.status)
  line.add("outcome", end.outcome)
  line.add("why", shownWhy(end))
  line.add("created_at", isoTime(end.times.receivedAt))
  line.add("duration_ms", rounded(end.times.ended))
  addCaller(line, end)
  addAnswer(line, end)
  line.add("bytes_in", end.bytes.in)
  line.add("bytes_out", end.bytes.out)
  if (requests > 1) line.add("requests", requests)
  return line.all
}

/** The place of a fault in a body of the management API is a name that its caller wrote. */
const shownWhy = (end: RequestEnd): string => {
  const { failure } = end
  const isQuoted = failure !== null && failure !== "defect" && failure._tag === "BadRequest" && !isOfDataPlane(end)
  return isQuoted ? "" : whyOf(failure)
}

const addCaller = (line: Known, { key, address, app, callerRequestId }: RequestEnd): void => {
  line.addChosen("key_name", key?.name)
  line.add("key_hash", key?.id)
  line.add("address", address)
  line.addChosen("caller_request_id", callerRequestId)
  line.addChosen("app_title", app?.appTitle)
  line.addChosen("app_url", app?.appUrl)
}

/** What only a request to a model has. */
const addAnswer = (line: Known, end: RequestEnd): void => {
  const { form, attempts, row, tokens, times } = end
  if (form === null) return
  line.add("form", form)
  line.add("streamed", end.isStreamed)
  line.addChosen("model", shownModel(end))
  line.add("host", end.host)
  if (attempts.length > 0) line.add("attempts", new CalledHosts(attemptsOf(end)))
  line.add("generation_id", end.generationId)
  line.add("tokens_prompt", tokens?.prompt)
  line.add("tokens_completion", tokens?.completion)
  if (row !== null) line.add("cost_usd", formatUsd(end.cost))
  if (times.firstToken !== null) line.add("first_token_ms", rounded(times.firstToken))
  const overhead = overheadMs(end)
  if (overhead !== null) line.add("overhead_ms", rounded(overhead))
}
