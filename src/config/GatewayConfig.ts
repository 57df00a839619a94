/**
 * The form of `headgate.config.ts` and `headgate.config.json`. The file has the API's snake_case, the program camelCase:
 * each field is renamed where it is declared. Every field has a default; `{}` is a valid file.
 */
import { fileURLToPath } from "node:url"
import * as ParseResult from "effect/ParseResult"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import ipaddr from "ipaddr.js"
import { field, isModelId, type ModelInput, wholeNumber } from "../catalogue/schema.ts"
import { isJsonObject } from "../domain/Json.ts"
import { kindOf } from "../domain/Problem.ts"
import { amount, anyObject, later, milliseconds, name, notNegative, part, share, text } from "./fields.ts"
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
export const Hostname = text("an IP address or a host name", isHostname)

const isOrigin = (written: string): boolean =>
  written === "*" || (URL.canParse(written) && new URL(written).origin === written)

const Server = Schema.Struct({
  /** Address to listen on. Default "127.0.0.1": this machine alone. */
  hostname: field(Hostname, "127.0.0.1"),
  /** TCP port; 0: any free one. Default 8787. */
  port: field(Port, 8787),
  /** Processes that share the port, at most 64. More than one need PostgreSQL and Linux. Default 1. */
  workers: field(wholeNumber(1, 64), 1),
  /** Addresses or ranges (CIDR) whose `X-Forwarded-For` is believed. Default: none. */
  trustedProxies: later(Schema.Array(Schema.String), []).pipe(Schema.fromKey("trusted_proxies")),
  /** Origins whose pages may call the data plane and read the model listings. Default ["*"]: all. */
  corsOrigins: field(Schema.Array(text('"*" or an origin such as "https://app.example"', isOrigin)), ["*"]).pipe(
    Schema.fromKey("cors_origins"),
  ),
  /** Seconds that running requests get to end when the gateway stops. Default 30. */
  drainSeconds: field(wholeNumber(0, 86_400), 30).pipe(Schema.fromKey("drain_s")),
  /** Whether `/metrics` is open to all. Default false: it needs the management key. */
  openMetrics: later(Schema.Boolean, false).pipe(Schema.fromKey("open_metrics")),
})

/** When a host that keeps failing is not called for a while. */
const Breaker = Schema.Struct({
  /** Failures in a row that open it; 0: never. Default 5. */
  consecutiveFailures: field(amount, 5).pipe(Schema.fromKey("consecutive_failures")),
  /** Share of failures within 30 seconds that opens it, 0 to 1; 0: never. Default 0.5. */
  errorRate: field(share, 0.5).pipe(Schema.fromKey("error_rate")),
  /** Requests within 30 seconds before the share counts; 0: the first one counts. Default 20. */
  minRequests: field(amount, 20).pipe(Schema.fromKey("min_requests")),
  /** Seconds that it stays open the first time, then twice, three times as many, up to 300; 0: it never opens. Default 30. */
  openSeconds: field(wholeNumber(0, 300), 30).pipe(Schema.fromKey("open_s")),
})

/** Seconds for which a host is not called after certain answers; 0: none. */
const Cooldown = Schema.Struct({
  /** After it refused our account (401, 402). Default 60. */
  accountSeconds: field(amount, 60).pipe(Schema.fromKey("account_s")),
  /** After it did not know the model. Default 60. */
  notFoundSeconds: field(amount, 60).pipe(Schema.fromKey("not_found_s")),
  /** After a 429 that named no time. Default 5. */
  rateLimitSeconds: field(amount, 5).pipe(Schema.fromKey("rate_limit_s")),
  /** At most, also where the host named a time. Default 300. */
  maxSeconds: field(amount, 300).pipe(Schema.fromKey("max_s")),
})

