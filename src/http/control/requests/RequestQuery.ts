/** What `GET /requests` is asked for. */
import * as Schema from "effect/Schema"
import { type RequestOutcome, requestOutcomes } from "../../../domain/failures/RequestOutcome.ts"
import { KeyId } from "../../../domain/ids.ts"
import { userHash } from "../../../domain/request/userHash.ts"
import type { RequestFilter } from "../../../services/storage/requests.ts"
import { hashOfUser, instant, keyHash, offset, optional, parameter, searched, wholeNumber } from "../query.ts"
import { positionForm } from "./position.ts"

/** A status, or all of a class: `404`, `4xx`. */
const statuses = parameter(
  Schema.Tuple(Schema.Number, Schema.Number),
  {
    rule: "a status such as 404, or a class such as 4xx",
    jsonSchema: { type: "string", pattern: "^[1-5]([0-9]{2}|xx)$" },
  },
  (written) => {
    if (/^[1-5]xx$/.test(written)) return [Number(written[0]) * 100, Number(written[0]) * 100 + 99] as const
    return /^[1-5]\d\d$/.test(written) ? ([Number(written), Number(written)] as const) : undefined
  },
)

const prefixOf = (outcome: string): string => outcome.split("_", 1)[0] ?? outcome

const prefixes = [...new Set(requestOutcomes.map(prefixOf))]

const failures = requestOutcomes.filter((one) => one !== "ok")

/** An outcome, all that begin with a word, or all but `ok`. */
const outcomes = parameter(
  Schema.Array(Schema.Literal(...requestOutcomes)),
  {
    rule: `failed, ${prefixes.join(", ")}, or one of ${failures.join(", ")}`,
    jsonSchema: { type: "string", enum: [...new Set(["failed", ...prefixes, ...requestOutcomes])] },
  },
  (written): ReadonlyArray<RequestOutcome> | undefined => {
    if (written === "failed") return failures
    const found = requestOutcomes.filter((one) => one === written || prefixOf(one) === written)
    return found.length === 0 ? undefined : found
  },
)

const requestId = parameter(
  Schema.String,
  { rule: "`next` of the page before", jsonSchema: { type: "string", pattern: "^[\\w-]{1,100}$" } },
  (written) => (/^[\w-]{1,100}$/.test(written) ? written : undefined),
)

/** A place in the order in which requests were written. */
const position = parameter(
  Schema.String,
  { rule: "the `position` of an earlier answer", jsonSchema: { type: "string", pattern: positionForm.source } },
  (written) => (positionForm.test(written) ? written : undefined),
)

const period = { from: optional(instant), to: optional(instant) }

export const RequestQuery = Schema.Struct({
  key_hash: optional(keyHash),
  /** Its title or its URL. */
  app: optional(searched),
  model: optional(searched),
  /** Its tag. */
  host: optional(searched),
  /** Its slug: requests at any of its hosts. */
  provider: optional(searched),
  status: optional(statuses),
  outcome: optional(outcomes),
  /** The end user that the request named. */
  user: optional(searched),
  /** The same as answers name it. With `user` too, both have to hold. */
  user_hash: optional(hashOfUser),
  ...period,
  after: optional(requestId),
  position: optional(position),
  limit: Schema.optionalWith(wholeNumber(1, 1000), { exact: true, default: () => 100 }),
}).annotations({ parseOptions: { errors: "all" } })

export const UnknownQuery = Schema.Struct({
  ...period,
  offset: Schema.optionalWith(offset, { exact: true, default: () => 0 }),
  limit: Schema.optionalWith(wholeNumber(1, 1000), { exact: true, default: () => 1000 }),
}).annotations({ parseOptions: { errors: "all" } })

/** No request has the hash "-". */
const userFilter = ({ user, user_hash }: typeof RequestQuery.Type, installation: string) => {
  if (user === undefined) return user_hash === undefined ? {} : { userHash: user_hash }
  const named = userHash(installation, user)
  return { userHash: user_hash === undefined || user_hash === named ? named : "-" }
}

/** `key`: whose requests alone may be seen; `undefined`: all. */
export const filterOf = (
  query: typeof RequestQuery.Type,
  key: string | undefined,
  installation: string,
): RequestFilter => ({
  ...(key === undefined ? {} : { key: KeyId.make(key) }),
  ...(query.app === undefined ? {} : { app: query.app }),
  ...(query.model === undefined ? {} : { model: query.model }),
  ...(query.host === undefined ? {} : { host: query.host }),
  ...(query.provider === undefined ? {} : { provider: query.provider }),
  ...(query.status === undefined ? {} : { statuses: query.status }),
  ...(query.outcome === undefined ? {} : { outcomes: query.outcome }),
  ...userFilter(query, installation),
  ...(query.from === undefined ? {} : { from: query.from }),
  ...(query.to === undefined ? {} : { to: query.to }),
})
