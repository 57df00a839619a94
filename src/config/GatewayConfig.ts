/**
 * The form of `headgate.config.ts` and `headgate.config.json`. The file has the API's snake_case, the program camelCase:
 * each field is renamed where it is declared. Every field has a default; `{}` is a valid file. What each means: `ConfigInput.ts`.
 */
import { accessSync, constants } from "node:fs"
import { fileURLToPath } from "node:url"
import * as ParseResult from "effect/ParseResult"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import ipaddr from "ipaddr.js"
import { field, isModelId, type ModelInput, wholeNumber } from "../catalogue/schema.ts"
import { isJsonObject } from "../domain/json/Json.ts"
import { kindOf } from "../domain/json/Problem.ts"
import { parametersFault } from "../domain/json/postgresUrl.ts"
import { isPlugin } from "../plugin/loading/discover.ts"
import { amount, anyObject, later, milliseconds, name, notNegative, part, publicText, share } from "./fields.ts"
import { Providers } from "./providerFields.ts"

/** A TCP port; 0 takes any free one. */
export const Port = wholeNumber(0, 65535)

const label = /^(?!-)[\w-]{1,63}(?<!-)$/

const isHostname = (written: string): boolean => {
  if (ipaddr.IPv4.isValidFourPartDecimal(written) || ipaddr.IPv6.isValid(written)) return true
  const labels = written.split(".")
  // A name does not end in a number: that would be an IPv4 address, and it is none.
  return written.length <= 253 && labels.every((each) => label.test(each)) && !/^\d+$/.test(labels.at(-1) ?? "")
}

/** Where to listen. */
export const Hostname = publicText("an IP address or a host name", isHostname)

const isOrigin = (written: string): boolean =>
  written === "*" || (URL.canParse(written) && new URL(written).origin === written)

const Server = Schema.Struct({
  hostname: field(Hostname, "127.0.0.1"),
  port: field(Port, 8787),
  workers: field(wholeNumber(1, 64), 1),
  trustedProxies: later(Schema.Array(Schema.String), []).pipe(Schema.fromKey("trusted_proxies")),
  corsOrigins: field(Schema.Array(publicText('"*" or an origin such as "https://app.example"', isOrigin)), ["*"]).pipe(
    Schema.fromKey("cors_origins"),
  ),
  drainSeconds: field(wholeNumber(0, 86_400), 30).pipe(Schema.fromKey("drain_s")),
  drainDelaySeconds: field(wholeNumber(0, 3600), 0).pipe(Schema.fromKey("drain_delay_s")),
  openMetrics: later(Schema.Boolean, false).pipe(Schema.fromKey("open_metrics")),
})

/** When a host that keeps failing is not called for a while. */
const Breaker = Schema.Struct({
  consecutiveFailures: field(amount, 5).pipe(Schema.fromKey("consecutive_failures")),
  errorRate: field(share, 0.5).pipe(Schema.fromKey("error_rate")),
  minRequests: field(amount, 20).pipe(Schema.fromKey("min_requests")),
  openSeconds: field(wholeNumber(0, 300), 30).pipe(Schema.fromKey("open_s")),
})

/** Seconds for which a host is not called after certain answers; 0: none. */
const Cooldown = Schema.Struct({
  accountSeconds: field(amount, 60).pipe(Schema.fromKey("account_s")),
  notFoundSeconds: field(amount, 60).pipe(Schema.fromKey("not_found_s")),
  rateLimitSeconds: field(amount, 5).pipe(Schema.fromKey("rate_limit_s")),
  maxSeconds: field(amount, 300).pipe(Schema.fromKey("max_s")),
})

/** Bounds of one request and of all; 0 switches one off. */
const Limits = Schema.Struct({
  ttfbMs: field(Schema.NullOr(milliseconds), null).pipe(Schema.fromKey("ttfb_ms")),
  attemptMs: field(Schema.NullOr(milliseconds), null).pipe(Schema.fromKey("attempt_ms")),
  attemptMsByModel: field(Schema.Record({ key: Schema.String, value: milliseconds }), {}).pipe(
    Schema.fromKey("attempt_ms_by_model"),
  ),
  idleMs: field(milliseconds, 60_000).pipe(Schema.fromKey("idle_ms")),
  thinkingIdleMs: field(milliseconds, 300_000).pipe(Schema.fromKey("thinking_idle_ms")),
  deadlineMs: field(milliseconds, 600_000).pipe(Schema.fromKey("deadline_ms")),
  commitAfterMs: field(milliseconds, 10_000).pipe(Schema.fromKey("commit_after_ms")),
  maxInFlight: field(amount, 1024).pipe(Schema.fromKey("max_in_flight")),
  bodyBytes: field(amount, 33_554_432).pipe(Schema.fromKey("body_bytes")),
  streamBytes: field(amount, 67_108_864).pipe(Schema.fromKey("stream_bytes")),
  clientStallMs: field(milliseconds, 60_000).pipe(Schema.fromKey("client_stall_ms")),
  minBytesPerSecond: field(amount, 16).pipe(Schema.fromKey("min_bytes_per_s")),
  retries: field(notNegative, 0.2),
  breaker: part(Breaker),
  cooldown: part(Cooldown),
})

/** Which host is called. */
const Routing = Schema.Struct({
  strategy: field(name, "balanced"),
  strategies: field(Schema.Record({ key: Schema.String, value: anyObject }), {}),
  hedge: part(
    Schema.Struct({
      enabled: field(Schema.Literal(false, "on_request", true), false),
      maxCostShare: field(share, 0.05).pipe(Schema.fromKey("max_cost_share")),
    }),
  ),
})

