/**
 * The configuration: `headgate.config.ts` and `headgate.config.json`. The file has the API's snake_case, the program camelCase:
 * each member is renamed where it is declared. Every member has a default; `{}` is a valid file. What is said of a member here is
 * what `scripts/configSchema.ts` writes into `configInput.ts`, `config.schema.json` and `docs/configuration.md`.
 */
import { fileURLToPath } from "node:url"
import * as Schema from "effect/Schema"
import ipaddr from "ipaddr.js"
import { isModelId, ModelEntry, type ModelInput, wholeNumber } from "../catalogue/schema.ts"
import { setting, writtenAs } from "../catalogue/setting.ts"
import { isPlugin } from "../plugin/loading/discover.ts"
import type { GatewayConfigInput } from "./configInput.ts"
import { amount, anyObject, later, milliseconds, name, notNegative, publicText, share } from "./fields.ts"
import { Providers } from "./providerFields.ts"
import { StorageText } from "./StorageChoice.ts"

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

const origin = publicText(
  '"*" or an origin such as "https://app.example"',
  (written) => written === "*" || (URL.canParse(written) && new URL(written).origin === written),
)

const Metrics = Schema.Struct({
  open: later("open", Schema.Boolean, {
    default: false,
    description: "Whether `/metrics` is open to all. Not available in this version yet.",
  }),
}).annotations({ identifier: "MetricsInput" })

const Server = Schema.Struct({
  hostname: setting("hostname", Hostname, {
    default: "127.0.0.1",
    description: "Address to listen on: 127.0.0.1 is this machine alone, 0.0.0.0 every network.",
  }),
  port: setting("port", Port, {
    default: 8787,
    description: "TCP port, 0 to 65535; 0: any free one.",
  }),
  workers: setting("workers", wholeNumber(1, 64), {
    default: 1,
    description: "Processes that share the port, 1 to 64. More than one need PostgreSQL and Linux.",
  }),
  trustedProxies: later("trusted_proxies", Schema.Array(Schema.String), {
    default: [],
    description: "Addresses or ranges (CIDR) whose `X-Forwarded-For` is believed. Not available in this version yet.",
  }),
  corsOrigins: setting("cors_origins", Schema.Array(origin), {
    default: ["*"],
    description: 'Origins whose pages may call models and read the listings, such as "https://app.example"; "*": all.',
  }),
  drainSeconds: setting("drain_s", wholeNumber(0, 86_400), {
    default: 30,
    description: "Seconds that running requests get to end when the gateway stops, 0 to 86,400.",
  }),
  drainDelaySeconds: setting("drain_delay_s", wholeNumber(0, 3600), {
    default: 0,
    description:
      "Seconds between the signal to stop and the closing of the port, 0 to 3,600: requests are still served, `/readyz` says 503. For gateways behind a balancer (docs/deployment.md).",
  }),
  metrics: setting("metrics", Metrics, {
    otherwise: {},
    description: "Figures of the gateway for those who watch it.",
  }),
  openMetrics: later("open_metrics", Schema.Boolean, {
    otherwise: false,
    description: "Earlier name of `server.metrics.open`. It is still read, with a warning.",
  }),
}).annotations({ identifier: "ServerInput" })

const Breaker = Schema.Struct({
  consecutiveFailures: setting("consecutive_failures", amount, {
    default: 5,
    description: "Failures in a row that open it; 0: never.",
  }),
  errorRate: setting("error_rate", share, {
    default: 0.5,
    description: "Share of failures within 30 seconds that opens it, 0 to 1; 0: never.",
  }),
  minRequests: setting("min_requests", amount, {
    default: 20,
    description: "Requests within 30 seconds before the share counts; 0: the first one counts.",
  }),
  openSeconds: setting("open_s", wholeNumber(0, 300), {
    default: 30,
    description:
      "Seconds that it stays open the first time, 0 to 300; then twice, three times as many, up to 300. 0: it never opens.",
  }),
}).annotations({ identifier: "BreakerInput" })