/** Bounds of one request and of all; 0 switches one off. */
const Limits = Schema.Struct({
  /** Milliseconds until a stream's first event. Default 300,000. */
  ttfbMs: field(milliseconds, 300_000).pipe(Schema.fromKey("ttfb_ms")),
  /** Milliseconds between events of a stream. Default 60,000. */
  idleMs: field(milliseconds, 60_000).pipe(Schema.fromKey("idle_ms")),
  /** The same while a model that reasons has sent no content. Default 300,000. */
  thinkingIdleMs: field(milliseconds, 300_000).pipe(Schema.fromKey("thinking_idle_ms")),
  /** Milliseconds for a whole request, all attempts together. Default 600,000. */
  deadlineMs: field(milliseconds, 600_000).pipe(Schema.fromKey("deadline_ms")),
  /** Milliseconds after which a stream's status is sent although no event came. Default 10,000. */
  commitAfterMs: field(milliseconds, 10_000).pipe(Schema.fromKey("commit_after_ms")),
  /** Requests at once. Default 1,024. */
  maxInFlight: field(amount, 1024).pipe(Schema.fromKey("max_in_flight")),
  /** Bytes of a request's body, and of a host's whole answer. Default 33,554,432. */
  bodyBytes: field(amount, 33_554_432).pipe(Schema.fromKey("body_bytes")),
  /** Bytes of one stream of a host. Default 67,108,864. */
  streamBytes: field(amount, 67_108_864).pipe(Schema.fromKey("stream_bytes")),
  /** Milliseconds that a caller may take no byte of a stream. Default 60,000. */
  clientStallMs: field(milliseconds, 60_000).pipe(Schema.fromKey("client_stall_ms")),
  /** Bytes per second, over a minute, that a stream of a host must reach. Default 16. */
  minBytesPerSecond: field(amount, 16).pipe(Schema.fromKey("min_bytes_per_s")),
  /**
   * Attempts after the first one of a request, of all requests together, as a share of the requests of the last 10
   * seconds; 10 a second are always allowed. Default 0.2.
   */
  retries: field(notNegative, 0.2),
  breaker: part(Breaker),
  cooldown: part(Cooldown),
})

/** Which host is called. */
const Routing = Schema.Struct({
  /** Id of the strategy plugin that orders the hosts. Default "balanced". */
  strategy: field(name, "balanced"),
  /** The configuration of each strategy plugin, by its id. Default: none. */
  strategies: field(Schema.Record({ key: Schema.String, value: anyObject }), {}),
  /** A second host is called for a stream when the first one is slow. */
  hedge: part(
    Schema.Struct({
      /** `"on_request"`: for requests with `provider.hedge: true`. `true`: for all but those with `false`. Default false. */
      enabled: field(Schema.Literal(false, "on_request", true), false),
      /** Share of the spend of the last hour that the calls may cost that lose, 0 to 1. Default 0.05. */
      maxCostShare: field(share, 0.05).pipe(Schema.fromKey("max_cost_share")),
    }),
  ),
})

const Billing = Schema.Struct({
  /**
   * Hosts without a price. "deny": a key with a limit may not call them, others pay nothing. "estimate": they cost what the
   * dearest host of the same model costs, or else that of the same author; without one they are denied. "allow": they cost
   * nothing. The ledger marks their rows in each case. Default "deny".
   */
  unknownPrice: field(Schema.Literal("deny", "estimate", "allow"), "deny").pipe(Schema.fromKey("unknown_price")),
  /**
   * Answers that their host broke off or finished with `error`. "free": they cost nothing. "metered": they cost what came of
   * them, as the host counted or else by estimate. Default "free".
   */
  errorFinish: field(Schema.Literal("free", "metered"), "free").pipe(Schema.fromKey("error_finish")),
  /** Requests per key to models that cost nothing; 0: any number. */
  freeModels: part(
    Schema.Struct({
      /** In any 60 seconds. Default 20. */
      requestsPerMinute: field(wholeNumber(0, 10_000), 20).pipe(Schema.fromKey("requests_per_minute")),
      /** On a UTC day. Default 1,000. */
      requestsPerDay: field(amount, 1000).pipe(Schema.fromKey("requests_per_day")),
    }),
  ).pipe(Schema.fromKey("free_models")),
})

const ContentPrivacy = Schema.Struct({
  /** Whether prompts and answers may be logged. Default false. */
  logContent: later(Schema.Boolean, false).pipe(Schema.fromKey("log_content")),
  /** Whether an answer is kept for 24 hours for a caller who sent an Idempotency-Key. Default true. */
  idempotencyBodies: field(Schema.Boolean, true).pipe(Schema.fromKey("idempotency_bodies")),
})

/** Providers that are turned on without being configured. */
const Discovery = Schema.Struct({
  /** Providers whose key variable is set. Default true. */
  environment: field(Schema.Boolean, true),
  /** Model servers on loopback, at their usual ports: they are looked for every 30 seconds. Default true; embedded: false. */
  local: field(Schema.Boolean, true),
})

