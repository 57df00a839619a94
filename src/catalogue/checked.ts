/** Stands in for `src/plugin/checked.ts`, which checks what a plugin returns. It checks nothing. */
import type { Provider, ProviderPlugin } from "../plugin/Provider.ts"

export type CheckedProvider = Provider

export const checkedProvider = (_plugin: ProviderPlugin, provider: Provider): CheckedProvider => provider