const Cooldown = Schema.Struct({
  accountSeconds: setting("account_s", amount, {
    default: 60,
    description: "Seconds after it refused our account (401, 402).",
  }),
  notFoundSeconds: setting("not_found_s", amount, {
    default: 60,
    description: "Seconds after it did not know the model.",
  }),
  rateLimitSeconds: setting("rate_limit_s", amount, {
    default: 5,
    description: "Seconds after a 429 that named no time.",
  }),
  maxSeconds: setting("max_s", amount, {
    default: 300,
    description: "Seconds at most, also where the host named a time.",
  }),
}).annotations({ identifier: "CooldownInput" })

const Limits = Schema.Struct({
  ttfbMs: setting("ttfb_ms", Schema.NullOr(milliseconds), {
    default: null,
    description:
      "Milliseconds until a stream's first event. Default: 2 minutes, 5 where the model may think unseen or no other host is left (docs/routing.md).",
  }),
  attemptMs: setting("attempt_ms", Schema.NullOr(milliseconds), {
    default: null,
    description:
      "Milliseconds that one host has for a whole answer. Default: by `max_tokens` and the host's speed, from 2 minutes to most of the deadline; none for the last host (docs/routing.md).",
  }),
  attemptMsByModel: setting("attempt_ms_by_model", Schema.Record({ key: Schema.String, value: milliseconds }), {
    default: {},
    description: "The same by the id of the model, in place of the provider's own and of `attempt_ms`.",
  }),
  idleMs: setting("idle_ms", milliseconds, {
    default: 60_000,
    description: "Milliseconds between events of a stream.",
  }),
  thinkingIdleMs: setting("thinking_idle_ms", milliseconds, {
    default: 300_000,
    description: "Milliseconds between events while a model that reasons has sent no content.",
  }),
  deadlineMs: setting("deadline_ms", milliseconds, {
    default: 600_000,
    description: "Milliseconds for a whole request, all attempts together.",
  }),
  commitAfterMs: setting("commit_after_ms", milliseconds, {
    default: 10_000,
    description: "Milliseconds after which a stream's status is sent although no event came.",
  }),
  maxInFlight: setting("max_in_flight", amount, {
    default: 1024,
    description:
      "Requests at once, per process; further ones get 503. A key may have a quarter of them, and 64 in any case; above that 429.",
  }),
  bodyBytes: setting("body_bytes", amount, {
    default: 33_554_432,
    description: "Bytes of a request's body, and of a host's whole answer or one event of its stream.",
  }),
  streamBytes: setting("stream_bytes", amount, {
    default: 67_108_864,
    description: "Bytes of one stream of a host.",
  }),
  clientStallMs: setting("client_stall_ms", milliseconds, {
    default: 60_000,
    description: "Milliseconds that a caller may take no byte of a stream.",
  }),
  minBytesPerSecond: setting("min_bytes_per_s", amount, {
    default: 16,
    description: "Bytes per second, over a minute, that a stream of a host must reach.",
  }),
  retries: setting("retries", notNegative, {
    default: 0.2,
    description:
      "Attempts after the first one of a request, of all requests together, as a share of the requests of the last 10 seconds. 10 a second are always allowed.",
  }),
  breaker: setting("breaker", Breaker, {
    otherwise: {},
    description: "When a host that keeps failing is not called for a while.",
  }),
  cooldown: setting("cooldown", Cooldown, {
    otherwise: {},
    description: "Seconds for which a host is not called after certain answers.",
  }),
}).annotations({ identifier: "LimitsInput" })

const Hedge = Schema.Struct({
  enabled: setting("enabled", Schema.Literal(false, "on_request", true), {
    default: false,
    description: '`"on_request"`: for requests with `provider.hedge: true`. `true`: for all but those with `false`.',
  }),
  maxCostShare: setting("max_cost_share", share, {
    default: 0.05,
    description: "Share of the spend of the last hour that the calls may cost that lose, 0 to 1.",
  }),
}).annotations({ identifier: "HedgeInput" })