const CatalogueSettings = Schema.Struct({
  /**
   * A file with lists of models, which replace those of the plugins (`headgate catalogue refresh --apply` writes it). Relative to
   * the folder of the configuration file; it may be absent. Default "./data/catalogue.json".
   */
  file: field(name, "./data/catalogue.json"),
})

const packageName = /^(@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*$/i

/** "./plugins" may be absent. */
export const defaultPluginFolders: ReadonlyArray<string> = [
  "./plugins",
  fileURLToPath(new URL("../../plugins", import.meta.url)),
]

const Plugins = Schema.Struct({
  /**
   * Searched for plugins, relative to the folder of the configuration file; these replace the default, and with it every vendor and
   * strategy that comes with the gateway. Default: "./plugins", then the plugins that come with the gateway.
   */
  folders: field(Schema.Array(name), defaultPluginFolders),
  /** Names of packages that are plugins, found from the folder of the configuration file. Default: none. */
  packages: field(Schema.Array(text("the name of a package", (written) => packageName.test(written))), []),
  /** Ids of plugins without which the gateway does not start. Default: none. */
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

/** `memory:`, `sqlite:PATH`, or the URL of a database of PostgreSQL. */
export const StorageText = Schema.transformOrFail(
  Schema.String,
  Schema.declare((value: unknown): value is StorageChoice => isJsonObject(value)),
  {
    strict: true,
    decode: (written, _options, ast) => {
      const choice = storageOf(written)
      return choice === undefined
        ? ParseResult.fail(new ParseResult.Type(ast, written, `expected ${storageForms}, got ${kindOf(written)}`))
        : ParseResult.succeed(choice)
    },
    encode: (choice, _options, ast) =>
      ParseResult.fail(new ParseResult.Forbidden(ast, choice, "a configuration is not written")),
  },
).annotations({ description: storageForms })

const Aliases = Schema.transform(
  Schema.Record({ key: Schema.String, value: text("a model id <author>/<slug>", isModelId) }),
  Schema.declare((value: unknown): value is ReadonlyMap<string, string> => value instanceof Map),
  { strict: true, decode: (record) => new Map(Object.entries(record)), encode: (map) => Object.fromEntries(map) },
)

export const GatewayConfig = Schema.Struct({
  /** For editors: the path of the JSON Schema of this file, "./node_modules/headgate/config.schema.json". */
  schema: field(Schema.String, "").pipe(Schema.fromKey("$schema")),
  server: part(Server),
  /** "memory:", "sqlite:PATH" or "postgres://USER@HOST/DATABASE". Default "sqlite:./data/headgate.db". */
  storage: field(StorageText, { _tag: "Sqlite", path: "./data/headgate.db" }),
  /** "full": a reported cost survives a power cut (of PostgreSQL's server, too). "process": it survives the end of the process. Default "full". */
  durability: field(Schema.Literal("full", "process"), "full"),
  /**
   * With PostgreSQL: a folder on a disk of this machine, for what the server does not take in time. Relative to the folder of
   * the configuration file. Default "./data".
   */
  spoolFolder: field(Schema.NonEmptyString, "./data").pipe(Schema.fromKey("spool_folder")),
  limits: part(Limits),
  routing: part(Routing),
  billing: part(Billing),
  privacy: part(ContentPrivacy),
  discovery: part(Discovery),
  plugins: part(Plugins),
  catalogue: part(CatalogueSettings),
  /** Names that callers may use, and the ids of the models that they mean. Default: none. */
  aliases: field(Aliases, new Map()),
  /** By slug. Default: none but what is discovered. */
  providers: field(Providers, new Map()),
  /** Kept as written: `decodeModels` reads them once the providers are known. Default: those of the plugins. */
  models: field(
    Schema.declare((value: unknown): value is ReadonlyArray<ModelInput> => Array.isArray(value), {
      description: "a list",
    }),
    [],
  ),
})

/** A decoded configuration, all defaults filled in. */
export type GatewayConfig = typeof GatewayConfig.Type

/** What an author writes. */
export type GatewayConfigInput = typeof GatewayConfig.Encoded

/** Types the default export of `headgate.config.ts`, so that editors complete and check it. Returns its argument. */
export const defineConfig = (config: GatewayConfigInput): GatewayConfigInput => config
