/**
 * The providers that are on: those of the configuration, those whose key variable is set, and those that need no key.
 */
import * as Config from "effect/Config"
import type { ConfigError } from "effect/ConfigError"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Redacted from "effect/Redacted"
import type { ProviderSettings } from "../catalogue/providers.ts"
import type { ProviderPlugin } from "../plugin/Provider.ts"
import { type GatewayConfig, unconfigured } from "./GatewayConfig.ts"

/** Reads the key variables that the plugins name. */
export const discoverProviders = (
  { providers, discovery }: GatewayConfig,
  plugins: ReadonlyArray<ProviderPlugin>,
): Effect.Effect<Record<"configured" | "discovered", ReadonlyArray<ProviderSettings>>> =>
  Effect.gen(function* () {
    const keys = new Map<string, Redacted.Redacted>()
    for (const { id, keyVariable } of plugins) {
      const key = keyVariable === undefined ? Option.none() : yield* variable(keyVariable)
      if (Option.isSome(key)) keys.set(id, key.value)
    }
    return {
      configured: Array.from(providers.values(), (settings) => ({
        ...settings,
        apiKey: settings.apiKey ?? keys.get(settings.plugin) ?? null,
      })),
      discovered: plugins
        .filter(({ id }) => !providers.has(id))
        .filter(({ id, always }) => always === true || (discovery.environment && keys.has(id)))
        .map(({ id }) => ({ ...unconfigured(id), apiKey: keys.get(id) ?? null })),
    }
  })

const variable = (name: string): Effect.Effect<Option.Option<Redacted.Redacted>, never> =>
  Config.option(Config.redacted(Config.nonEmptyString(name))).pipe(
    Effect.catchAll((_: ConfigError) => Effect.succeedNone),
  )
