/**
 * The form of `headgate.config.ts` and `headgate.config.json`. The file has the API's snake_case, the program camelCase:
 * each field is renamed where it is declared. Every field has a default; `{}` is a valid file.
 */
import { fileURLToPath } from "node:url"
import * as ParseResult from "effect/ParseResult"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"
import ipaddr from "ipaddr.js"
import { checkBaseUrl, normalBaseUrl } from "../catalogue/baseUrl.ts"
import type { ProviderSettings } from "../catalogue/providers.ts"
import { field, isModelId, type ModelInput, ProviderSlug, wholeNumber } from "../catalogue/schema.ts"
import { isJsonObject, type JsonObject } from "../domain/Json.ts"
import { limitResets } from "../domain/Key.ts"
import { type Picodollars, parseUsd, roundUsd } from "../domain/Money.ts"
import { kindOf } from "../domain/Problem.ts"
import { NamedSecret, Secret } from "../plugin/Secret.ts"

/** A part of the configuration whose own fields have defaults, so that it may be left out. */
const part = <A, I>(struct: Schema.Schema<A, I>) =>
  Schema.optionalWith(struct, { default: () => Schema.decodeUnknownSync(struct)({}) })

/** A field that this version does not act on yet: any value but its default is refused. */
const later = <A>(schema: Schema.Schema<A>, fallback: A) =>
  field(
    schema.pipe(
      Schema.filter((written) => JSON.stringify(written) === JSON.stringify(fallback), {
        description: `${JSON.stringify(fallback)} (anything else is not available in this version yet)`,
      }),
    ),
    fallback,
  )

const amount = wholeNumber(0)

/** A timer of JavaScript cannot wait longer. */
const milliseconds = wholeNumber(0, 2 ** 31 - 1)

const text = (description: string, holds: (written: string) => boolean) =>
  Schema.String.pipe(Schema.filter(holds, { description }))

const name = text("a text that is not empty", (written) => written !== "")

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

/** A number from 0 to 1. */
const share = Schema.Number.pipe(
  Schema.filter((written) => written >= 0 && written <= 1, { description: "a number from 0 to 1" }),
)

const notNegative = Schema.Number.pipe(
  Schema.filter((written) => written >= 0 && Number.isFinite(written), { description: "a number of at least 0" }),
)

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

