/** How servers with OpenAI's `GET /models` list what they serve. */

import type { ListedHost, ListedModel } from "../domain/hosts/ListedModel.ts"
import { isJsonObject, type JsonObject } from "../domain/json/json.ts"
import type { ListModels } from "./Provider.ts"

/** What a model is assumed to hold whose length its server does not say. The server refuses what is too long for it. */
const unknownLength = 131_072

export interface ServerListing {
  /** Id of the plugin: models are `<plugin>/<name>`. */
  readonly plugin: string
  /** Whether an entry is one of this kind of server: anything may listen at its port. */
  readonly isOwn: (entry: JsonObject) => boolean
  /** Tokens that a model holds, where the entry says so. An adapter whose entry does not is as long as its `parent`. */
  readonly contextLength: (entry: JsonObject) => unknown
  /** Default: the entry's `id`. */
  readonly name?: (id: string) => string
  readonly architecture?: (entry: JsonObject) => ListedModel["architecture"]
  readonly host?: (entry: JsonObject) => ListedHost
  /** Default `/models`, relative to the base URL. */
  readonly pathFromRoot?: string
}

/** For `Provider.listModels`. A listing with a foreign entry is one of another server. */
export const serverListing = (options: ServerListing): ListModels => {
  const { plugin, isOwn, contextLength, name = (id) => id, architecture, host, pathFromRoot } = options
  const lengthOf = (entry: JsonObject): number | undefined => {
    const length = contextLength(entry)
    return typeof length === "number" && Number.isInteger(length) && length > 0 ? length : undefined
  }
  const listed = (entry: JsonObject, others: ReadonlyArray<JsonObject>): ListedModel => {
    const id = String(entry["id"])
    const parent = others.find((other) => other !== entry && other["id"] === entry["parent"])
    const known = architecture?.(entry)
    return {
      id: `${plugin}/${name(id)}`,
      context_length: lengthOf(entry) ?? (parent === undefined ? undefined : lengthOf(parent)) ?? unknownLength,
      ...(known === undefined ? {} : { architecture: known }),
      hosts: [{ model: id, ...host?.(entry) }],
    }
  }
  return {
    request: { method: "GET", path: pathFromRoot ?? "/models", body: "" },
    ...(pathFromRoot === undefined ? {} : { fromRoot: true }),
    decode: (body) => {
      const entries = isJsonObject(body) ? body["data"] : undefined
      const isListing =
        Array.isArray(entries) && entries.length > 0 && entries.every((entry) => isEntry(entry) && isOwn(entry))
      return isListing ? entries.map((entry) => listed(entry, entries)) : undefined
    },
  }
}

const isEntry = (entry: unknown): entry is JsonObject => isJsonObject(entry) && typeof entry["id"] === "string"
