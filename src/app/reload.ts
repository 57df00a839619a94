/** Reads the configuration file again and puts it in force (`services/hosts/ConfigReload.ts`): everything but what is settled at start. */
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Catalogue } from "../catalogue/catalogueFile.ts"
import { ProviderRegistry } from "../catalogue/ProviderRegistry.ts"
import { type ConfigChange, changesIn } from "../config/configChanges.ts"
import { pluginFilesOf } from "../config/discoverPlugins.ts"
import type { GatewayConfig } from "../config/GatewayConfig.ts"
import { installedCatalogue } from "../config/installedCatalogue.ts"
import type { LoadedConfig } from "../config/loadConfig.ts"
import { type Parts, resolveConfig, type Setup } from "../config/resolveConfig.ts"
import { ConfigInvalid } from "../domain/json/Problem.ts"
import type { Actor } from "../domain/keys/audit.ts"
import { logEvent } from "../process/log/logEvent.ts"
import { ConfigReload, type Reloaded } from "../services/hosts/ConfigReload.ts"
import { ConfigFacts, type ReadConfiguration } from "../services/state/ConfigFacts.ts"
import { Storage } from "../services/storage/Storage.ts"
import { Settings } from "./Gateway.ts"
import { runtimeWarnings } from "./start/start.ts"

/** Sections that are settled at start: addresses, storage, records, plugins, alerts. */
const settled = new Set(["server", "storage", "durability", "spool_folder", "records", "plugins", "alerts"])

/** The next configuration, with what is settled at start as it was then. */
const withSettled = (
  next: GatewayConfig,
  { server, storage, durability, spoolFolder, records, plugins, alerts }: GatewayConfig,
): GatewayConfig => ({ ...next, server, storage, durability, spoolFolder, records, plugins, alerts })

/** Changes that one row of the audit log has at most. */
const mostLogged = 500

const loggedChanges = (changes: ReadonlyArray<ConfigChange>): string =>
  JSON.stringify({
    ...Object.fromEntries(changes.slice(0, mostLogged).map(({ path, before, after }) => [path, [before, after]])),
    ...(changes.length > mostLogged ? { "…": [null, changes.length - mostLogged] } : {}),
  })

/**
 * `parts`: the plugins that were found at start, and the catalogue of then. `tellOthers`: asks the other processes of this gateway to
 * do the same.
 */
export const layerReload = (
  started: LoadedConfig,
  parts: Parts,
  tellOthers: () => void,
): Layer.Layer<ConfigReload, never, ConfigFacts | ProviderRegistry | Settings | Storage> =>
  Layer.effect(
    ConfigReload,
    Effect.gen(function* () {
      const registry = yield* ProviderRegistry
      const facts = yield* ConfigFacts
      const storage = yield* Storage
      const pluginsAtStart = yield* pluginFilesOf(started)
      facts.replace(factsOf(started, yield* Settings))
      const oneAtATime = yield* Effect.makeSemaphore(1)
      let inForce: Pick<LoadedConfig, "raw"> & { readonly catalogue: Catalogue | undefined } = {
        raw: started.raw,
        catalogue: parts.catalogue,
      }

      const reload = Effect.fnUntraced(function* (actor: Actor | null) {
        const next = yield* started.again
        const catalogue = yield* installedCatalogue(next.config)
        const config = withSettled(next.config, started.config)
        const arePluginsOthers = (yield* pluginFilesOf(started)) !== pluginsAtStart
        const { resolved, warnings, notes } = yield* Effect.mapError(
          resolveConfig({ ...parts, catalogue }, { ...next, config }),
          (failure) => (arePluginsOthers ? withRestart(failure) : failure),
        )
        const changes = [
          ...changesIn(inForce.raw, next.raw).filter(({ section }) => !settled.has(section)),
          ...changeOfCatalogue(inForce.catalogue, catalogue),
        ]
        const log = Effect.gen(function* () {
          if (actor === null || changes.length === 0) return
          const logged = { action: "config.reload", object: next.file ?? "", changes: loggedChanges(changes) } as const
          yield* storage.audit.record(logged, { actor, at: yield* Clock.currentTimeMillis })
        })
        const putInForce = Effect.sync(() => {
          registry.replace(resolved)
          facts.replace(factsOf(next, { warnings, notes }))
          inForce = { raw: next.raw, catalogue }
          if (actor !== null) tellOthers()
        })
        // The caller may leave meanwhile: what the audit log has is in force all the same, in every process.
        yield* Effect.uninterruptible(Effect.zipRight(log, putInForce))
        const later = changesIn(started.raw, next.raw).flatMap(({ section, path }) =>
          settled.has(section) ? path : [],
        )
        const reloaded: Reloaded = {
          file: next.file,
          changed: changes.map(({ path }) => path),
          needsRestart: arePluginsOthers ? [...later, "plugins"] : later,
          warnings: next.warnings,
        }
        yield* report(reloaded)
        return reloaded
      })
      return {
        reload: (actor) =>
          oneAtATime
            .withPermits(1)(reload(actor))
            .pipe(
              Effect.tapError((failure) =>
                logEvent("reload_failed", { problems: failure.message.replaceAll("\n", "; ") }),
              ),
            ),
      }
    }),
  )

/** An unknown plugin may be one that is there since the gateway started. */
const withRestart = ({ problems }: ConfigInvalid): ConfigInvalid =>
  new ConfigInvalid({
    problems: Arr.map(problems, (problem) =>
      problem.path.endsWith(".plugin") || problem.path.startsWith("routing.strateg")
        ? { ...problem, message: `${problem.message} (plugins have changed since the start: restart the gateway)` }
        : problem,
    ),
  })

const factsOf = (
  { file, config, warnings: ofReading }: LoadedConfig,
  { warnings, notes }: Pick<Setup, "warnings" | "notes">,
): ReadConfiguration => ({
  file,
  warnings: [...ofReading, ...runtimeWarnings(config), ...warnings],
  providers: notes,
})

const changeOfCatalogue = (before: Catalogue = new Map(), after: Catalogue): ReadonlyArray<ConfigChange> =>
  Bun.deepEquals(before, after) ? [] : [{ path: "catalogue.file", section: "catalogue", before: "…", after: "…" }]

const report = ({ file, changed, needsRestart, warnings }: Reloaded): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (const text of warnings) yield* logEvent("configuration_warning", { text })
    if (needsRestart.length > 0) yield* logEvent("reload_needs_restart", { members: needsRestart.join(", ") })
    const what = changed.length === 0 ? "nothing has changed" : changed.join(", ")
    yield* logEvent("reloaded", { file: file ?? "the environment", changed: what })
  })