const Routing = Schema.Struct({
  strategy: setting("strategy", name, {
    default: "balanced",
    description: "Id of the strategy plugin that orders the hosts of a model.",
  }),
  strategies: setting("strategies", Schema.Record({ key: Schema.String, value: anyObject }), {
    default: {},
    description: "The configuration of each strategy plugin, by its id (docs/strategies.md).",
  }),
  hedge: setting("hedge", Hedge, {
    otherwise: {},
    description:
      "A second host is called when the first one is slow, for a stream or a whole answer (docs/hedging.md).",
  }),
}).annotations({ identifier: "RoutingInput" })

const FreeModels = Schema.Struct({
  requestsPerMinute: setting("requests_per_minute", wholeNumber(0, 10_000), {
    default: 20,
    description: "Requests in any 60 seconds.",
  }),
  requestsPerDay: setting("requests_per_day", amount, {
    default: 1000,
    description: "Requests on a UTC day.",
  }),
}).annotations({ identifier: "FreeModelsInput" })

const Billing = Schema.Struct({
  unknownPrice: setting("unknown_price", Schema.Literal("deny", "estimate", "allow"), {
    default: "deny",
    description:
      'Hosts without a price. "deny": a key with a limit may not call them, others pay nothing. "estimate": they cost what the dearest host of the same model costs, or else that of the same author. "allow": they cost nothing.',
  }),
  errorFinish: setting("error_finish", Schema.Literal("free", "metered"), {
    default: "free",
    description:
      'Answers that a failure of their host ended; a finish that the model chose is none. "free": they cost nothing. "metered": they cost what came of them.',
  }),
  freeModels: setting("free_models", FreeModels, {
    otherwise: {},
    description: `Requests per key to models that cost nothing. Hosts of providers with \`network: "private"\` are not counted, unless the model's id ends in \`:free\`.`,
  }),
}).annotations({ identifier: "BillingInput" })

const ContentPrivacy = Schema.Struct({
  logContent: later("log_content", Schema.Boolean, {
    default: false,
    description: "Whether prompts and answers may be logged. Not available in this version yet.",
  }),
  idempotencyBodies: setting("idempotency_bodies", Schema.Boolean, {
    default: true,
    description: "Whether an answer is kept for 24 hours for a caller who sent an Idempotency-Key.",
  }),
}).annotations({ identifier: "PrivacyInput" })

const Discovery = Schema.Struct({
  environment: setting("environment", Schema.Boolean, {
    default: true,
    description: "Whether providers are on whose key variable is set.",
  }),
  local: setting("local", Schema.Boolean, {
    default: true,
    description:
      "Whether model servers on loopback are looked for at their usual ports, every 30 seconds. In an app that embeds the gateway only where `true` is written.",
  }),
}).annotations({ identifier: "DiscoveryInput" })

const CatalogueSettings = Schema.Struct({
  file: setting("file", name, {
    default: "./data/catalogue.json",
    description:
      "A file with lists of models, which replace those of the plugins (docs/catalogue.md). Relative to the folder of this file; it may be absent.",
  }),
}).annotations({ identifier: "CatalogueInput" })

