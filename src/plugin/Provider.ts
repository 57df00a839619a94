/**
 * The contract between the house and a provider: how the requests of one vendor look on its wire and how its
 * answers are read. The house does the calling, the timing, the retrying and the counting. Architecture, plugin contract.
 */
import * as Either from "effect/Either"
import type { ParseError } from "effect/ParseResult"
import type * as Schema from "effect/Schema"
import type { HostFailed } from "../domain/Failure.ts"
import type { JsonObject } from "../domain/Json.ts"
import type { WireForm } from "../wire/Form.ts"
import { decodeStrictly } from "./strict.ts"

/** Raised when a change of the contract breaks older plugins. */
export const contractVersion = 1

/** How the host wants its key. The house puts it there; plugins never see one. */
export type Auth =
  | { readonly _tag: "Bearer" }
  | { readonly _tag: "Header"; readonly name: string }
  | { readonly _tag: "None" }

export const bearer: Auth = { _tag: "Bearer" }
export const authHeader = (name: string): Auth => ({ _tag: "Header", name })
export const noAuth: Auth = { _tag: "None" }

/** The wire forms that a client's form can be carried over. The first one given is the default. */
export interface Operations {
  readonly chat?: WireForm
  readonly messages?: WireForm
}

/** A loaded provider: its configuration is closed over, so nothing of its type is left. */
export interface Provider {
  readonly operations: Operations
  /** What an answer other than 200 means. Pure. `body` is parsed JSON, or text where it was none. */
  readonly error: (status: number, headers: Headers, body: unknown) => HostFailed
  /** Models that this vendor serves, in the form of `models` of the configuration, `provider` left out. */
  readonly models?: ReadonlyArray<JsonObject>
  /** Answers in place of the network: for providers that are no host at all, such as `echo`. */
  readonly answer?: (request: Request) => Response | Promise<Response>
}

/** What a plugin's default export has to be. */
export interface ProviderPlugin {
  readonly kind: "provider"
  readonly contract: number
  /** Equal to the folder's name. */
  readonly id: string
  /** Display name. */
  readonly name: string
  readonly auth: Auth
  /** Where the vendor's API is; ends with its version segment. A provider without one must be given one. */
  readonly baseUrl?: string
  /** The environment variable that usually holds the vendor's key; set, it turns the provider on when nothing is configured. */
  readonly keyVariable?: string
  /** On with nothing configured and without a key. */
  readonly always?: boolean
  /** What the vendor says it does with prompts through this API. */
  readonly privacy?: { readonly mayTrain: boolean; readonly retainsPrompts: boolean }
  /** Decodes the provider's own part of the configuration, strictly, and closes over it. */
  readonly load: (config: unknown) => Either.Either<Provider, ParseError>
}

/** What a plugin's author writes. */
export interface ProviderDefinition<A, I> extends Partial<Pick<ProviderPlugin, "auth">> {
  readonly id: string
  readonly name: string
  readonly baseUrl?: string
  readonly keyVariable?: string
  readonly always?: boolean
  readonly privacy?: NonNullable<ProviderPlugin["privacy"]>
  /** The provider's own fields; the house's fields (architecture, configuration) are taken out before. */
  readonly config: Schema.Schema<A, I>
  readonly load: (config: A) => Provider
}

/** Makes a provider plugin: the default export of `plugins/providers/<id>/index.ts`. */
export const defineProvider = <A, I>(definition: ProviderDefinition<A, I>): ProviderPlugin => {
  const { config, load, ...facts } = definition
  const decode = decodeStrictly(config)
  return {
    kind: "provider",
    contract: contractVersion,
    auth: bearer,
    ...facts,
    load: (raw) => Either.map(decode(raw), load),
  }
}
