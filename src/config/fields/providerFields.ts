/** The providers of a configuration: the gateway's own fields of each, and those that are its plugin's. */
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as AST from "effect/SchemaAST"
import { checkBaseUrl, normalBaseUrl } from "../../catalogue/baseUrl.ts"
import type { ProviderSettings } from "../../catalogue/Providers.ts"
import { ProviderSlug, ShownName, Tags, wholeNumber } from "../../catalogue/schema.ts"
import { required, setting, writtenAs } from "../../catalogue/setting.ts"
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import { kindOf } from "../../domain/json/Problem.ts"
import { shownVariable } from "../../domain/json/variableName.ts"
import { limitResets } from "../../domain/keys/limitWindows.ts"
import { type Picodollars, parseUsd, roundUsd } from "../../domain/price/money.ts"
import { HeaderSecret, NamedSecret } from "../../plugin/Secret.ts"
import { isProxyUrl } from "../../upstream/environmentProxy.ts"
import type { ProviderInput } from "../configInput.ts"
import { milliseconds, name, text } from "./kinds.ts"

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

const weight = Schema.Number.pipe(
  Schema.filter((written) => written > 0 && written <= 1_000_000, { description: "a number above 0, at most 1000000" }),
)

const isMember = (written: string): boolean => /^[A-Za-z_][\w.-]{0,63}$/.test(written)
const memberName = text("the name of a member of a request", isMember)

const ProviderKey = Schema.Struct({
  key: required(NamedSecret, '`{ "env": "NAME" }`: the variable of the environment that has the key.'),
  weight: setting("weight", weight, {
    default: 1,
    description: "How often it is used in relation to the others: above 0, at most 1,000,000.",
  }),
  limit: setting("limit", Schema.NullOr(usd), {
    default: null,
    description: "USD that the provider may charge for it, in each window of `limit_reset`; `null`: no bound.",
  }),
  limitReset: setting("limit_reset", Schema.NullOr(Schema.Literal(...limitResets)), {
    default: null,
    description: "When the limit begins anew, at 00:00 UTC; weeks begin on Monday; `null`: never.",
  }),
}).annotations({ identifier: "ProviderKeyInput" })

const ProviderPrivacy = Schema.Struct({
  mayTrain: setting("may_train", Schema.Boolean, {
    default: true,
    description: "Whether it may train models on prompts.",
  }),
  retainsPrompts: setting("retains_prompts", Schema.Boolean, {
    default: true,
    description: "Whether it keeps prompts.",
  }),
}).annotations({ identifier: "ProviderPrivacyInput" })

/** The gateway's own fields of a provider; whatever else is there is its plugin's. */
export const ProviderFields = Schema.Struct({
  plugin: setting("plugin", Schema.NullOr(name), {
    otherwise: null,
    description: "Id of the plugin. Default: the slug.",
  }),
  name: setting("name", Schema.NullOr(ShownName), {
    otherwise: null,
    description: "Display name. Default: the plugin's.",
  }),
  baseUrl: setting("base_url", Schema.NullOr(Schema.String), {
    otherwise: null,
    description: `Address, with the version segment of the API at its end: "https://api.acme.example/v1". https, unless \`network\` is "private". Default: the plugin's.`,
  }),
  apiKey: setting("api_key", Schema.NullOr(HeaderSecret), {
    otherwise: null,
    description:
      '`{ "env": "NAME" }`: the variable of the environment that has the key. Default: the variable that the plugin names.',
  }),
  apiKeys: setting("api_keys", Schema.NullOr(Schema.NonEmptyArray(ProviderKey)), {
    otherwise: null,
    description:
      "Several keys in place of `api_key`, of which each call uses one (docs/provider-keys.md). Default: there is only `api_key`.",
  }),
  privacy: setting("privacy", Schema.NullOr(ProviderPrivacy), {
    otherwise: null,
    description:
      "What the provider does with prompts; a member left out counts as true. Default: what the plugin says.",
  }),
  maxConcurrent: setting("max_concurrent", Schema.NullOr(wholeNumber(1)), {
    otherwise: null,
    description: "Requests at once to this provider; further ones go to other hosts. Default: no bound.",
  }),
  ttfbMs: setting("ttfb_ms", Schema.NullOr(milliseconds), {
    otherwise: null,
    description: "Milliseconds until a stream's first event. Default: that of `limits`.",
  }),
  attemptMs: setting("attempt_ms", Schema.NullOr(milliseconds), {
    otherwise: null,
    description: "Milliseconds that one of its hosts has for a whole answer. Default: that of `limits`.",
  }),
  billsAfterAbort: setting("bills_after_abort", Schema.NullOr(Schema.Boolean), {
    otherwise: null,
    description:
      "Whether its hosts bill the whole answer even when a call is canceled (docs/billing.md). Default: the value of each host.",
  }),
  enabled: setting("enabled", Schema.Boolean, {
    default: true,
    description: "`false`: it is off, and its hosts are not called.",
  }),
  network: setting("network", Schema.NullOr(Schema.Literal("public", "private")), {
    otherwise: null,
    description:
      '"private": loopback and private addresses, and http, are allowed. Default: what the plugin says, or else "public".',
  }),
  proxy: setting("proxy", Schema.NullOr(text("an http or https URL", isProxyUrl)), {
    otherwise: null,
    description:
      'URL of an HTTP proxy, used whatever `NO_PROXY` says. Default: that of `HTTPS_PROXY` or `HTTP_PROXY`, for hosts with network "public" that `NO_PROXY` does not exempt.',
  }),
  traceparent: setting("traceparent", Schema.NullOr(Schema.Boolean), {
    otherwise: null,
    description:
      'Whether its hosts get the header `traceparent` while requests are traced (docs/traces.md). Default: where `network` is "private".',
  }),
  api: setting("api", Schema.NullOr(name), {
    otherwise: null,
    description: "Name of the protocol that its hosts are called by. Default: the first of the plugin.",
  }),
  tags: setting("tags", Tags, {
    default: [],
    description:
      "Marks of its hosts for strategies (docs/strategies.md#write), such as `eu` or `batch`: at most 16, each of 1 to 64 characters.",
  }),
  extraMembers: setting("extra_members", Schema.Array(memberName), {
    default: [],
    description:
      "Additional top-level members that requests may pass to its hosts unread, beside those of the API formats and of its plugin. Members that multiply a bill pass only if named here. No name replaces a member that the gateway writes, or lifts a refusal.",
  }),
})

