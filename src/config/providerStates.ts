/** Which providers are on, with whose key, and why others are off that somebody wants: for those who run the gateway. */
import { basename } from "node:path"
import type { LoadedProvider } from "../catalogue/Providers.ts"
import type { ResolvedConfig } from "../catalogue/ResolvedConfig.ts"
import type { PluginInvalid } from "../plugin/checks/PluginInvalid.ts"
import type { ProviderPlugin } from "../plugin/Provider.ts"
import { plainTextSource } from "./fields/providerFields.ts"
import type { GatewayConfig } from "./GatewayConfig.ts"

export interface ProviderOn {
  readonly slug: string
  /** Where its key comes from, without the key. */
  readonly key: string
  /** Whether it is called without a key although its vendor has keys. */
  readonly lacksKey: boolean
}

export interface ProviderStates {
  readonly on: ReadonlyArray<ProviderOn>
  /** Those that are configured, or half configured by the environment; and plugins that cannot be used. */
  readonly off: ReadonlyArray<{ readonly slug: string; readonly why: string }>
  /** How many more there are, for which nothing is set. */
  readonly others: number
}

type Environment = Readonly<Record<string, string | undefined>>

const isSet = (environment: Environment) => (name: string) => (environment[name] ?? "").trim() !== ""

export const providerStates = (
  {
    config,
    resolved,
    invalid,
  }: {
    readonly config: GatewayConfig
    readonly resolved: Pick<ResolvedConfig, "providers">
    /** Plugins that are off. */
    readonly invalid: ReadonlyArray<PluginInvalid>
  },
  plugins: ReadonlyArray<ProviderPlugin>,
  environment: Environment,
): ProviderStates => {
  const known = [...resolved.providers]
  const on = known.flatMap(([slug, loaded]) =>
    loaded.callable ? [{ slug, ...keyOf(loaded, config, environment) }] : [],
  )
  const disabled = [...config.providers.values()].flatMap(({ slug, enabled }) =>
    enabled ? [] : [{ slug, why: "disabled in the configuration" }],
  )
  const broken = invalid.map(({ plugin, phase, reason }) => ({
    // The other plugin with its id may be on.
    slug: phase === "duplicate" ? plugin : basename(plugin),
    why: `${phase}: ${reason}`,
  }))
  const used = new Set([
    ...Array.from(config.providers.values(), ({ plugin }) => plugin),
    ...on.map(({ slug }) => slug),
    ...broken.map(({ slug }) => slug),
  ])
  const unused = plugins.filter(({ id }) => !used.has(id))
  const halves = unused.flatMap((plugin) => {
    const why = halfConfigured(plugin, config.discovery.environment, environment)
    return why === undefined ? [] : [{ slug: plugin.id, why }]
  })
  return { on, off: [...disabled, ...broken, ...halves], others: unused.length - halves.length }
}

export const keyVariables = ({ keyVariable = [] }: ProviderPlugin): ReadonlyArray<string> => [keyVariable].flat()

const plainText = `${plainTextSource} in the configuration`

const keyOf = (
  { settings, plugin }: LoadedProvider,
  { providers }: GatewayConfig,
  environment: Environment,
): Pick<ProviderOn, "key" | "lacksKey"> => {
  const { apiKeys } = settings
  if (apiKeys !== null) {
    const sources = apiKeys.map(({ key: { variable: name } }) => name ?? plainTextSource)
    return { key: `${apiKeys.length} in the configuration: ${sources.join(", ")}`, lacksKey: false }
  }
  const source = providers.get(settings.slug)?.apiKeySource
  if (source !== undefined)
    return { key: source === plainTextSource ? plainText : `environment variable ${source}`, lacksKey: false }
  const names = keyVariables(plugin)
  const found = names.find(isSet(environment))
  if (found !== undefined) return { key: `environment variable ${found}`, lacksKey: false }
  // Its other variables, such as those of a cloud's account, stand in for a key.
  const others = plugin.discoveredBy?.find((variables) => variables.every(isSet(environment)))
  if (others !== undefined && others.length > 0)
    return { key: `environment variables ${others.join(", ")}`, lacksKey: false }
  if (names.length === 0 || settings.network === "private") return { key: "none needed", lacksKey: false }
  return { key: `none: ${names.join(" or ")} is not set`, lacksKey: true }
}

/** Why a provider is off for which something is set in the environment. */
const halfConfigured = (
  plugin: ProviderPlugin,
  isDiscovered: boolean,
  environment: Environment,
): string | undefined => {
  const sets = plugin.discoveredBy ?? keyVariables(plugin).map((name) => [name])
  const [nearest] = sets
    .map((names) => ({
      set: names.filter(isSet(environment)),
      missing: names.filter((name) => !isSet(environment)(name)),
    }))
    .filter(({ set }) => set.length > 0)
    .toSorted((one, other) => one.missing.length - other.missing.length)
  if (nearest === undefined) return undefined
  const { set, missing } = nearest
  if (missing.length > 0) return `${set.join(", ")} set, but not ${missing.join(", ")}`
  return isDiscovered ? undefined : `${set.join(", ")} set, but discovery.environment is false`
}
