/** `GET /state`: how the gateway is, for those who run it. Management keys only. */
import * as HttpApi from "@effect/platform/HttpApi"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { isoTime } from "../../../domain/keys/keyValues.ts"
import { version } from "../../../process/version.ts"
import { type GatewayFacts, GatewayState } from "../../../services/state/GatewayState.ts"
import { AuthorizeManagement } from "../Authorize.ts"
import { ProvidersState, writtenProvider } from "./providersState.ts"

const State = Schema.Struct({
  version: Schema.String,
  bun_version: Schema.String,
  started_at: Schema.String,
  /** The one that answers. What follows is of this process, unless it says that it is of the database. */
  process: Schema.Struct({
    machine: Schema.String,
    pid: Schema.Int,
    /** Its number among several that are one gateway; `null`: it is alone. */
    worker: Schema.NullOr(Schema.Int),
  }),
  storage: Schema.Struct({
    kind: Schema.Literal("sqlite", "postgres", "memory", "other"),
    /** Whether it answered within two seconds. */
    reachable: Schema.Boolean,
  }),
  ledger: Schema.Struct({
    /** Whether paid requests may start, and why not. */
    takes_requests: Schema.Boolean,
    why: Schema.NullOr(Schema.String),
    /** Rows that the database could not take, in memory and on the local disk. `null`: not known. */
    backlog_rows: Schema.NullOr(Schema.Int),
    spooled_rows: Schema.Int,
    /** Of this process; `null`: it has booked nothing yet. */
    last_commit_at: Schema.NullOr(Schema.String),
  }),
  /** That of the database's file, with PostgreSQL that of the spool; `null`: there is none, or it cannot be read. */
  disk: Schema.NullOr(Schema.Struct({ free_bytes: Schema.Int, total_bytes: Schema.Int })),
  requests: Schema.Struct({ running: Schema.Int, placed: Schema.Int, places: Schema.Int }),
  /** Circuit breakers that are not closed. `why`: the failure that opened it. */
  breakers: Schema.Array(
    Schema.Struct({
      model: Schema.String,
      host: Schema.String,
      state: Schema.Literal("open", "half_open"),
      since: Schema.String,
      why: Schema.String,
    }),
  ),
  /** Hosts that are left alone after a failure. */
  resting: Schema.Array(
    Schema.Struct({
      provider: Schema.String,
      model: Schema.String,
      host: Schema.String,
      until: Schema.String,
      why: Schema.String,
    }),
  ),
  /** Of the database: keys that have spent 80 % of their limit, at most 20; `null`: it did not answer. */
  keys_near_limit: Schema.NullOr(
    Schema.Array(
      Schema.Struct({
        hash: Schema.String,
        name: Schema.String,
        spent_share: Schema.Number,
        resets_at: Schema.NullOr(Schema.String),
      }),
    ),
  ),
  /** Of the configuration. */
  warnings: Schema.Array(Schema.String),
  /** `file`: `null` where there is none. */
  configuration: Schema.Struct({ file: Schema.NullOr(Schema.String), loaded_at: Schema.String }),
}).annotations({ identifier: "GatewayState" })

export const StateGroup = HttpApiGroup.make("state")
  .add(
    HttpApiEndpoint.get("state", "/state")
      .addSuccess(Schema.Struct({ data: State }))
      .annotate(
        OpenApi.Description,
        "How the gateway is: storage, ledger, disk, hosts that are out, keys near their limit. It answers while the database does not.",
      ),
  )
  .add(
    HttpApiEndpoint.get("providers", "/providers/state")
      .addSuccess(ProvidersState)
      .annotate(
        OpenApi.Description,
        "Every provider that is configured or installed: whether it is on, why it is off, and how it does. No secrets.",
      ),
  )
  .middleware(AuthorizeManagement)
  .prefix("/api/v1")

export const stateHandlers = HttpApiBuilder.group(HttpApi.make("headgate").add(StateGroup), "state", (handlers) =>
  Effect.map(GatewayState, ({ read, providers }) =>
    handlers
      .handle("state", () => Effect.map(read, (state) => ({ data: writtenState(state) })))
      .handle("providers", () => Effect.map(providers, (all) => ({ data: all.map(writtenProvider) }))),
  ),
)

const writtenState = ({ ledger, disk, storage, ...state }: GatewayFacts): typeof State.Type => ({
  version,
  bun_version: Bun.version,
  started_at: isoTime(state.startedAt),
  process: state.process,
  storage: { kind: storage.kind, reachable: storage.isReachable },
  ledger: {
    takes_requests: ledger.takesRequests,
    why: ledger.why,
    backlog_rows: ledger.backlogRows,
    spooled_rows: ledger.spooledRows,
    last_commit_at: ledger.lastCommitAt === null ? null : isoTime(ledger.lastCommitAt),
  },
  disk: disk === null ? null : { free_bytes: disk.freeBytes, total_bytes: disk.totalBytes },
  requests: state.requests,
  breakers: state.breakers.map(({ model, host, isHalfOpen, since, reason }) => ({
    model,
    host,
    state: isHalfOpen ? "half_open" : "open",
    since: isoTime(since),
    why: reason,
  })),
  resting: state.resting.map(({ provider, model, host, until, reason }) => ({
    provider,
    model,
    host,
    until: isoTime(until),
    why: reason,
  })),
  keys_near_limit:
    state.keysNearLimit?.map(({ id, name, spentShare, resetsAt }) => ({
      hash: id,
      name,
      spent_share: spentShare,
      resets_at: resetsAt === null ? null : isoTime(resetsAt),
    })) ?? null,
  warnings: state.warnings,
  configuration: { file: state.configuration.file, loaded_at: isoTime(state.configuration.loadedAt) },
})