const WrittenProvider = Schema.Struct(
  ProviderFields.fields,
  Schema.Record({ key: Schema.String, value: Schema.Unknown }),
).annotations({ identifier: "ProviderInput" })

/** As they are written. */
export const providerMembers: ReadonlyArray<string> = AST.getPropertySignatures(
  Schema.encodedSchema(ProviderFields).ast,
).map(({ name }) => String(name))

const gatewayFields = new Set<PropertyKey>(providerMembers)

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

/** The source of a key that is written into the configuration itself. */
export const plainTextSource = "plain text"

/** Where the configuration has a key, in words without the key: the variable's name, or `plainTextSource`. */
export const sourceOf = (written: unknown): string | undefined => {
  if (typeof written === "string") return plainTextSource
  return isJsonObject(written) && typeof written["env"] === "string" ? shownVariable(written["env"]) : undefined
}

const Provider = Schema.transformOrFail(
  // Any object: its members are checked below, so that one pass finds all problems of the gateway's fields.
  Schema.declare((value: unknown): value is ProviderInput => isJsonObject(value), {
    description: "an object",
    [writtenAs]: () => WrittenProvider,
  }),
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
      const source = sourceOf(raw.api_key)
      const decoded = ParseResult.map(fields, (decodedFields) => ({
        ...decodedFields,
        ...(source === undefined ? {} : { apiKeySource: source }),
        baseUrl: decodedFields.baseUrl === null ? null : normalBaseUrl(decodedFields.baseUrl),
        own,
      }))
      const wrongAt = (member: keyof ProviderInput & string, message: string | undefined) =>
        message === undefined
          ? []
          : [new ParseResult.Pointer(member, raw, new ParseResult.Type(ast, raw[member], message))]
      const noKey = "api_key" in raw && raw.api_key === undefined ? "expected a secret, got undefined" : undefined
      const [first, ...more] = [
        ...wrongAt("base_url", url),
        ...wrongAt("api_key", noKey),
        ...wrongAt("api_keys", keysFault(raw)),
      ]
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

/** By slug. */
export const Providers = Schema.transform(
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

/** The plugin's own fields of an entry whose gateway fields are wrong, so that the problems of both are reported together. */
export const halfRead = (slug: string, raw: JsonObject): ProviderSettings => {
  const { plugin } = raw
  const own = Object.fromEntries(Object.entries(raw).filter(([member]) => !gatewayFields.has(member)))
  return { ...unconfigured(slug), plugin: typeof plugin === "string" ? plugin : slug, own }
}

/** The settings of an empty entry under this slug. */
export const unconfigured = (slug: string): ProviderSettings => ({ ...emptyEntry, slug, plugin: slug })
