/** A running request: as `GET` of the running requests shows it, and as one process sends it to another. */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { KeyId } from "../../domain/ids.ts"
import type { Lifetime } from "../request/RequestContext.ts"

/**
 * - `receiving`: its body has not come, or is not read yet.
 * - `waiting`: its caller has nothing of an answer yet.
 * - `streaming`: a host's stream has begun.
 */
export const liveStates = ["receiving", "waiting", "streaming"] as const

const RunningRequest = Schema.Struct({
  requestId: Schema.String,
  /** Of its admission, Unix milliseconds by the clock of its process. */
  createdAt: Schema.Number,
  ageMs: Schema.Number,
  /** `null`: its caller is not known yet. */
  key: Schema.NullOr(KeyId),
  keyName: Schema.NullOr(Schema.String),
  /** Method and path. */
  route: Schema.String,
  form: Schema.NullOr(Schema.String),
  /** Of the host that is called, else the first that is asked for; `null`: it is not known yet. */
  model: Schema.NullOr(Schema.String),
  /** The tag of the host that was called last, or that answers; `null`: none was called. */
  host: Schema.NullOr(Schema.String),
  /** Whether its answer is asked for as a stream. */
  isStreamed: Schema.Boolean,
  state: Schema.Literal(...liveStates),
  /** For people: host name and process id. */
  process: Schema.String,
})

export type RunningRequest = typeof RunningRequest.Type

export interface LiveRequest extends RunningRequest {
  /** Whether it runs in the process that was asked. */
  readonly isHere: boolean
}

/** What runs in one process. */
const ProcessRequests = Schema.Struct({
  requests: Schema.Array(RunningRequest),
  /** Whether there are more. */
  isCut: Schema.Boolean,
})

export type ProcessRequests = typeof ProcessRequests.Type

const decode = Schema.decodeUnknownOption(Schema.parseJson(ProcessRequests))

export const encodeRequests: (running: ProcessRequests) => string = JSON.stringify

/** `undefined`: another version of the program wrote it. */
export const decodeRequests = (text: string): ProcessRequests | undefined => Option.getOrUndefined(decode(text))

/** `now`: Unix milliseconds. `undefined`: it was admitted just now, and nothing is known of it. */
export const runningRequest = (
  { request }: Lifetime,
  ageMs: number,
  now: number,
  process: string,
): RunningRequest | undefined => {
  if (request === undefined) return undefined
  const { requestId, key, route, form, models, isStreamed, context } = request
  const host = context?.calling?.host
  const age = Math.max(0, Math.round(ageMs))
  return {
    requestId,
    createdAt: now - age,
    ageMs: age,
    key: key?.id ?? null,
    keyName: key?.name ?? null,
    route,
    form,
    model: host?.model ?? models[0] ?? null,
    host: host?.tag ?? null,
    isStreamed,
    state: context?.isStreaming === true ? "streaming" : models.length === 0 ? "receiving" : "waiting",
    process,
  }
}
