/**
 * The providers that are on: those of the configuration, those whose key variable is set, and those that need no key.
 * Architecture, configuration contract.
 */
import * as Config from "effect/Config"
import type { ConfigError } from "effect/ConfigError"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import type { ProviderPlugin } from "../plugin/Provider.ts"
import type { ProviderSettings } from "../services/ProviderRegistry.ts"
import type { GatewayConfig } from "./GatewayConfig.ts"

/** Settings by slug, the configured ones first. Reads the key variables that the plugins name. */
export const discoverProviders = (
  config: GatewayConfig,
  plugins: ReadonlyArray<ProviderPlugin>,
): Effect.Effect<ReadonlyArray<ProviderSettings>> =>
  Effect.gen(function* () {
    const keys = new Map<string, Redacted.Redacted>()
    for (const { id, keyVariable } of plugins) {
      const key = keyVariable === undefined ? Option.none() : yield* variable(keyVariable)
      if (Option.isSome(key)) keys.set(id, key.value)
    }
    const configured = Array.from(config.providers, ([slug, settings]) => ({
      ...settings,
      slug,
      apiKey: settings.apiKey ?? keys.get(settings.plugin) ?? null,
    }))
    const found = plugins.flatMap((plugin): ReadonlyArray<ProviderSettings> => {
      if (config.providers.has(plugin.id)) return []
      const apiKey = keys.get(plugin.id)
      const on = plugin.always === true || (config.discovery.environment && apiKey !== undefined)
      return on ? [{ slug: plugin.id, plugin: plugin.id, apiKey: apiKey ?? null }] : []
    })
    return [...configured, ...found]
  })

const variable = (name: string): Effect.Effect<Option.Option<Redacted.Redacted>, never> =>
  Config.option(Config.redacted(Config.nonEmptyString(name))).pipe(
    Effect.catchAll((_: ConfigError) => Effect.succeedNone),
  )