const packageName = publicText("the name of a package", (written) =>
  /^(@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*$/i.test(written),
)

const plugin = Schema.declare(isPlugin, {
  identifier: "Plugin",
  description: "a plugin made by defineProvider or defineStrategy",
})

/** "./plugins" may be absent. */
export const defaultPluginFolders: ReadonlyArray<string> = [
  "./plugins",
  fileURLToPath(new URL("../../plugins", import.meta.url)),
]

const Plugins = Schema.Struct({
  folders: setting("folders", Schema.Array(name), {
    otherwise: defaultPluginFolders,
    description:
      'Folders that are searched, relative to the folder of this file. They replace the default, and with it every vendor and strategy that comes with the gateway. Default: "./plugins" and the folder that comes with the gateway.',
  }),
  packages: setting("packages", Schema.Array(packageName), {
    default: [],
    description: "Names of packages that are plugins, found from the folder of this file.",
  }),
  inline: setting("inline", Schema.Array(plugin), {
    default: [],
    description: "Plugins that this file itself defines or imports. They come before those of the folders.",
  }),
  required: setting("required", Schema.Array(name), {
    default: [],
    description: "Ids of plugins without which the gateway does not start.",
  }),
}).annotations({ identifier: "PluginsInput" })

const Aliases = Schema.transform(
  Schema.Record({ key: Schema.String, value: publicText("a model id <author>/<slug>", isModelId) }),
  Schema.declare((value: unknown): value is ReadonlyMap<string, string> => value instanceof Map),
  { strict: true, decode: (record) => new Map(Object.entries(record)), encode: (map) => Object.fromEntries(map) },
)

// Read one by one, with the plugins, so that an invalid one does not affect the others.
const Models = Schema.declare((value: unknown): value is ReadonlyArray<ModelInput> => Array.isArray(value), {
  description: "a list",
  [writtenAs]: () => Schema.Array(ModelEntry),
})

export const GatewayConfig = Schema.Struct({
  schema: setting("$schema", Schema.String, {
    otherwise: "",
    description: 'For editors: the path of the JSON Schema of this file, "./node_modules/headgate/config.schema.json".',
  }),
  server: setting("server", Server, {
    otherwise: {},
    description: "Addresses and processes. A change takes effect at the next start.",
  }),
  storage: setting("storage", StorageText, {
    default: "sqlite:./data/headgate.db",
    description:
      'Where keys and ledger are kept: "memory:", "sqlite:PATH" (relative to the folder of this file) or "postgres://USER@HOST/DATABASE". A change takes effect at the next start.',
  }),
  durability: setting("durability", Schema.Literal("full", "process"), {
    default: "full",
    description: `"full": a reported cost survives a power cut (of PostgreSQL's server, too). "process": it survives the end of the process. A change takes effect at the next start.`,
  }),
  spoolFolder: setting("spool_folder", Schema.NonEmptyString, {
    default: "./data",
    description:
      "With PostgreSQL: a folder on a disk of this machine, for what the server does not take in time. Relative to the folder of this file. A change takes effect at the next start.",
  }),
  limits: setting("limits", Limits, {
    otherwise: {},
    description: "Bounds of one request and of all; 0 switches one off.",
  }),
  routing: setting("routing", Routing, {
    otherwise: {},
    description: "Which host is called.",
  }),
  billing: setting("billing", Billing, {
    otherwise: {},
    description: "What is charged where it is not plain.",
  }),
  privacy: setting("privacy", ContentPrivacy, {
    otherwise: {},
    description: "What is kept of prompts and answers.",
  }),
  discovery: setting("discovery", Discovery, {
    otherwise: {},
    description: "Providers that are turned on without being configured.",
  }),
  plugins: setting("plugins", Plugins, {
    otherwise: {},
    description: "Where plugins are found. A change takes effect at the next start.",
  }),
  catalogue: setting("catalogue", CatalogueSettings, {
    otherwise: {},
    description: "Lists of models from a file.",
  }),
  aliases: setting("aliases", Aliases, {
    default: {},
    description: "Names that callers may use, and the ids of the models that they mean.",
  }),
  providers: setting("providers", Providers, {
    default: {},
    description: "Vendors and servers, by a slug of your own. Those that are discovered need none.",
  }),
  models: setting("models", Models, {
    default: [],
    description:
      "Models of your own, and the hosts that serve them, with prices in USD per token. They come before those of the plugins.",
  }),
}).annotations({ identifier: "GatewayConfigInput" })

/** A decoded configuration, all defaults filled in. */
export type GatewayConfig = typeof GatewayConfig.Type

export type { GatewayConfigInput } from "./configInput.ts"

/** Types the default export of `headgate.config.ts`, so that editors complete and check it. Returns its argument. */
export const defineConfig = (config: GatewayConfigInput): GatewayConfigInput => config
