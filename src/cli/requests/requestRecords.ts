/** Requests as the gateway lists them, and how the command shows them. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { endText } from "../../domain/routing/routed.ts"
import { CommandFailed, exitCodes, wrongUse } from "../CommandFailed.ts"
import type { Column } from "../output.ts"

const Request = Schema.Struct({
  request_id: Schema.String,
  created_at: Schema.String,
  key_hash: Schema.String,
  model: Schema.NullOr(Schema.String),
  host: Schema.NullOr(Schema.String),
  status: Schema.NullOr(Schema.Number),
  outcome: Schema.String,
  why: Schema.NullOr(Schema.String),
  duration_ms: Schema.Number,
  exact: Schema.Struct({ usage: Schema.String }),
  attempts: Schema.NullOr(
    Schema.Array(
      Schema.Struct({
        host: Schema.String,
        outcome: Schema.String,
        status: Schema.NullOr(Schema.Number),
        duration_ms: Schema.NullOr(Schema.Number),
        fault: Schema.NullOr(Schema.String),
      }),
    ),
  ),
  /** Absent in answers of earlier versions. */
  requests: Schema.optionalWith(Schema.Number, { default: () => 1 }),
})

type Request = typeof Request.Type

export const Page = Schema.Struct({
  data: Schema.Array(Schema.Unknown),
  next: Schema.NullOr(Schema.String),
  position: Schema.String,
})

const decode = Schema.decodeUnknown(Schema.Array(Request))

export const readRequests = (data: ReadonlyArray<unknown>): Effect.Effect<ReadonlyArray<Request>, CommandFailed> =>
  Effect.mapError(
    decode(data),
    () => new CommandFailed({ code: exitCodes.failed, message: "the gateway did not answer with requests" }),
  )

/** In the local time of the terminal, without the date where that is today's. */
const shortTime = (iso: string): string => {
  const at = new Date(iso)
  const time = at.toTimeString().slice(0, 8)
  return at.toDateString() === new Date().toDateString() ? time : `${iso.slice(0, 10)} ${time}`
}

/** How many more requests the line stands for, why it failed, and each call of a host that did not finish. */
const whyOf = ({ why, requests, attempts }: Request): string => {
  const more = requests === 1 ? [] : [`and ${requests - 1} more in this minute`]
  const failed = (attempts ?? []).filter(({ outcome }) => outcome !== "finished").map(callOf)
  return [...more, ...(why === null ? [] : [why]), ...failed].join("; ")
}

/** `acme/eu overloaded 503 after 812 ms`, `acme/eu unreachable: dns after 5 ms` */
const callOf = ({ host, status, duration_ms: ms, ...end }: NonNullable<Request["attempts"]>[number]): string =>
  [
    host,
    endText(end),
    ...(status === null ? [] : [status]),
    ...(ms === null ? [] : [`after ${Math.round(ms)} ms`]),
  ].join(" ")

export const columns: ReadonlyArray<Column<Request>> = [
  { title: "TIME", value: ({ created_at }) => created_at, short: ({ created_at }) => shortTime(created_at) },
  { title: "STATUS", value: ({ status }) => (status === null ? "-" : String(status)) },
  { title: "OUTCOME", value: ({ outcome }) => outcome },
  { title: "KEY", value: ({ key_hash }) => key_hash, short: ({ key_hash }) => key_hash.slice(0, 12) },
  { title: "MODEL", value: ({ model }) => model ?? "-" },
  { title: "HOST", value: ({ host }) => host ?? "-" },
  { title: "MS", value: ({ duration_ms }) => String(Math.round(duration_ms)), align: "right" },
  { title: "USD", value: ({ exact }) => exact.usage, align: "right" },
  { title: "REQUEST", value: ({ request_id }) => request_id },
  { title: "WHY", value: whyOf },
]

const Unknown = Schema.Struct({
  minute: Schema.String,
  address: Schema.NullOr(Schema.String),
  status: Schema.Number,
  requests: Schema.Number,
})

export const UnknownPage = Schema.Struct({ data: Schema.Array(Unknown) })

export const unknownColumns: ReadonlyArray<Column<typeof Unknown.Type>> = [
  { title: "MINUTE", value: ({ minute }) => minute, short: ({ minute }) => shortTime(minute) },
  { title: "STATUS", value: ({ status }) => String(status) },
  { title: "REQUESTS", value: ({ requests }) => String(requests), align: "right" },
  { title: "ADDRESS", value: ({ address }) => address ?? "-" },
]

const unitMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/**
 * A moment, as ISO 8601: so long before `now` (`90s`, `15m`, `1h`, `7d`), or a time that is written out. `flag`: what it was given to, for
 * the refusal.
 */
export const timeOf = (written: string, now: number, flag = "--since"): Effect.Effect<string, CommandFailed> => {
  const [, count, unit = ""] = /^(\d{1,6})([smhd])$/.exec(written) ?? []
  const ms = count === undefined ? Date.parse(written) : now - Number(count) * (unitMs[unit] ?? 0)
  return ms >= 0
    ? Effect.succeed(new Date(ms).toISOString())
    : Effect.fail(
        wrongUse(`${flag}: expected a duration such as 1h, or a time such as 2026-07-15T09:30:00Z, got "${written}"`),
      )
}
