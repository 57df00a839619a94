/** Key management: list, create, read, change, rotate, delete, of ordinary keys and of management keys. Management keys only. */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { ProviderRegistry } from "../../../catalogue/ProviderRegistry.ts"
import { KeyId } from "../../../domain/ids.ts"
import { inOrder } from "../../../domain/json/inOrder.ts"
import { isHidden, type KeyRecord, keyMembers } from "../../../domain/keys/key.ts"
import { isoTime } from "../../../domain/keys/keyValues.ts"
import type { Spend } from "../../../domain/keys/limitWindows.ts"
import { roleOf } from "../../../domain/keys/roles.ts"
import { KeyStore } from "../../../services/keys/KeyStore.ts"
import { Meter } from "../../../services/money/Meter.ts"
import type { KeyFilter } from "../../../services/storage/Storage.ts"
import { badBody, badRequest, notFound, unavailable } from "../../refusals.ts"
import { AuthorizeManagement, CurrentKey } from "../Authorize.ts"
import { bodyReader } from "../bodies.ts"
import { roleRefusal } from "../operationRoles.ts"
import { withoutDeadPatterns } from "./deadPatterns.ts"
import { fieldsOf, figurePlaces, figuresOf, keyFigures, schemasOf } from "./keyFigures.ts"
import { decodeBody, fitsKind, KeyChange, KeyQuery, NewKey, Rotation } from "./keyRequests.ts"
import { KeyStatus } from "./keyStatus.ts"

const listed = keyMembers.filter((member) => !isHidden(member))

/** A key as management sees it. */
const Key = Schema.Struct(
  inOrder(
    {
      ...schemasOf(listed),
      ...keyFigures,
      /** The secrets before the newest are accepted until then; `null`: there are none. */
      previous_ends_at: Schema.NullOr(Schema.String),
      /** Always null; clients of the router require it. */
      external_user: Schema.Null,
    },
    { ...figurePlaces, updated_at: ["expires_at", "previous_ends_at"], creator_user_id: ["external_user"] },
  ),
).annotations({ identifier: "Key" })

const Answer = Schema.Struct({ data: Key })
const hash = HttpApiSchema.param("hash", KeyId)

export const KeysGroup = HttpApiGroup.make("keys")
  .add(
    HttpApiEndpoint.get("list", "/keys")
      .setUrlParams(KeyQuery)
      // `total`: how many keys match, of the newest 100,000; `null`: not known.
      .addSuccess(Schema.Struct({ data: Schema.Array(Key), total: Schema.NullOr(Schema.Int) }))
      .addError(badRequest),
  )
  .add(
    HttpApiEndpoint.post("create", "/keys")
      .setPayload(NewKey)
      // The only answer that ever holds the key itself.
      .addSuccess(Schema.Struct({ data: Key, key: Schema.String }), { status: 201 })
      .addError(badBody),
  )
  .add(HttpApiEndpoint.get("read")`/keys/${hash}`.addSuccess(Answer))
  .add(HttpApiEndpoint.patch("change")`/keys/${hash}`.setPayload(KeyChange).addSuccess(Answer).addError(badBody))
  .add(HttpApiEndpoint.del("remove")`/keys/${hash}`.addSuccess(Schema.Struct({ deleted: Schema.Literal(true) })))
  .add(
    HttpApiEndpoint.post("rotate")`/keys/${hash}/rotate`
      .setPayload(Rotation)
      // `key`: the new secret, in no other answer. `previous_ends_at`: until when the earlier secrets are accepted.
      .addSuccess(Schema.Struct({ data: Key, key: Schema.String, previous_ends_at: Schema.String }), { status: 201 })
      .addError(badBody)
      .annotate(
        OpenApi.Description,
        "Makes another secret for the same key: hash, budget, limits and ledger stay. Those before it are accepted for overlap_s more seconds (by default a day; with 0 they end at once).",
      ),
  )
  .addError(notFound)
  .addError(unavailable)
  .middleware(AuthorizeManagement)
  .prefix("/api/v1")

const members = new Set([...Object.keys(Key.fields), ...Object.keys(KeyStatus.fields)])
const decodeNewKey = decodeBody(NewKey, members)
const decodeRotation = decodeBody(Rotation, members)
const decodeKeyChange = decodeBody(KeyChange, members)

