/** `headgate requests --id`: one request, with the hosts of its plan, and its price line by line, from `GET /api/v1/generation`. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { endText } from "../../domain/routing/routed.ts"
import { CommandFailed, exitCodes } from "../CommandFailed.ts"
import type { Gateway } from "../gatewayClient.ts"
import { type Column, writeJson, writeRecord, writeTable } from "../output.ts"

const Opened = Schema.Struct({
  request_id: Schema.String,
  created_at: Schema.String,
  model: Schema.NullOr(Schema.String),
  status: Schema.NullOr(Schema.Number),
  outcome: Schema.String,
  why: Schema.NullOr(Schema.String),
  generation_time: Schema.Number,
  exact: Schema.Struct({ usage: Schema.String }),
  route: Schema.NullOr(
    Schema.Struct({
      strategy: Schema.NullOr(Schema.String),
      seed: Schema.NullOr(Schema.Number),
      order: Schema.Array(
        Schema.Struct({
          ...{ model: Schema.String, host: Schema.String, outcome: Schema.String },
          fault: Schema.NullOr(Schema.String),
        }),
      ),
      excluded: Schema.Array(
        Schema.Struct({ model: Schema.String, host: Schema.String, by: Schema.String, reason: Schema.String }),
      ),
    }),
  ),
  billing: Schema.NullOr(
    Schema.Struct({
      lines: Schema.Array(
        Schema.Struct({
          what: Schema.String,
          quantity: Schema.NullOr(Schema.Number),
          unit: Schema.NullOr(Schema.String),
          unit_price_usd: Schema.NullOr(Schema.String),
          amount_usd: Schema.String,
        }),
      ),
    }),
  ),
})

type Opened = typeof Opened.Type
type Line = NonNullable<Opened["billing"]>["lines"][number]

const decode = Schema.decodeUnknown(Opened)

/** A host of the plan, or one that was left out of it. */
interface Routed {
  /** Its place in the plan; `null`: it was left out. */
  readonly rank: number | null
  readonly model: string
  readonly host: string
  readonly what: string
}

const routedIn = ({ route }: Opened): ReadonlyArray<Routed> => [
  ...(route?.order ?? []).map(({ model, host, ...end }, at) => ({ rank: at + 1, model, host, what: endText(end) })),
  ...(route?.excluded ?? []).map(({ model, host, by, reason }) => ({
    ...{ rank: null, model, host },
    what: `${by}: ${reason}`,
  })),
]

const routeColumns: ReadonlyArray<Column<Routed>> = [
  { title: "TRY", value: ({ rank }) => (rank === null ? "-" : `${rank}`), align: "right" },
  { title: "MODEL", value: ({ model }) => model },
  { title: "HOST", value: ({ host }) => host },
  { title: "OUTCOME", value: ({ what }) => what },
]

const lineColumns: ReadonlyArray<Column<Line>> = [
  { title: "FOR", value: ({ what }) => what },
  { title: "QUANTITY", value: ({ quantity }) => (quantity === null ? "-" : `${quantity}`), align: "right" },
  { title: "UNIT", value: ({ unit }) => unit ?? "-" },
  { title: "UNIT USD", value: ({ unit_price_usd }) => unit_price_usd ?? "-", align: "right" },
  { title: "USD", value: ({ amount_usd }) => amount_usd, align: "right" },
]

const membersOf = (one: Opened): ReadonlyArray<readonly [string, string]> => [
  ["request", one.request_id],
  ["time", one.created_at],
  ["model", one.model ?? "-"],
  ["status", one.status === null ? "-" : `${one.status}`],
  ["outcome", one.outcome],
  ...(one.why === null ? [] : [["why", one.why] as const]),
  ["ms", `${Math.round(one.generation_time)}`],
  ["usd", one.exact.usage],
  ...(one.route?.strategy == null ? [] : [["strategy", `${one.route.strategy}, seed ${one.route.seed}`] as const]),
]

export const showOne = (gateway: Gateway, id: string, json: boolean): Effect.Effect<void, CommandFailed> =>
  Effect.gen(function* () {
    const path = `/generation?id=${encodeURIComponent(id)}`
    const { data } = yield* gateway.call({ method: "GET", path }, Schema.Struct({ data: Schema.Unknown }))
    if (json) return yield* writeJson(data)
    const one = yield* Effect.mapError(
      decode(data),
      () => new CommandFailed({ code: exitCodes.failed, message: "the gateway did not answer with a request" }),
    )
    yield* writeRecord(membersOf(one))
    yield* writeTable(routedIn(one), routeColumns, { empty: "", isFaint: ({ rank }) => rank === null })
    yield* writeTable(one.billing?.lines ?? [], lineColumns, { empty: "" })
  })
