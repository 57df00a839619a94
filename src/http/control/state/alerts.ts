/** `GET /alerts`: what the rules of alerts have found, for as long as it is kept (docs/alerts.md). Management keys only. */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { alertRules } from "../../../domain/alerts/Alert.ts"
import { isoTime } from "../../../domain/keys/keyValues.ts"
import type { ListedAlert } from "../../../services/storage/alerts.ts"
import { Storage } from "../../../services/storage/Storage.ts"
import { orUnavailable } from "../../../services/storage/StorageUnavailable.ts"
import { badRequest, unavailable } from "../../refusals.ts"
import { AuthorizeManagement } from "../Authorize.ts"
import { optional, parameter, wholeNumber, word } from "../query.ts"

const Alert = Schema.Struct({
  /** The same in what webhooks are sent: `alert_id`. */
  id: Schema.String,
  rule: Schema.Literal(...alertRules),
  subject: Schema.Struct({
    kind: Schema.Literal("installation", "key", "host", "provider", "machine", "database"),
    /** Of a key: the first 16 characters of its hash. */
    id: Schema.String,
    name: Schema.String,
  }),
  severity: Schema.Literal("warning", "critical"),
  /** `told`: it is no state that ends, such as a share of a budget that was reached. */
  state: Schema.Literal("firing", "resolved", "told"),
  text: Schema.String,
  /** What was read, and what the rule allows. */
  value: Schema.Number,
  threshold: Schema.Number,
  unit: Schema.Literal("usd", "share", "seconds", "bytes", "days", "requests"),
  /** When it was kept, and when a process last saw that it holds. */
  created_at: Schema.String,
  seen_at: Schema.String,
  /** `null`: it lasts, or it is no state. */
  resolved_at: Schema.NullOr(Schema.String),
}).annotations({ identifier: "Alert" })

const Alerts = Schema.Struct({
  data: Schema.Array(Alert),
  /** What `after` of the next page is; `null`: this is the last one. */
  next: Schema.NullOr(Schema.String),
})

const place = /^\d{1,15}\.[0-9a-f]{1,64}$/

const AlertQuery = Schema.Struct({
  /** Only those that hold now. */
  state: optional(word(["firing"])),
  after: optional(
    parameter(
      Schema.String,
      { rule: "`next` of the page before", jsonSchema: { type: "string", pattern: place.source } },
      (written) => (place.test(written) ? written : undefined),
    ),
  ),
  limit: Schema.optionalWith(wholeNumber(1, 1000), { exact: true, default: () => 100 }),
}).annotations({ parseOptions: { errors: "all" } })

export const AlertsGroup = HttpApiGroup.make("alerts")
  .add(
    HttpApiEndpoint.get("list", "/alerts")
      .setUrlParams(AlertQuery)
      .addSuccess(Alerts)
      .addError(badRequest)
      .annotate(
        OpenApi.Description,
        "Alerts of all processes on this database, the newest first. They are kept for 30 days after they were last seen.",
      ),
  )
  .addError(unavailable)
  .middleware(AuthorizeManagement)
  .prefix("/api/v1")

export const alertsHandlers = HttpApiBuilder.group(HttpApi.make("headgate").add(AlertsGroup), "alerts", (handlers) =>
  Effect.map(Storage, (storage) => {
    const reached = orUnavailable("storage", storage)
    return handlers.handle("list", ({ urlParams: { state, after = "", limit } }) =>
      Effect.map(reached(storage.alerts.page(after, limit, state === "firing")), ({ found, next }) => ({
        data: found.map(alertOf),
        next,
      })),
    )
  }),
)

const alertOf = ({ kept: { id, alert, createdAt, resolvedAt }, seenAt }: ListedAlert): typeof Alert.Type => {
  const isState = alert.period === null
  const { kind, id: subject, name } = alert.subject
  return {
    id,
    rule: alert.rule,
    subject: { kind, id: subject, name },
    severity: alert.severity,
    state: !isState ? "told" : resolvedAt === null ? "firing" : "resolved",
    text: alert.text,
    value: alert.value,
    threshold: alert.threshold,
    unit: alert.unit,
    created_at: isoTime(createdAt),
    seen_at: isoTime(seenAt),
    resolved_at: isState && resolvedAt !== null ? isoTime(resolvedAt) : null,
  }
}
