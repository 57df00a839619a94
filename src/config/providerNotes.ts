/** All providers of a configuration and of the installed plugins, with what those who run the gateway want to know of them. */
import type { ProviderNote } from "../catalogue/ProviderNote.ts"
import { factsOf, type ProviderSettings } from "../catalogue/Providers.ts"
import type { ResolvedConfig } from "../catalogue/ResolvedConfig.ts"
import type { PluginInvalid } from "../plugin/checks/PluginInvalid.ts"
import type { ProviderPlugin } from "../plugin/Provider.ts"
import { plainTextSource } from "./fields/providerFields.ts"
import type { GatewayConfig } from "./GatewayConfig.ts"
import { keyVariables, providerStates } from "./providerStates.ts"

interface NotedSetup {
  readonly config: GatewayConfig
  readonly resolved: Pick<ResolvedConfig, "providers" | "localServers">
  /** Plugins that are off. */
  readonly invalid: ReadonlyArray<PluginInvalid>
}

type Environment = Readonly<Record<string, string | undefined>>

export const providerNotes = (
  { config, resolved, invalid }: NotedSetup,
  plugins: ReadonlyArray<ProviderPlugin>,
  environment: Environment,
): ReadonlyArray<ProviderNote> => {
  const states = providerStates({ config, resolved, invalid }, plugins, environment)
  const reasons = new Map(states.off.map(({ slug, why }) => [slug, why]))
  const byId = new Map(plugins.map((plugin) => [plugin.id, plugin]))
  const settings = new Map<string, ProviderSettings>(config.providers)
  const local = new Set<string>()
  for (const server of resolved.localServers) {
    if (config.providers.has(server.settings.slug)) continue
    local.add(server.settings.slug)
    settings.set(server.settings.slug, server.settings)
  }
  const inUse = new Set(Array.from(settings.values(), ({ plugin }) => plugin))
  const slugs = new Set([
    ...settings.keys(),
    ...resolved.providers.keys(),
    ...reasons.keys(),
    ...Array.from(byId.keys()).filter((id) => !inUse.has(id)),
  ])
  return [...slugs].map((slug) => {
    const loaded = resolved.providers.get(slug)
    const isOn = loaded?.callable === true
    const own = isOn ? loaded.settings : settings.get(slug)
    const plugin = isOn ? loaded.plugin : byId.get(own?.plugin ?? slug)
    return {
      slug,
      name: own === undefined ? (plugin?.name ?? slug) : factsOf(own, plugin).name,
      plugin: plugin?.id ?? own?.plugin ?? slug,
      source: sourceOf(slug),
      why: isOn || local.has(slug) ? null : (reasons.get(slug) ?? missingIn(plugin) ?? loaded?.reason ?? null),
      variables: variablesOf(own, plugin),
    }
  })

  function sourceOf(slug: string): ProviderNote["source"] {
    if (config.providers.has(slug)) return "configuration"
    if (local.has(slug)) return "local"
    return resolved.providers.get(slug)?.callable === true ? "environment" : "plugin"
  }

  function variablesOf(own: ProviderSettings | undefined, plugin: ProviderPlugin | undefined): ReadonlyArray<string> {
    const { apiKeys = null, apiKeySource } = own ?? {}
    if (apiKeys !== null) return apiKeys.flatMap(({ key: { variable } }) => variable ?? [])
    if (apiKeySource !== undefined) return apiKeySource === plainTextSource ? [] : [apiKeySource]
    if (plugin === undefined) return []
    const isSet = (name: string) => (environment[name] ?? "").trim() !== ""
    const found = keyVariables(plugin).find(isSet)
    if (found !== undefined) return [found]
    const [first = []] = plugin.discoveredBy ?? []
    return (
      plugin.discoveredBy?.find((names) => names.length > 0 && names.every(isSet)) ?? [
        ...new Set([...keyVariables(plugin), ...first]),
      ]
    )
  }
}

/** Why a plugin for which nothing is set makes no provider. */
const missingIn = (plugin: ProviderPlugin | undefined): string | undefined => {
  if (plugin === undefined) return undefined
  const names = plugin.discoveredBy?.[0] ?? keyVariables(plugin).slice(0, 1)
  if (names.length === 0) return "it is not configured"
  return `${names.join(", ")} ${names.length === 1 ? "is" : "are"} not set`
}
