/**
 * Loads a plugin. Whatever a plugin does that the contract does not allow turns it off, with one line that says so: it
 * throws, it takes too long, or what it gives is no provider and no ranking.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Redacted from "effect/Redacted"
import { hiding } from "../../domain/json/redaction.ts"
import {
  begunBy,
  type CheckedProvider,
  type CheckedWhy,
  checkedProvider,
  checkedRank,
  checkedWhy,
  runBy,
} from "../checks/checked.ts"
import { but } from "../checks/misfit.ts"
import { type Hook, hookOf } from "../checks/PluginFault.ts"
import { guarded, PluginInvalid, reasonOf } from "../checks/PluginInvalid.ts"
import { KnownSecrets } from "../KnownSecrets.ts"
import { type MakeContext, pluginContexts } from "../PluginLog.ts"
import type { ProviderPlugin } from "../Provider.ts"
import { gatheringSecrets } from "../Secret.ts"
import type { Rank, StrategyPlugin } from "../strategy.ts"
import { contractMismatch } from "./contract.ts"

/** Separates plugins that an embedder passes: those that are made for another contract are off, like those of a folder. */
export const ofThisContract = <P extends ProviderPlugin | StrategyPlugin>(
  plugins: ReadonlyArray<P>,
): { readonly usable: ReadonlyArray<P>; readonly refused: ReadonlyArray<PluginInvalid> } => ({
  usable: plugins.filter((plugin) => contractMismatch(plugin) === undefined),
  refused: plugins.flatMap((plugin) => {
    const reason = contractMismatch(plugin)
    return reason === undefined ? [] : new PluginInvalid({ plugin: plugin.id, phase: "shape", reason })
  }),
})

/** `Left`: the plugin's mistake. In it, `Left`: what is wrong with its part of the configuration. */
export type Loaded<A> = Either.Either<Either.Either<A, ParseResult.ParseError>, PluginInvalid>

/**
 * `Right`: the provider. `Left`: what is wrong with its part of the configuration. Fails with the plugin's mistake. `keys`: secrets of the
 * provider that are not the plugin's own, which its lines in the log must not show either.
 */
export const loadProvider = (
  plugin: ProviderPlugin,
  config: unknown,
  keys: ReadonlyArray<string> = [],
): Effect.Effect<Either.Either<CheckedProvider, ParseResult.ParseError>, PluginInvalid> =>
  Effect.flatMap(pluginContexts, (contextOf) => loadWith(plugin, config, keys, contextOf))

const loadWith = (
  plugin: ProviderPlugin,
  config: unknown,
  keys: ReadonlyArray<string>,
  contextOf: MakeContext,
): Effect.Effect<Either.Either<CheckedProvider, ParseResult.ParseError>, PluginInvalid> => {
  const read = new Set<string>()
  let secrets = (): ReadonlyArray<string> => [...read, ...keys]
  const context = contextOf(plugin.id, () => secrets())
  const invalid = (reason: string) =>
    new PluginInvalid({ plugin: plugin.id, phase: "load", reason: hiding(new KnownSecrets(read).all())(reason) })
  return Effect.tryPromise({
    try: async () => {
      const hook = hookOf(plugin.id, "", "load")
      const given = gatheringSecrets(read, () => begunBy(hook, () => plugin.load(config, context)))
      const decoded = loaded(hook, given, "a provider")
      if (Either.isLeft(decoded)) return Either.left(decoded.left)
      const provider = checkedProvider(plugin, await decoded.right, new KnownSecrets(read))
      const declared = Object.values(provider.credentials ?? {}).map(Redacted.value)
      secrets = () => [...provider.secrets.all(), ...declared, ...keys]
      return Either.right(provider)
    },
    catch: (cause) => invalid(reasonOf(cause)),
  }).pipe(Effect.timeoutFail({ duration: "5 seconds", onTimeout: () => invalid("not loaded after 5 seconds") }))
}

export interface LoadedStrategy {
  readonly rank: Rank
  /** Absent where the strategy does not explain itself. */
  readonly why?: CheckedWhy
}

/** `contextOf`: for what it logs. */
export const loadStrategy = (
  plugin: StrategyPlugin,
  config: unknown,
  contextOf: MakeContext,
): Loaded<LoadedStrategy> => {
  const hook = hookOf(plugin.id, "", "load")
  const whyHook = hookOf(plugin.id, "", "loadWhy")
  return guarded(plugin.id, () => {
    const given = runBy(hook, () =>
      plugin.load(
        config,
        contextOf(plugin.id, () => []),
      ),
    )
    return Either.flatMap(loaded(hook, given, "a ranking"), (rank) => {
      if (typeof rank !== "function") throw hook.returned(but("a function that ranks", rank), rank)
      const checked = checkedRank(plugin.id, rank)
      if (plugin.loadWhy === undefined) return Either.right({ rank: checked })
      const givenWhy = runBy(whyHook, () => plugin.loadWhy?.(config))
      return Either.map(loaded(whyHook, givenWhy, "a function that explains"), (why) => {
        if (typeof why !== "function") throw whyHook.returned(but("a function that explains", why), why)
        return { rank: checked, why: checkedWhy(plugin.id, why) }
      })
    })
  })
}

/** What `load` returned, where it is an Either as its type says. A plugin in JavaScript may return anything. */
const loaded = <A>(
  hook: Hook,
  value: Either.Either<A, ParseResult.ParseError> | undefined,
  what: string,
): Either.Either<A, ParseResult.ParseError> => {
  if (!Either.isEither(value)) throw hook.returned(but(`an Either of ${what}`, value), value)
  if (Either.isLeft(value) && !ParseResult.isParseError(value.left)) {
    throw hook.returned(but("a ParseError on the left", value.left), value.left)
  }
  return value
}
