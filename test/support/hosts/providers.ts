/** The provider plugins that come with the gateway. */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { discover } from "../../../src/plugin/loading/discover.ts"
import type { Provider, ProviderPlugin } from "../../../src/plugin/Provider.ts"
import { ownPluginsFolder } from "./ownPlugins.ts"

const { plugins } = await Effect.runPromise(discover([ownPluginsFolder()]))

/** By id. */
export const providerPlugins: ReadonlyMap<string, ProviderPlugin> = new Map(
  plugins.flatMap((plugin) => (plugin.kind === "provider" ? [[plugin.id, plugin] as const] : [])),
)

export const pluginOf = (id: string): ProviderPlugin => {
  const plugin = providerPlugins.get(id)
  if (plugin === undefined) throw new Error(`no plugin ${id}`)
  return plugin
}

/** What the plugin's own fields need, where it has any that are required. */
const ownFields: Readonly<Record<string, object>> = {
  azure: { resource: "acme" },
  cloudflare: { account_id: "acme" },
}

/** The provider, loaded with as little configuration as it takes. */
export const providerOfPlugin = async (id: string): Promise<Provider> =>
  Either.getOrThrow(pluginOf(id).load(ownFields[id] ?? {}))