export const keysHandlers = HttpApiBuilder.group(HttpApi.make("headgate").add(KeysGroup), "keys", (handlers) =>
  Effect.gen(function* () {
    const keys = yield* KeyStore
    const meter = yield* Meter
    const registry = yield* ProviderRegistry
    const body = yield* bodyReader()

    const described = (key: KeyRecord) =>
      Effect.zipWith(meter.spent(key.id), keys.previousEnds([key.id]), (spend, ends) => keyOf(key, spend, ends))

    /** The key that is to be changed. Management keys are changed by those alone who may do everything. */
    const changing = Effect.fnUntraced(function* (hash: KeyId) {
      const key = yield* keys.read(hash)
      return key.kind === "ordinary" ? key : yield* Effect.as(mayManage, key)
    })

    return handlers
      .handle("list", ({ urlParams }) =>
        Effect.gen(function* () {
          const { offset, limit, include_disabled, kind = "ordinary", tag, search } = urlParams
          const filter: KeyFilter = {
            kind,
            includeDisabled: include_disabled === "true",
            ...(tag === undefined ? {} : { tag }),
            ...(search === undefined ? {} : { search }),
          }
          const page = yield* keys.list({ offset, limit, ...filter })
          const total = keys.count === undefined ? null : yield* keys.count(filter)
          if (meter.spentByEach === undefined) {
            return { data: yield* Effect.forEach(page, described, { concurrency: 8 }), total }
          }
          const ids = page.map(({ id }) => id)
          const spends = yield* meter.spentByEach(ids)
          const ends = yield* keys.previousEnds(ids)
          return { data: page.map((key, at) => keyOf(key, spends[at] ?? nothingSpent, ends)), total }
        }),
      )
      .handleRaw("create", ({ request }) =>
        Effect.gen(function* () {
          const wanted = yield* decodeNewKey(yield* body.object(request))
          const kind = wanted.role == null ? "ordinary" : "management"
          yield* fitsKind(kind, wanted)
          yield* withoutDeadPatterns(wanted, registry)
          if (kind === "management") yield* mayManage
          const { record, secret } = yield* keys.create({ ...wanted, kind }, (yield* CurrentKey).id)
          return { data: yield* described(record), key: Redacted.value(secret) }
        }),
      )
      .handle("read", ({ path }) =>
        Effect.gen(function* () {
          return { data: yield* described(yield* keys.read(path.hash)) }
        }),
      )
      .handleRaw("change", ({ path, request }) =>
        Effect.gen(function* () {
          const change = yield* decodeKeyChange(yield* body.object(request))
          const { kind } = yield* changing(path.hash)
          yield* fitsKind(kind, change)
          yield* withoutDeadPatterns(change, registry)
          return { data: yield* described(yield* keys.update(path.hash, change, (yield* CurrentKey).id)) }
        }),
      )
      .handleRaw("rotate", ({ path, request }) =>
        Effect.gen(function* () {
          const { overlapSeconds } = yield* decodeRotation(yield* body.objectOrNothing(request))
          yield* changing(path.hash)
          const actor = (yield* CurrentKey).id
          const { record, secret, othersEndAt } = yield* keys.rotate(path.hash, overlapSeconds * 1000, actor)
          const answer = { data: yield* described(record), key: Redacted.value(secret) }
          return { ...answer, previous_ends_at: isoTime(othersEndAt) }
        }),
      )
      .handle("remove", ({ path }) =>
        Effect.gen(function* () {
          yield* changing(path.hash)
          yield* keys.remove(path.hash, (yield* CurrentKey).id)
          return { deleted: true } as const
        }),
      )
  }),
)

/** Whether the caller may make and change management keys. */
const mayManage = Effect.flatMap(CurrentKey, (key) => roleRefusal(roleOf(key) ?? "read", "all") ?? Effect.void)

const nothingSpent: Spend = { total: 0n, daily: 0n, weekly: 0n, monthly: 0n }

const timeOrNull = (at: number | undefined): string | null => (at === undefined ? null : isoTime(at))

/** `ends`: `KeyStore.previousEnds`. */
const keyOf = (key: KeyRecord, spend: Spend, ends: ReadonlyMap<KeyId, number>): typeof Key.Type => ({
  ...fieldsOf(key, listed),
  ...figuresOf(key, spend),
  previous_ends_at: timeOrNull(ends.get(key.id)),
  external_user: null,
})
