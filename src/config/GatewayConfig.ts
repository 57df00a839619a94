/**
 * The configuration: `headgate.config.ts` and `headgate.config.json`. The file has the API's snake_case, the program camelCase:
 * each member is renamed where it is declared. Every member has a default; `{}` is a valid file. A new member is a `setting`, here or
 * in `fields/`; `bun scripts/configSchema.ts` writes what is said of it into `configInput.ts` and `config.schema.json`,
 * `bun scripts/reference.ts` into `docs/reference/configuration.md`.
 */
import { fileURLToPath } from "node:url"
import * as Schema from "effect/Schema"
import { isModelId, ModelEntry, type ModelInput, wholeNumber } from "../catalogue/schema.ts"
import { setting, writtenAs } from "../catalogue/setting.ts"
import { isPlugin } from "../plugin/loading/discover.ts"
import type { GatewayConfigInput } from "./configInput.ts"
import { Alerts } from "./fields/alertFields.ts"
import { amount, anyObject, later, name, publicText, share } from "./fields/kinds.ts"
import { Limits } from "./fields/limitFields.ts"
import { Providers } from "./fields/providerFields.ts"
import { Server } from "./fields/serverFields.ts"
import { StorageText } from "./StorageChoice.ts"

const Hedge = Schema.Struct({
  enabled: setting("enabled", Schema.Literal(false, "on_request", true), {
    default: false,
    description: '`"on_request"`: for requests with `provider.hedge: true`. `true`: for all but those with `false`.',
  }),
  maxCostShare: setting("max_cost_share", share, {
    default: 0.05,
    description: "Share of the spend of the last hour that losing calls may cost, 0 to 1.",
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

const Records = Schema.Struct({
  requestsDays: setting("requests_days", wholeNumber(0, 3650), {
    default: 30,
    description:
      "For how many days records of requests that were refused or failed are kept (`GET /requests`); 0: none are kept.",
  }),
  requestsRows: setting("requests_rows", wholeNumber(1, 1_000_000_000), {
    default: 1_000_000,
    description: "How many of them are kept; of more, the newest.",
  }),
}).annotations({ identifier: "RecordsInput" })

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

/** The plugins that come with the gateway. */
export const ownPluginFolder = fileURLToPath(new URL("../../plugins", import.meta.url))

/** "./plugins" may be absent. */
export const defaultPluginFolders: ReadonlyArray<string> = ["./plugins", ownPluginFolder]

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
  override: setting("override", Schema.Array(name), {
    default: [],
    description:
      "Ids of plugins that come with the gateway and that a plugin of yours with the same id replaces. Without its id here yours is off.",
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
  alerts: setting("alerts", Alerts, {
    otherwise: {},
    description: "Rules of what is told at once (docs/alerts.md). A change takes effect at the next start.",
  }),
  records: setting("records", Records, {
    otherwise: {},
    description: "Records of requests beside the ledger. A change takes effect at the next start.",
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
