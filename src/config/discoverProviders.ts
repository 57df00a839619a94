/**
 * The providers that are on: those of the configuration, those whose environment variables are set, and those that need none.
 */
import { resolve } from "node:path"
import * as Config from "effect/Config"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Record from "effect/Record"
import * as Redacted from "effect/Redacted"
import { isOwnServer, type ProviderSettings, type Providers } from "../catalogue/Providers.ts"
import type { LocalServer } from "../catalogue/ResolvedConfig.ts"
import type { JsonObject } from "../domain/json/json.ts"
import type { Problem } from "../domain/json/Problem.ts"
import type { ProviderPlugin } from "../plugin/Provider.ts"
import { secretFault, trimmedSecret } from "../plugin/Secret.ts"
import { unconfigured } from "./fields/providerFields.ts"
import type { GatewayConfig } from "./GatewayConfig.ts"

/** Reads the environment variables that the plugins name. One that is empty or blank counts as not set. */
export const discoverProviders = (
  { providers, discovery }: GatewayConfig,
  plugins: ReadonlyArray<ProviderPlugin>,
  folder?: string,
  halfRead: ReadonlyArray<ProviderSettings> = [],
): Effect.Effect<{
  readonly configured: ReadonlyArray<ProviderSettings>
  readonly discovered: ReadonlyArray<ProviderSettings>
  /** With what the environment has for their plugins' fields. */
  readonly halfRead: ReadonlyArray<ProviderSettings>
  /** Variables whose text cannot be sent. */
  readonly problems: ReadonlyArray<Problem>
}> =>
  Effect.gen(function* () {
    const found = new Map<string, FromEnvironment>()
    for (const plugin of plugins) found.set(plugin.id, yield* fromEnvironment(plugin))
    const ownOf = ({ plugin, own }: ProviderSettings): JsonObject => {
      const files = plugins.find(({ id }) => id === plugin)?.files ?? []
      return { ...found.get(plugin)?.own, ...withPaths(own, files, folder) }
    }
    const faults = new Map<string, string>()
    const completed = (settings: ProviderSettings): ProviderSettings => {
      const { key = null, faults: ofIts = [] } = found.get(settings.plugin) ?? {}
      const configured = settings.apiKey ?? settings.apiKeys?.[0]?.key.secret
      const apiKey = configured ?? key?.value ?? null
      for (const { name, field, message } of settings.enabled ? ofIts : [])
        if (field === undefined ? configured === undefined : settings.own[field] === undefined)
          faults.set(name, message)
      return { ...settings, apiKey, own: ownOf(settings) }
    }
    const settings = {
      configured: Array.from(providers.values(), completed),
      discovered: plugins
        .filter(({ id }) => !providers.has(id))
        .filter(({ id, always }) => always === true || (discovery.environment && found.get(id)?.complete === true))
        .map(({ id }) => completed(unconfigured(id))),
    }
    const checked = halfRead.map((each) => ({ ...each, own: ownOf(each) }))
    return { ...settings, halfRead: checked, problems: Array.from(faults, ([path, message]) => ({ path, message })) }
  })

/** Paths that are written in the file, from its folder. What begins as JSON is the content of such a file. */
const withPaths = (own: JsonObject, files: ReadonlyArray<string>, folder: string | undefined): JsonObject =>
  folder === undefined
    ? own
    : Record.map(own, (value, field) =>
        typeof value === "string" && files.includes(field) && !value.trimStart().startsWith("{")
          ? resolve(folder, value)
          : value,
      )

/** Hostnames of this machine that mean the same to a server. */
const loopback = /^(?:localhost|127\.0\.0\.1|\[::1\])$/

/** Where a base URL leads to, whatever its path. */
const originOf = (baseUrl: string): string | undefined => {
  const url = URL.parse(baseUrl)
  if (url === null) return undefined
  return loopback.test(url.hostname) ? `loopback:${url.port}` : url.host
}

/**
 * Servers whose models are asked for while the gateway runs. One of this machine for each plugin that knows where they listen, under
 * the plugin's id and `-local`, without a key; not where the configuration has a provider of that slug or at that address. And
 * providers of the configuration that are such servers: what is installed there is known to them alone.
 */
