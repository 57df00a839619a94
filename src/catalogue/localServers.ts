/**
 * Model servers that list what is installed there, in the resolved configuration: their providers, and their models at no cost. What a
 * server lists is not trusted: it cannot take the name of another model.
 */
import type { Model } from "../domain/hosts/Host.ts"
import type { ListedModel } from "../domain/hosts/ListedModel.ts"
import { isJsonObject } from "../domain/json/json.ts"
import { decodeModels, mergeModels, servedBy } from "./models.ts"
import { modelNames } from "./names.ts"
import { factsOf, type LoadedProvider } from "./Providers.ts"
import { type LocalServer, type ResolvedConfig, resolvedConfig } from "./ResolvedConfig.ts"

/** A server that was found. */
export interface FoundServer {
  readonly loaded: LoadedProvider
  readonly models: ReadonlyArray<Model>
}

const free = { prompt: "0", completion: "0" }

/** Models that a server may list. */
export const mostModels = 512

/**
 * The models that a server lists: `<plugin>/<name>`, free where the listing has no price. One that is invalid, or is named after
 * anything else than the plugin, is left out.
 */
export const modelsOf = (
  listed: ReadonlyArray<ListedModel>,
  { settings, plugin }: Omit<LocalServer, "isConfigured">,
): ReadonlyArray<Model> => {
  const own = listed.filter(({ id }) => String(id).startsWith(`${plugin.id}/`)).slice(0, mostModels)
  const priced = own.map(({ hosts = [{}], ...model }) => ({
    ...model,
    hosts: Array.isArray(hosts) ? hosts.map((host) => (isJsonObject(host) ? { pricing: free, ...host } : host)) : hosts,
  }))
  const facts = new Map([[settings.slug, factsOf(settings, plugin)]])
  return decodeModels(servedBy(priced, settings.slug), facts).models.filter(({ hosts }) => hosts.length > 0)
}

/**
 * `base` with these servers. A model or host that `base` has stays as it is there; the servers add to it. A name that means a model
 * of `base` goes on to mean it.
 */
export const withServers = (base: ResolvedConfig, found: ReadonlyArray<FoundServer>): ResolvedConfig => {
  if (found.length === 0) return base
  const providers = new Map(base.providers)
  for (const { loaded } of found) providers.set(loaded.settings.slug, loaded)
  const models = mergeModels([base.models, ...found.map((server) => server.models)])
  const next = resolvedConfig({ ...base, models, providers })
  const names = modelNames(models, base.aliases)
  const byId = new Map(models.map((model) => [model.id, model]))
  for (const [name, wanted] of base.names) {
    const model = byId.get(wanted.model.id)
    if (model !== undefined) names.set(name, { ...wanted, model })
  }
  return { ...next, names }
}
