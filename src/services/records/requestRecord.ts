/** What is kept of a request that is over. No text that its caller wrote, but for names of models and apps, and ids. Pure. */
import type { RoutingExhausted } from "../../domain/failures/Failure.ts"
import type { KeyRecord } from "../../domain/keys/key.ts"
import { formRoutes, ofModel, routeName } from "../../domain/request/forms.ts"
import { isModelName } from "../../domain/request/modelName.ts"
import { userHash } from "../../domain/request/userHash.ts"
import { routedOfExcluded } from "../../domain/routing/routed.ts"
import { connectionFault, faultOf } from "../calls/callFault.ts"
import type { ObservedAttempt } from "../request/Observation.ts"
import type { RequestEnd } from "../request/RequestEnds.ts"
import type { EndFailure } from "../request/ServedRequest.ts"
import type { RecordedAttempt, RecordedTimes, RequestRecord } from "../storage/requests.ts"

/** Method and path of the requests that are kept: those of the data plane. */
const dataRoutes: ReadonlySet<string> = new Set([
  ...[...formRoutes.values()].flat().map(({ method, path }) => routeName(method, path)),
  "POST /api/v1/messages/count_tokens",
  routeName("POST", ofModel("countTokens")),
  "POST /api/v1/route/explain",
  "GET /api/v1/responses",
])

/** The end of a request whose key is known. */
export type KnownEnd = RequestEnd & { readonly key: KeyRecord }

export const isOfDataPlane = ({ route }: RequestEnd): boolean => dataRoutes.has(route)

/** Whether the ledger does not tell all of it, so that it gets a record. */
export const isRecorded = (end: RequestEnd): end is KnownEnd =>
  end.key !== null && (end.row === null || end.outcome !== "ok" || end.status !== 200) && isOfDataPlane(end)

/** Whether it failed before its caller was known. */
export const isOfUnknown = ({ key, failure }: RequestEnd): boolean => key === null && failure !== null

/** `installation`: its id, which user names are hashed with. `requests`: how many it stands for. */
export const recordOf = (end: KnownEnd, installation: string, requests: number): RequestRecord => ({
  requestId: end.requestId,
  generationId: end.generationId,
  callerRequestId: end.callerRequestId,
  createdAt: end.times.receivedAt,
  key: end.key.id,
  appTitle: end.app?.appTitle ?? "",
  appUrl: end.app?.appUrl ?? "",
  userHash: end.user === null ? "" : userHash(installation, end.user),
  route: end.route,
  form: end.form,
  model: shownModel(end),
  host: end.host,
  status: end.status,
  outcome: end.outcome,
  why: whyOf(end.failure),
  streamed: end.isStreamed,
  attempts: attemptsOf(end),
  times: timesOf(end),
  durationMs: rounded(end.times.ended),
  bytesIn: end.bytes.in,
  bytesOut: end.bytes.out,
  strategy: end.strategy,
  seed: end.seed,
  routed: routedIn(end),
  address: end.address,
  requests,
})

/** `null`: there is none, or it cannot be the name of a model. */
export const shownModel = ({ model }: RequestEnd): string | null =>
  model !== null && isModelName(model) ? model : null

/** Of a request that every host was excluded for, those hosts. */
const routedIn = ({ routed, failure }: RequestEnd): string =>
  failure !== null && failure !== "defect" && failure._tag === "NoHostMatches"
    ? routedOfExcluded(failure.excluded)
    : routed

/** Characters. */
const mostWhy = 500
const mostAttempts = 16

/** Milliseconds with one decimal. */
export const rounded = (ms: number): number => Math.round(ms * 10) / 10

export const attemptsOf = ({ attempts }: RequestEnd): ReadonlyArray<RecordedAttempt> =>
  attempts.slice(0, mostAttempts).map(attemptOf)

/** Outcomes of calls whose hosts had not answered. */
const unanswered: ReadonlySet<string> = new Set(["abandoned", "lost"])

const attemptOf = ({ host, outcome, failure, began, ended }: ObservedAttempt): RecordedAttempt => ({
  model: host.model,
  host: host.tag,
  outcome: failure?.reason ?? outcome,
  status: failure === undefined ? (unanswered.has(outcome) ? null : 200) : (failure.status ?? null),
  ms: rounded(ended - began),
  ...faultOf(failure),
})

const timesOf = ({ times: { receivedAt: _, ended: __, ...times } }: RequestEnd): RecordedTimes => {
  const reached: { -readonly [M in keyof RecordedTimes]: RecordedTimes[M] } = {}
  for (const name of ["admitted", "firstAttempt", "firstToken", "firstByte", "lastByte", "booked"] as const) {
    const at = times[name]
    if (at !== null) reached[name] = rounded(at)
  }
  return reached
}

/** Why it failed, in the gateway's own words; "": nothing more than its outcome says. */
export const whyOf = (failure: EndFailure | null): string => reasonOf(failure).slice(0, mostWhy)

/**
 * The message of a refused body may quote a value, so only the place of the fault is kept. The
 * message about excluded hosts may quote a parameter, so only the names of the rules that excluded them are kept.
 */
const reasonOf = (failure: EndFailure | null): string => {
  if (failure === null || failure === "defect") return ""
  if (failure._tag === "NoHostMatches") return [...new Set(failure.excluded.map(({ by }) => by))].join(", ")
  if (failure._tag === "RoutingExhausted") return [failure.message, ...connectionFaults(failure)].join(" ")
  if (failure._tag !== "BadRequest") return failure.message
  const [{ path }] = failure.issues
  return placeOf(path)
}

/** A sentence for each host that could not be reached, if the reason is known. */
const connectionFaults = ({ attempts }: RoutingExhausted): ReadonlyArray<string> =>
  attempts.flatMap(({ host, failure }) => {
    const fault = connectionFault(failure)
    return fault === undefined ? [] : [`${host}: ${fault}.`]
  })

/** Members whose own members are named by the caller. */
const open = new Set(
  "metadata logit_bias parameters properties schema input_schema json_schema arguments input headers env definitions $defs".split(
    " ",
  ),
)

/** The path up to the first name that the caller may have made up. */
const placeOf = (path: string): string => {
  let place = ""
  for (const [step, name] of path.matchAll(/\[\d{1,9}\]|\.?([a-z][a-z0-9_]{0,31})(?=[.[]|$)|./g)) {
    if (name === undefined && !/^\[\d/.test(step)) return `${place}…`
    place += step
    if (name !== undefined && open.has(name)) return place
  }
  return place
}