const Billing = Schema.Struct({
  unknownPrice: field(Schema.Literal("deny", "estimate", "allow"), "deny").pipe(Schema.fromKey("unknown_price")),
  errorFinish: field(Schema.Literal("free", "metered"), "free").pipe(Schema.fromKey("error_finish")),
  freeModels: part(
    Schema.Struct({
      requestsPerMinute: field(wholeNumber(0, 10_000), 20).pipe(Schema.fromKey("requests_per_minute")),
      requestsPerDay: field(amount, 1000).pipe(Schema.fromKey("requests_per_day")),
    }),
  ).pipe(Schema.fromKey("free_models")),
})

const ContentPrivacy = Schema.Struct({
  logContent: later(Schema.Boolean, false).pipe(Schema.fromKey("log_content")),
  idempotencyBodies: field(Schema.Boolean, true).pipe(Schema.fromKey("idempotency_bodies")),
})

/** Providers that are turned on without being configured. */
const Discovery = Schema.Struct({
  environment: field(Schema.Boolean, true),
  local: field(Schema.Boolean, true),
})

const CatalogueSettings = Schema.Struct({
  file: field(name, "./data/catalogue.json"),
})

const packageName = /^(@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*$/i

/** "./plugins" may be absent. */
export const defaultPluginFolders: ReadonlyArray<string> = [
  "./plugins",
  fileURLToPath(new URL("../../plugins", import.meta.url)),
]

const Plugins = Schema.Struct({
  folders: field(Schema.Array(name), defaultPluginFolders),
  packages: field(Schema.Array(publicText("the name of a package", (written) => packageName.test(written))), []),
  inline: field(
    Schema.Array(Schema.declare(isPlugin, { description: "a plugin made by defineProvider or defineStrategy" })),
    [],
  ),
  required: field(Schema.Array(name), []),
})

/** Where keys and ledger are kept. */
export type StorageChoice =
  | { readonly _tag: "Memory" }
  | { readonly _tag: "Sqlite"; readonly path: string }
  | { readonly _tag: "Postgres"; readonly url: Redacted.Redacted }

const storageForms = '"memory:", "sqlite:PATH" or "postgres://USER@HOST/DATABASE"'

const storageOf = (written: string): StorageChoice | undefined => {
  if (written === "memory:") return { _tag: "Memory" }
  const path = /^sqlite:([^:].*)$/.exec(written)?.[1]
  if (path !== undefined) return { _tag: "Sqlite", path }
  const isPostgres =
    /^postgres(ql)?:\/\//.test(written) && URL.canParse(written) && new URL(written).pathname.length > 1
  return isPostgres ? { _tag: "Postgres", url: Redacted.make(written) } : undefined
}

const isReadable = (path: string): boolean => {
  try {
    accessSync(path, constants.R_OK)
    return true
  } catch {
    return false
  }
}

/** `memory:`, `sqlite:PATH`, or the URL of a database of PostgreSQL. */
export const StorageText = Schema.transformOrFail(
  Schema.String,
  Schema.declare((value: unknown): value is StorageChoice => isJsonObject(value)),
  {
    strict: true,
    decode: (written, _options, ast) => {
      const choice = storageOf(written)
      const fault =
        choice === undefined
          ? `expected ${storageForms}, got ${kindOf(written)}`
          : choice._tag === "Postgres"
            ? parametersFault(written, isReadable)
            : undefined
      return choice === undefined || fault !== undefined
        ? ParseResult.fail(new ParseResult.Type(ast, written, fault))
        : ParseResult.succeed(choice)
    },
    encode: (choice, _options, ast) =>
      ParseResult.fail(new ParseResult.Forbidden(ast, choice, "a configuration is not written")),
  },
).annotations({ description: storageForms })

const Aliases = Schema.transform(
  Schema.Record({ key: Schema.String, value: publicText("a model id <author>/<slug>", isModelId) }),
  Schema.declare((value: unknown): value is ReadonlyMap<string, string> => value instanceof Map),
  { strict: true, decode: (record) => new Map(Object.entries(record)), encode: (map) => Object.fromEntries(map) },
)

export const GatewayConfig = Schema.Struct({
  schema: field(Schema.String, "").pipe(Schema.fromKey("$schema")),
  server: part(Server),
  storage: field(StorageText, { _tag: "Sqlite", path: "./data/headgate.db" }),
  durability: field(Schema.Literal("full", "process"), "full"),
  spoolFolder: field(Schema.NonEmptyString, "./data").pipe(Schema.fromKey("spool_folder")),
  limits: part(Limits),
  routing: part(Routing),
  billing: part(Billing),
  privacy: part(ContentPrivacy),
  discovery: part(Discovery),
  plugins: part(Plugins),
  catalogue: part(CatalogueSettings),
  aliases: field(Aliases, new Map()),
  providers: field(Providers, new Map()),
  models: field(
    Schema.declare((value: unknown): value is ReadonlyArray<ModelInput> => Array.isArray(value), {
      description: "a list",
    }),
    [],
  ),
})

/** A decoded configuration, all defaults filled in. */
export type GatewayConfig = typeof GatewayConfig.Type

export { defineConfig, type GatewayConfigInput } from "./ConfigInput.ts"
