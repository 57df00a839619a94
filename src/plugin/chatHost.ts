/**
 * A provider that is nothing but data: a vendor that speaks the chat completion protocol, and how it deviates. Whatever does
 * not fit in here is a `defineProvider` with a protocol.
 */
import * as Record from "effect/Record"
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import type { CacheMultipliers } from "../domain/price/CacheMultipliers.ts"
import { unaryNames } from "../domain/request/operations.ts"
import type { ChatQuirks } from "../formats/chat/ChatQuirks.ts"
import { chatProtocol } from "../formats/chat/chatHost.ts"
import { type HostReasons, httpErrorWith } from "../formats/httpError.ts"
import type { Protocol } from "../formats/Protocol.ts"
import { defineProvider, type Provider, type ProviderPlugin } from "./Provider.ts"
import { type QuirksByOperation, unaryProtocolsFor } from "./unaryProtocols.ts"

/**
 * The argument of `chatHost`. The facts of the vendor are those of `ProviderPlugin`. It serves other operations than chats, such as
 * `embeddings`, where their members are present, with these deviations.
 */
export interface ChatHost
  extends Omit<ProviderPlugin, "kind" | "contract" | "load" | "variables">,
    Partial<QuirksByOperation> {
  /** Fields that the base URL needs, in braces there, each with the environment variable that usually holds it. */
  readonly fields?: Readonly<Record<string, string>>
  /** How its chat completions deviate. Default: not at all. */
  readonly chat?: Omit<ChatQuirks, "reasons">
  /** What its own error codes or statuses mean, where common words do not tell: `{ "1113": "account" }`. */
  readonly reasons?: HostReasons
  /** What its answers other than 200 mean, where that is not enough. Default: `httpErrorWith(reasons)`. */
  readonly error?: Provider["error"]
  /** The rule for the prices of its prompt cache, where it is the same for all models. */
  readonly cache?: CacheMultipliers
  /** Further protocols of its hosts, after `chat`, which stays the default. */
  readonly protocols?: Readonly<Record<string, Protocol>>
  readonly models?: Provider["models"]
  readonly listModels?: Provider["listModels"]
  readonly keyCheck?: Provider["keyCheck"]
}

/** What may stand in a base URL without changing its shape. */
const Segment = Schema.String.pipe(
  Schema.pattern(/^[\w-]+(\.[\w-]+)*$/, { description: "letters, digits, -, _ and single dots" }),
)

/** Makes a provider plugin out of facts: the default export of `plugins/providers/<id>/index.ts`. */
export const chatHost = (host: ChatHost): ProviderPlugin<Provider> => {
  const { fields = {}, chat, reasons = {}, cache, protocols, ...more } = host
  const { error = httpErrorWith(reasons), models, listModels, keyCheck, ...rest } = more
  const facts = Struct.omit(rest, ...unaryNames)
  const { baseUrl, ...others } = facts
  const hasFields = Object.keys(fields).length > 0
  const field = (name: string) =>
    Schema.propertySignature(Segment).annotations({ description: `What stands for \`{${name}}\` in \`${baseUrl}\`.` })
  return defineProvider({
    ...(hasFields || baseUrl === undefined ? others : facts),
    ...(hasFields ? { variables: fields, discoveredBy: host.discoveredBy ?? setsOf(host, fields) } : {}),
    config: Schema.Struct(Record.map(fields, (_, name) => field(name))),
    load: (config) => ({
      protocols: { chat: chatProtocol({ ...chat, reasons }), ...protocols },
      ...unaryProtocolsFor(host),
      error,
      ...(hasFields && baseUrl !== undefined ? { baseUrl: filled(baseUrl, config) } : {}),
      ...(cache === undefined ? {} : { cacheMultipliers: () => cache }),
      ...(models === undefined ? {} : { models }),
      ...(listModels === undefined ? {} : { listModels }),
      ...(keyCheck === undefined ? {} : { keyCheck }),
    }),
  })
}

/** A key variable together with the variables of all fields. */
const setsOf = ({ keyVariable = [] }: ChatHost, fields: Readonly<Record<string, string>>) =>
  [keyVariable].flat().map((key) => [key, ...Object.values(fields)])

const filled = (baseUrl: string, config: Readonly<Record<string, string>>): string =>
  baseUrl.replace(/\{(\w+)\}/g, (_, field: string) => config[field] ?? "")