export const localServers = (
  { discovery }: GatewayConfig,
  plugins: ReadonlyArray<ProviderPlugin>,
  configured: ReadonlyArray<ProviderSettings>,
): ReadonlyArray<LocalServer> => {
  if (!discovery.local) return []
  const byId = new Map(plugins.map((plugin) => [plugin.id, plugin]))
  const slugs = new Set(configured.map(({ slug }) => slug))
  const taken = new Set(configured.map(({ baseUrl, plugin }) => originOf(baseUrl ?? byId.get(plugin)?.baseUrl ?? "")))
  const found = plugins.flatMap((plugin): ReadonlyArray<LocalServer> => {
    const slug = `${plugin.id}-local`
    if (plugin.local === undefined || slugs.has(slug) || taken.has(originOf(plugin.local.baseUrl))) return []
    const settings: ProviderSettings = {
      ...unconfigured(slug),
      plugin: plugin.id,
      name: `${plugin.name} (local)`,
      baseUrl: plugin.local.baseUrl,
      network: "private",
      privacy: { mayTrain: false, retainsPrompts: false },
    }
    return [{ settings, plugin, isConfigured: false }]
  })
  const known = configured.flatMap((settings): ReadonlyArray<LocalServer> => {
    const plugin = byId.get(settings.plugin)
    return plugin !== undefined && settings.enabled && isOwnServer(settings, plugin)
      ? [{ settings, plugin, isConfigured: true }]
      : []
  })
  return [...found, ...known]
}

/**
 * Configured providers of plugins that list models (`listModels`), and that do not say where such servers usually listen: those on the
 * operator's own network are asked too. `unasked`: warnings of the others, whose models nobody asks for.
 */
export const furtherServers = (
  { discovery }: GatewayConfig,
  loaded: Providers,
): { readonly servers: ReadonlyArray<LocalServer>; readonly unasked: ReadonlyArray<string> } => {
  const listing = [...loaded.values()].flatMap((one) =>
    one.callable && one.plugin.local === undefined && one.provider.listModels !== undefined ? [one] : [],
  )
  const isAsked = ({ network }: (typeof listing)[number]): boolean => discovery.local && network === "private"
  return {
    servers: listing
      .filter(isAsked)
      .map(({ settings, plugin }): LocalServer => ({ settings, plugin, isConfigured: true })),
    unasked: listing
      .filter((one) => !isAsked(one))
      .map(({ settings: { slug }, network }) => {
        const why = network === "private" ? "discovery.local is false" : 'its network is not "private"'
        return `providers.${slug}: its plugin can list what is installed, and is not asked, since ${why}`
      }),
  }
}

/** What the environment has for one plugin. */
interface FromEnvironment {
  readonly key: Variable | null
  /** For the plugin's own fields. */
  readonly own: Readonly<Record<string, string>>
  /** Whether it is enough to turn the provider on. */
  readonly complete: boolean
  /** `field`: the plugin's own one that the variable is for; else its key. */
  readonly faults: ReadonlyArray<{ readonly name: string; readonly field?: string; readonly message: string }>
}

interface Variable {
  readonly name: string
  readonly value: Redacted.Redacted
}

const fromEnvironment = ({ keyVariable = [], variables = {}, discoveredBy }: ProviderPlugin) =>
  Effect.gen(function* () {
    const key = yield* firstOf(keyVariable)
    const faultIn = ({ name, value }: Variable, field?: string) => {
      const fault = secretFault(value, field === undefined)
      return fault === undefined ? [] : [{ name, message: `it ${fault}`, ...(field === undefined ? {} : { field }) }]
    }
    const own: Record<string, string> = {}
    const faults: Array<FromEnvironment["faults"][number]> = key === null ? [] : faultIn(key)
    for (const [field, names] of Object.entries(variables)) {
      const found = yield* firstOf(names)
      if (found === null) continue
      own[field] = Redacted.value(found.value)
      faults.push(...faultIn(found, field))
    }
    const complete = discoveredBy === undefined ? key !== null : yield* hasOneOf(discoveredBy)
    return { key, own, complete, faults } satisfies FromEnvironment
  })

const hasOneOf = (sets: ReadonlyArray<ReadonlyArray<string>>): Effect.Effect<boolean> =>
  Effect.exists(sets, (names) => Effect.every(names, (name) => Effect.map(variable(name), Option.isSome)))

/** The first of these variables that is set. */
const firstOf = (names: string | ReadonlyArray<string>): Effect.Effect<Variable | null> =>
  Effect.gen(function* () {
    for (const name of typeof names === "string" ? [names] : names) {
      const value = yield* variable(name)
      if (Option.isSome(value)) return { name, value: value.value }
    }
    return null
  })

const variable = (name: string): Effect.Effect<Option.Option<Redacted.Redacted>> =>
  Effect.match(Config.string(name), {
    onFailure: () => Option.none(),
    onSuccess: (value) => (value.trim() === "" ? Option.none() : Option.some(trimmedSecret(value))),
  })
