/**
 * The contract between the gateway and a provider plugin. The plugin says how to write requests for one vendor and how
 * to read its answers. The gateway does the calls, signatures (with the plugin's help), time-outs, fallbacks, metering
 * and redaction.
 */
import type * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { ParseError } from "effect/ParseResult"
import type * as Redacted from "effect/Redacted"
import type * as Schema from "effect/Schema"
import type { HostFailed } from "../domain/failures/Failure.ts"
import type { Host } from "../domain/hosts/Host.ts"
import type { ListedModel } from "../domain/hosts/ListedModel.ts"
import type { ModelLimits } from "../domain/hosts/modelLimits.ts"
import type { CacheMultipliers } from "../domain/price/CacheMultipliers.ts"
import type { Encoded, Protocol } from "../formats/Protocol.ts"
import type { ResponseHead, ResponseHeaders } from "../wire/head.ts"
import { decodeStrictly } from "./checks/strict.ts"
import { type PluginContext, unheard } from "./PluginLog.ts"
import { gatherRedacted } from "./Secret.ts"
import type { UnaryProtocols } from "./unaryProtocols.ts"

/** Raised when a change of the contract breaks older plugins. */
export const contractVersion = 3

/** How the host expects its key. The gateway adds it. */
export type Auth =
  | { readonly _tag: "Bearer" }
  | { readonly _tag: "Header"; readonly name: string }
  | { readonly _tag: "None" }

export const bearer: Auth = { _tag: "Bearer" }
export const authHeader = (name: string): Auth => ({ _tag: "Header", name })
export const noAuth: Auth = { _tag: "None" }

/** Secrets by names that the plugin chooses. `api_key` is the provider's key from the configuration, when it is set. */
export type Credentials = Readonly<Record<string, Redacted.Redacted>>

/**
 * A request that a plugin makes in addition to an inference, such as for an access token. The rules for addresses hold
 * for it too.
 */