const anyObject = Schema.declare((value: unknown): value is JsonObject => isJsonObject(value), {
  description: "an object",
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
   * the working directory; it may be absent. Default "./data/catalogue.json".
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
   * Searched for plugins, relative to the working directory; these replace the default, and with it every vendor and strategy that
   * comes with the gateway. Default: "./plugins", then the plugins that come with the gateway.
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

/** `memory:`, `sqlite:PATH` (relative to the working directory), or the URL of a database of PostgreSQL. */
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

const isProxyUrl = (written: string): boolean => /^https?:\/\/[^/]/i.test(written) && URL.canParse(written)

/** USD, as a number or as text. */
const usd = Schema.transformOrFail(
  Schema.Union(Schema.Number, Schema.String),
  Schema.declare((value: unknown): value is Picodollars => typeof value === "bigint"),
  {
    strict: true,
    decode: (written, _options, ast) => {
      const amount = typeof written === "number" ? roundUsd(written) : parseUsd(written)
      return amount === undefined || amount < 0n
        ? ParseResult.fail(new ParseResult.Type(ast, written, `expected USD, at least 0, got ${kindOf(written)}`))
        : ParseResult.succeed(amount)
    },
    encode: (value, _options, ast) =>
      ParseResult.fail(new ParseResult.Forbidden(ast, value, "a configuration is not written")),
  },
).annotations({ description: "USD" })

const isWeight = (written: number): boolean => written > 0 && written <= 1_000_000

const ProviderKey = Schema.Struct({
  /** `{ "env": "NAME" }`. */
  key: NamedSecret,
  /** How often it is used in relation to the others. Default 1. */
  weight: field(Schema.Number.pipe(Schema.filter(isWeight, { description: "a number above 0, at most 1000000" })), 1),
  /** USD that the provider may charge for it, in each window of `limit_reset`. Default: no bound. */
  limit: field(Schema.NullOr(usd), null),
  /** "daily", "weekly" or "monthly", at 00:00 UTC. Default: never. */
  limitReset: field(Schema.NullOr(Schema.Literal(...limitResets)), null).pipe(Schema.fromKey("limit_reset")),
})

/** The gateway's own fields of a provider; whatever else is there is its plugin's. */
const ProviderFields = Schema.Struct({
  /** Id of the plugin. Default: the slug. */
  plugin: field(Schema.NullOr(name), null),
  /** Display name. Default: the plugin's. */
  name: field(Schema.NullOr(name), null),
  /** Ends with the version segment of the API. Default: the plugin's. https, unless `network` is "private". */
  baseUrl: field(Schema.NullOr(Schema.String), null).pipe(Schema.fromKey("base_url")),
  /** `{ "env": "NAME" }`. Default: the variable that the plugin names. */
  apiKey: field(Schema.NullOr(Secret), null).pipe(Schema.fromKey("api_key")),
  /** Several keys in place of `api_key`, of which each call uses one. Default: there is only `api_key`. */
  apiKeys: field(Schema.NullOr(Schema.NonEmptyArray(ProviderKey)), null).pipe(Schema.fromKey("api_keys")),
  /** What the provider does with prompts; a member left out counts as true. Default: what the plugin says. */
  privacy: field(
    Schema.NullOr(
      Schema.Struct({
        mayTrain: field(Schema.Boolean, true).pipe(Schema.fromKey("may_train")),
        retainsPrompts: field(Schema.Boolean, true).pipe(Schema.fromKey("retains_prompts")),
      }),
    ),
    null,
  ),
  /** Requests at once to this provider; further ones go to other hosts. Default: no bound. */
  maxConcurrent: field(Schema.NullOr(wholeNumber(1)), null).pipe(Schema.fromKey("max_concurrent")),
  /** Milliseconds until a stream's first event. Default: that of `limits`. */
  ttfbMs: field(Schema.NullOr(milliseconds), null).pipe(Schema.fromKey("ttfb_ms")),
  /** Default true. */
  enabled: field(Schema.Boolean, true),
  /** "private": loopback and private addresses, and http, are allowed. Default: what the plugin says, or else "public". */
  network: field(Schema.NullOr(Schema.Literal("public", "private")), null),
  /**
   * URL of an HTTP proxy, used whatever `NO_PROXY` says. Default: that of `HTTPS_PROXY` or `HTTP_PROXY`, for hosts with
   * network "public" that `NO_PROXY` does not exempt.
   */
  proxy: field(Schema.NullOr(text("an http or https URL", isProxyUrl)), null),
  /** The protocol that its hosts are called by. Default: the first of the plugin. */
  api: field(Schema.NullOr(name), null),
})

/** What an author writes of a provider. */
export type ProviderInput = typeof ProviderFields.Encoded & { readonly [pluginField: string]: unknown }

const gatewayFields = new Set<PropertyKey>(
  AST.getPropertySignatures(Schema.encodedSchema(ProviderFields).ast).map(({ name }) => name),
)

const decodeProvider = ParseResult.decodeUnknown(ProviderFields, { errors: "all", onExcessProperty: "error" })

/** The slug is not in the entry, and `plugin` may be left to it. */
type ProviderEntry = Omit<ProviderSettings, "slug" | "plugin"> & { readonly plugin: string | null }

/** What is wrong with the keys of a provider as a whole. */
const keysFault = ({ api_key: key, api_keys: keys }: ProviderInput): string | undefined => {
  if (!Array.isArray(keys)) return undefined
  if (key != null) return "expected nothing beside api_key: a provider has either"
  const written = keys.map((each: unknown) => JSON.stringify(isJsonObject(each) ? each["key"] : each))
  return new Set(written).size < written.length ? "expected each key once" : undefined
}

const Provider = Schema.transformOrFail(
  // Any object: its members are checked below, so that one pass finds all problems of the gateway's fields.
  Schema.declare((value: unknown): value is ProviderInput => isJsonObject(value), { description: "an object" }),
  Schema.declare((value: unknown): value is ProviderEntry => isJsonObject(value)),
  {
    strict: true,
    decode: (raw, _options, ast) => {
      const members = Object.entries(raw)
      const own: JsonObject = Object.fromEntries(members.filter(([member]) => !gatewayFields.has(member)))
      const fields = decodeProvider(Object.fromEntries(members.filter(([member]) => gatewayFields.has(member))))
      const url =
        typeof raw.base_url === "string"
          ? checkBaseUrl(raw.base_url, raw.network === "private" ? "private" : "public")
          : undefined
      const decoded = ParseResult.map(fields, (decodedFields) => ({
        ...decodedFields,
        baseUrl: decodedFields.baseUrl === null ? null : normalBaseUrl(decodedFields.baseUrl),
        own,
      }))
      const wrongAt = (member: keyof ProviderInput & string, message: string | undefined) =>
        message === undefined
          ? []
          : [new ParseResult.Pointer(member, raw, new ParseResult.Type(ast, raw[member], message))]
      const [first, ...more] = [...wrongAt("base_url", url), ...wrongAt("api_keys", keysFault(raw))]
      if (first === undefined) return decoded
      return ParseResult.flatMap(
        ParseResult.mapError(decoded, (issue) => new ParseResult.Composite(ast, raw, [issue, first, ...more])),
        () => ParseResult.fail(new ParseResult.Composite(ast, raw, [first, ...more])),
      )
    },
    encode: (settings, _options, ast) =>
      ParseResult.fail(new ParseResult.Forbidden(ast, settings, "a configuration is not written")),
  },
)

const Providers = Schema.transform(
  Schema.Record({ key: ProviderSlug, value: Provider }),
  Schema.declare((value: unknown): value is ReadonlyMap<string, ProviderSettings> => value instanceof Map),
  {
    strict: true,
    decode: (record) =>
      new Map(
        Object.entries(record).map(
          ([slug, entry]) => [slug, { ...entry, slug, plugin: entry.plugin ?? slug }] as const,
        ),
      ),
    encode: (map) => Object.fromEntries(map),
  },
)

const emptyEntry: ProviderEntry = Schema.decodeUnknownSync(Provider)({})

/** The settings of an empty entry under this slug. */
export const unconfigured = (slug: string): ProviderSettings => ({ ...emptyEntry, slug, plugin: slug })

const Aliases = Schema.transform(
  Schema.Record({ key: Schema.String, value: text("a model id <author>/<slug>", isModelId) }),
  Schema.declare((value: unknown): value is ReadonlyMap<string, string> => value instanceof Map),
  { strict: true, decode: (record) => new Map(Object.entries(record)), encode: (map) => Object.fromEntries(map) },
)

export const GatewayConfig = Schema.Struct({
  server: part(Server),
  /** "memory:", "sqlite:PATH" or "postgres://USER@HOST/DATABASE". Default "sqlite:./data/headgate.db". */
  storage: field(StorageText, { _tag: "Sqlite", path: "./data/headgate.db" }),
  /** "full": a reported cost survives a power cut (of PostgreSQL's server, too). "process": it survives the end of the process. Default "full". */
  durability: field(Schema.Literal("full", "process"), "full"),
  /**
   * With PostgreSQL: a folder on a disk of this machine, for what the server does not take in time. Relative to the working
   * directory. Default "./data".
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
