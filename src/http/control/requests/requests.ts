/**
 * `GET /requests`: requests of the data plane, the newest first. Any key sees its own; a management key sees all. Those that were refused or
 * failed have a record, the others are in the ledger.
 * `GET /requests/unknown`: how many were refused of which nobody knows whose they were.
 */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { BadRequest, NotPermitted } from "../../../domain/failures/Failure.ts"
import { isoTime } from "../../../domain/keys/keyValues.ts"
import { RequestRecords } from "../../../services/records/RequestRecords.ts"
import type { ListedRequest, RequestFilter, RequestPage, WrittenTo } from "../../../services/storage/requests.ts"
import { Storage } from "../../../services/storage/Storage.ts"
import { orUnavailable } from "../../../services/storage/StorageUnavailable.ts"
import { wantsCsv } from "../../csv.ts"
import { pageHeaders } from "../../headers.ts"
import { badRequest, notPermitted, unavailable } from "../../refusals.ts"
import { Authorize, AuthorizeManagement, CurrentKey } from "../Authorize.ts"
import { alsoCsv, csvAnswer, jsonAnswer } from "../csvAnswer.ts"
import { sealed, sealedId, unsealed, unsealedId } from "./position.ts"
import { filterOf, RequestQuery, UnknownQuery } from "./RequestQuery.ts"
import { csvRowOf, itemOf, RequestItem, requestColumns } from "./requestItem.ts"

const [nextHeader, positionHeader] = pageHeaders

const Requests = Schema.Struct({
  data: Schema.Array(RequestItem),
  /** What `after` of the next page is; `null`: this is the last one. */
  next: Schema.NullOr(Schema.String),
  /** What `position` of the next question is, for those who wait for more. */
  position: Schema.String,
})

const UnknownRequests = Schema.Struct({
  /** The first moment of a minute. */
  minute: Schema.String,
  /** `null`: it is not known. `other`: all of the minute beyond those that are told apart. */
  address: Schema.NullOr(Schema.String),
  status: Schema.Int,
  requests: Schema.Int,
}).annotations({ identifier: "UnknownRequests" })

export const RequestsGroup = HttpApiGroup.make("requests")
  .add(
    HttpApiEndpoint.get("list", "/requests")
      .setUrlParams(RequestQuery)
      .addSuccess(Requests)
      .addError(badRequest)
      .addError(notPermitted)
      .middleware(Authorize)
      .annotate(
        OpenApi.Description,
        "Requests of the calling key, or of any key for a management key, the newest first. A page may have fewer than `limit`, and none, while `next` is not null: so much was looked through. With `position` those that were written since, in that order. CSV by Accept: text/csv, with `next` and `position` in the headers X-GW-Next and X-GW-Position.",
      )
      .annotate(OpenApi.Transform, alsoCsv),
  )
  .add(
    HttpApiEndpoint.get("unknown", "/requests/unknown")
      .setUrlParams(UnknownQuery)
      .addSuccess(Schema.Struct({ data: Schema.Array(UnknownRequests) }))
      .addError(badRequest)
      .middleware(AuthorizeManagement)
      .annotate(
        OpenApi.Description,
        "How many requests without a known key were refused, by minute, address and status. The newest minute first.",
      ),
  )
  .addError(unavailable)
  .prefix("/api/v1")

/** How often the storage is asked for one page, each time for a bounded part of its rows. */
const mostLooks = 10

/** Requests that are read at once. */
const readAtOnce = 200

export const requestsHandlers = HttpApiBuilder.group(
  HttpApi.make("headgate").add(RequestsGroup),
  "requests",
  (handlers) =>
    Effect.gen(function* () {
      const storage = yield* Storage
      const { requests, installation } = storage
      const { flush } = yield* RequestRecords
      const reached = orUnavailable("storage", storage)

      let known: string | undefined
      const positionSecret = Effect.suspend(() =>
        known === undefined
          ? Effect.tap(reached(requests.positionSecret()), (secret) => {
              known = secret
            })
          : Effect.succeed(known),
      )

      const page = (filter: RequestFilter, after: string, limit: number) =>
        Effect.gen(function* () {
          const data: Array<ListedRequest> = []
          let next: string | null = after
          for (let looks = 0; next !== null && looks < mostLooks && data.length < limit; looks += 1) {
            const found: RequestPage = yield* reached(
              requests.page(filter, next, Math.min(limit - data.length, readAtOnce)),
            )
            data.push(...found.found)
            next = found.next
          }
          return { data, next }
        })

      const since = (filter: RequestFilter, position: WrittenTo, limit: number) =>
        Effect.gen(function* () {
          const data: Array<ListedRequest> = []
          let [at, isCut] = [position, true]
          for (let looks = 0; isCut && looks < mostLooks && data.length < limit; looks += 1) {
            const written = yield* reached(requests.written(filter, at))
            data.push(...written.found)
            at = written.to
            isCut = written.isCut
          }
          return { data, next: null, at }
        })

      const list = (query: typeof RequestQuery.Type, filter: RequestFilter) =>
        Effect.gen(function* () {
          const secret = yield* positionSecret
          const from = query.position === undefined ? undefined : unsealed(query.position, secret)
          if (query.position !== undefined && from === undefined) return yield* noPosition
          yield* flush
          if (from !== undefined) {
            const { data, next, at } = yield* since(filter, from, query.limit)
            return { data, next, position: sealed(at, secret) }
          }
          // Before the page, so that nothing is missed between the two.
          const at = yield* reached(requests.writtenTo())
          const after = query.after === undefined ? "" : unsealedId(query.after, secret)
          const { data, next } = yield* page(filter, after, query.limit)
          // The search may have ended at a request that is not on the page, and that belongs to another key.
          const isSeen =
            next === null ||
            filter.key === undefined ||
            data.some(({ record, row }) => (record ?? row).requestId === next)
          return { data, next: isSeen ? next : sealedId(next, secret), position: sealed(at, secret) }
        })

      return handlers
        .handle("list", ({ urlParams: query, request }) =>
          Effect.gen(function* () {
            const { id, kind } = yield* CurrentKey
            const isOwn = kind !== "management"
            if (isOwn && query.key_hash !== undefined && query.key_hash !== id) return yield* ownOnly
            const filter = filterOf(query, isOwn ? id : query.key_hash, installation)
            const { data, next, position } = yield* list(query, filter)
            if (!wantsCsv(request.headers["accept"]))
              return jsonAnswer<typeof Requests.Type>({ data: data.map(itemOf), next, position })
            const place = { [positionHeader]: position, ...(next === null ? {} : { [nextHeader]: next }) }
            return csvAnswer(requestColumns, data.map(csvRowOf), place)
          }),
        )
        .handle("unknown", ({ urlParams: { from, to, offset, limit } }) =>
          Effect.gen(function* () {
            yield* flush
            const counts = yield* reached(requests.unknown(from ?? 0, to ?? Number.MAX_SAFE_INTEGER, offset, limit))
            const data = counts.map(({ minute, address, ...count }) => ({
              minute: isoTime(minute),
              address: address === "" ? null : address,
              ...count,
            }))
            return { data }
          }),
        )
    }),
)

const noPosition = new BadRequest({
  issues: [{ path: "position", message: "expected the `position` of an earlier answer" }],
})

const ownOnly = new NotPermitted({ rule: "Only management keys can see requests of other keys." })