export interface SideRequest {
  readonly url: string
  readonly method?: "GET" | "POST"
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export interface SideAnswer extends ResponseHead {
  /** Text, at most 1 MiB. */
  readonly body: string
}

export interface SignContext {
  /** Where the request goes: base URL and path. */
  readonly url: string
  /** The provider's `credentials` and `api_key`. */
  readonly credentials: Credentials
  /** Calls another address of the vendor. Fails like a call to a host. */
  readonly http: (request: SideRequest) => Effect.Effect<SideAnswer, HostFailed>
  /** Unix milliseconds. */
  readonly now: number
}

/** Asks a server for the models that are installed there. No key is sent with it. */
export interface ListModels {
  /** Relative to the base URL, or to the root of the server where `fromRoot` says so. */
  readonly request: Encoded
  readonly fromRoot?: boolean
  /**
   * `body` is parsed JSON, or text where it was none, of an answer with status 200. `undefined`: what answers is no
   * server of this kind, since anything may listen at its port. A host without `pricing` costs nothing. Pure.
   */
  readonly decode: (body: unknown) => ReadonlyArray<ListedModel> | undefined
  /** For servers that say of a model only when asked what it can do. Called once for each new model. */
  readonly detail?: {
    /** `model`: what the server calls it. */
    readonly request: (model: string) => Encoded
    /** Pure. */
    readonly decode: (model: ListedModel, body: unknown) => ListedModel
  }
}

/** A host, as its vendor knows it. */
export interface VendorHost {
  /** The vendor's name of the model: `base_model` of the configuration, else what the host calls it. */
  readonly model: string
  /** Without a slash at its end: that of the configuration, or the plugin's own. */
  readonly baseUrl: string
}

/**
 * A loaded provider. Its hooks close over the decoded configuration, so the configuration's type does not appear here.
 */
export interface Provider extends Partial<UnaryProtocols> {
  /**
   * The protocols by which its hosts can be called for a chat, by name: `chat`, `messages`, `generate_content`, ... The
   * first one is the default; `api` of the configuration chooses another. Empty where its hosts do not chat.
   */
  readonly protocols: Readonly<Record<string, Protocol>>
  /**
   * What an answer other than 200 means. Pure. `body` is parsed JSON, or text where it was none; at most 64 KiB of it.
   * `httpError` knows the common meanings, and `HostFailed.with` refines what it says.
   */
  readonly error: (status: number, headers: ResponseHeaders, body: unknown) => HostFailed
  /**
   * A base URL that depends on the plugin's own configuration, such as a region. `base_url` of the configuration wins.
   */
  readonly baseUrl?: string
  /**
   * Secrets from the plugin's own configuration, and what was made of them. They are passed to `sign` only. The gateway
   * redacts all of them, and every `Secret` of the configuration besides.
   */
  readonly credentials?: Credentials
  /**
   * Signs a request that is otherwise complete: request signatures, access tokens. Runs once for each attempt. The
   * gateway redacts what it adds as a credential (headers, parameters of the query) and tokens in what `http` answers.
   */
  readonly sign?: (encoded: Encoded, context: SignContext) => Effect.Effect<Encoded, HostFailed>
  /**
   * Answers in the place of the network: for providers that are no host at all, such as `echo`. The gateway's deadlines
   * hold all the same. The request carries no credentials unless the plugin declares `auth`. What it rejects with
   * counts as a host that cannot be reached, unless it is a `HostFailed`.
   */
  readonly transport?: (request: Request) => Promise<Response>
  /**
   * A request that costs nothing and that only a valid key gets an answer to: `headgate doctor` sends it, signed as any
   * other. `baseUrl`: in the place of the provider's, unless the configuration has one. Default: `GET /models`.
   */
  readonly keyCheck?: { readonly request: Encoded; readonly baseUrl?: string }
  /** Its models, for servers that are found: `ProviderPlugin.local`. */
  readonly listModels?: ListModels
  /**
   * Models that this vendor serves. Called once, when the provider is loaded, and not at all when it is off. An entry
   * that is not accepted, a rejection, and more than five seconds turn the provider off, with a line on the log.
   */
  readonly models?: () => Promise<ReadonlyArray<ListedModel>>
  /**
   * Whether a host of the vendor's list can be called with this configuration: not one that other regions alone have.
   * Asked of the hosts that `models` or a catalogue file lists, not of those that an operator writes. Pure; called when
   * the catalogue is made. A throw, and a result of another kind, turn the provider off. Default: all can.
   */
  readonly canCall?: (host: VendorHost) => boolean
  /**
   * What hosts of some of its models take, where that differs from what its protocols write. It holds for the hosts of
   * operators too. Default: nothing is known.
   */
  readonly limits?: ReadonlyArray<ModelLimits>
  /**
   * The vendor's rule for the prices of its prompt cache, for hosts whose prices are known but for these. Pure; called
   * when the catalogue is made. A throw, and a result of another kind, turn the provider off. `undefined`: there is no
   * rule.
   */
  readonly cacheMultipliers?: (host: VendorHost) => CacheMultipliers | undefined
  /**
   * What the vendor charges for a token in regions other than the usual one, as multiples of the usual price with at
   * most six decimals, by the word in its answers (`ChatUsage.inference_geo`): `{ us: 1.1 }`. Default: unknown.
   */
  readonly regionMultipliers?: Readonly<Record<string, number>>
  /**
   * The protocol by which a host is called for a request with tools, where its usual one refuses them. Pure; called
   * when the catalogue is made. A throw, and a name that no protocol has, count as `undefined`: by the usual one. It is
   * not asked where the configuration names a protocol.
   */
  readonly toolsBy?: (host: Host) => string | undefined
}

/** What `load` gives: a provider, at once or later. */
export type Loading = Provider | Promise<Provider>

/** The default export of a provider plugin. */
export interface ProviderPlugin<P extends Loading = Loading> {
  readonly kind: "provider"
  readonly contract: number
  /** Equal to the folder's name. */
  readonly id: string
  /** Display name. */
  readonly name: string
  /**
   * Authors whose models the vendor serves as its own: the parts of ids before the slash. What its hosts call such a
   * model is a name that callers may use. Default: the plugin's id.
   */
  readonly authors?: ReadonlyArray<string>
  /** Default: a bearer token, and no credentials for a `transport`. */
  readonly auth?: Auth
  /** Base URL of the vendor's API, up to its version segment. Without one, the operator must configure `base_url`. */
  readonly baseUrl?: string
  /** The environment variable that usually holds the vendor's key. Of several, the first one that is set. */
  readonly keyVariable?: string | ReadonlyArray<string>
  /**
   * Environment variables that hold what the plugin's own fields need, such as a region: field, and the variable. Of
   * several, the first one that is set. Its text is used where the configuration does not have the field.
   */
  readonly variables?: Readonly<Record<string, string | ReadonlyArray<string>>>
  /**
   * The plugin's own fields that may be paths of files: relative ones count from the folder of the configuration file.
   */
  readonly files?: ReadonlyArray<string>
  /**
   * Sets of environment variables. When all of one set are there, the provider is on without configuration. Default:
   * the key variable is enough, whichever of several it is.
   */
  readonly discoveredBy?: ReadonlyArray<ReadonlyArray<string>>
  /**
   * `private`: a server on this machine or in this network, whose address may be so without a word of the operator's.
   */
  readonly network?: "private"
  /** The provider is on without configuration and without a key. */
  readonly always?: boolean
  /**
   * Where a server of this kind usually listens on its own machine, as a base URL. The gateway looks there for one,
   * unless it is told not to (`discovery.local`), and asks it for its models: `Provider.listModels`.
   */
  readonly local?: { readonly baseUrl: string }
  /** What the vendor says it does with prompts of this API. */
  readonly privacy?: { readonly mayTrain: boolean; readonly retainsPrompts: boolean }
  /**
   * Decodes the provider's own part of the configuration, strictly, and closes over it. Not called while the provider
   * is off. The provider may come later, in at most five seconds; the configuration is decoded at once. What it throws
   * or rejects with, and a result of another kind, turn the plugin off. Without a `context` what the plugin logs is not
   * heard.
   */
  readonly load: (config: unknown, context?: PluginContext) => Either.Either<P, ParseError>
}

/** The argument of `defineProvider`. */
export interface ProviderDefinition<A, I, P extends Loading = Loading>
  extends Omit<ProviderPlugin, "kind" | "contract" | "load"> {
  /** Schema of the provider's own fields. The gateway's fields are removed before. */
  readonly config: Schema.Schema<A, I>
  /**
   * A provider whose protocol is code of its own imports it here, so that a gateway without this provider does not load
   * it: `load: async (config) => (await import("./provider.ts")).provider(config)`. `context.log` is the plugin's
   * logger, for any hook.
   */
  readonly load: (config: A, context: PluginContext) => P
}

/** Where a plugin keeps its Schema, which is no part of the contract. */
const ownSchema = Symbol.for("headgate/ownSchema")

/**
 * Schema of the plugin's own fields, of which `docs/reference/providers.md` is made; `undefined`: `defineProvider` did
 * not make the plugin.
 */
export const ownSchemaOf = (
  plugin: ProviderPlugin & { readonly [ownSchema]?: Schema.Schema.All },
): Schema.Schema.All | undefined => plugin[ownSchema]

/** Makes a provider plugin: the default export of `plugins/providers/<id>/index.ts`. */
export function defineProvider<A, I>(definition: ProviderDefinition<A, I, Provider>): ProviderPlugin<Provider>
export function defineProvider<A, I>(
  definition: ProviderDefinition<A, I, Promise<Provider>>,
): ProviderPlugin<Promise<Provider>>
export function defineProvider<A, I>(definition: ProviderDefinition<A, I>): ProviderPlugin {
  const { config, load, ...facts } = definition
  const decode = decodeStrictly(config)
  const loaded = (own: A, context: PluginContext): Loading => {
    gatherRedacted(own)
    return load(own, context)
  }
  const plugin: ProviderPlugin = {
    kind: "provider",
    contract: contractVersion,
    ...facts,
    load: (raw, context = unheard) => Either.map(decode(raw), (own) => loaded(own, context)),
  }
  return Object.assign(plugin, { [ownSchema]: config })
}
