/** What `headgate doctor` looks at: everything that a gateway started here would need. Nothing is written. */
import { existsSync, statfsSync } from "node:fs"
import { dirname, resolve } from "node:path"
import * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type { LoadedProvider } from "../../catalogue/Providers.ts"
import type { GatewayConfig } from "../../config/GatewayConfig.ts"
import { loadConfig } from "../../config/loadConfig.ts"
import { prepare } from "../../config/prepare.ts"
import { isJsonObject } from "../../domain/json/json.ts"
import { hint } from "../../domain/json/Problem.ts"
import type { ProviderPlugin } from "../../plugin/Provider.ts"
import { layerLogger } from "../../process/log/logger.ts"
import { checkProvider, type ProviderCheck } from "../../services/hosts/checkProvider.ts"
import { realPath } from "../../sql/files/realPath.ts"
import { openToRead } from "../../sql/sqlite/sqliteFile.ts"
import { strandedGateway } from "../../sql/sqlite/sqliteProbe.ts"
import { schemaVersion } from "../../sql/tables/migrations.ts"
import { Upstream } from "../../upstream/Upstream.ts"
import { badConfig, type CommandFailed, wrongUse } from "../CommandFailed.ts"
import { plain } from "../output.ts"
import { examineGateway } from "./examineGateway.ts"
import type { Finding } from "./Finding.ts"

/** As a start reads it. */
const prepared = loadConfig().pipe(
  Effect.flatMap(prepare),
  Effect.mapError(({ problems }) => badConfig(problems)),
  Effect.provide(layerLogger),
)

/** `named`: slugs of providers; none: everything. In the order of the configuration. */
export const examine = (named: ReadonlyArray<string>): Effect.Effect<ReadonlyArray<Finding>, CommandFailed> =>
  Effect.gen(function* () {
    const { setup, found } = yield* prepared
    const { config, resolved } = setup
    const slugs = [...resolved.providers.keys()]
    for (const name of named) {
      if (slugs.includes(name)) continue
      const plugin = found.plugins.find(({ kind, id }) => kind === "provider" && id === name)
      if (plugin?.kind === "provider") return [{ of: name, state: "wrong", what: whyOff(plugin) } as const]
      return yield* wrongUse(`there is no provider "${plain(name)}"${hint(name, slugs)}`)
    }
    const wanted = [...resolved.providers].filter(([slug]) => named.length === 0 || named.includes(slug))
    const checks = yield* Effect.forEach(
      wanted,
      ([slug, provider]) =>
        provider.callable
          ? ofProvider(slug, provider, config)
          : Effect.succeed(offProvider(slug, provider.reason, named.length > 0)),
      { concurrency: 8 },
    )
    const providers = checks.flat()
    if (named.length > 0) return providers
    const others = yield* Effect.all([database(config), Effect.sync(() => disk(config)), examineGateway(config)], {
      concurrency: "unbounded",
    })
    return [...providers, ...clock(providers), ...others.flat()]
  }).pipe(Effect.provide(Upstream.layer))

/** Of a plugin that no provider has. */
const whyOff = ({ keyVariable }: ProviderPlugin): string => {
  const variables = keyVariable === undefined ? [] : [keyVariable].flat()
  return variables.length === 0
    ? "off: the configuration has no such provider"
    : `off: ${variables.join(" or ")} is not set, and the configuration has no such provider`
}

interface ProviderFinding extends Finding, Pick<ProviderCheck, "clockAheadMs"> {}

/** A finding for each of its keys. */
const ofProvider = (
  slug: string,
  loaded: LoadedProvider,
  { models }: GatewayConfig,
): Effect.Effect<ReadonlyArray<ProviderFinding>, never, Upstream> => {
  const { apiKey, apiKeys } = loaded.settings
  const written = models.flatMap((model) => namesAt(slug, model))
  const keys: ReadonlyArray<readonly [of: string, key: Redacted.Redacted | null]> =
    apiKeys === null
      ? [[slug, apiKey]]
      : apiKeys.map(({ key: { secret, variable } }, at) => [
          `${slug} key ${at + 1}${variable === null ? "" : ` (${variable})`}`,
          secret,
        ])
  return Effect.forEach(keys, ([of, key]) =>
    Effect.map(checkProvider(loaded, key, written), (check) => ({ of, ...check, what: plain(check.what) })),
  )
}

/** What a model of the configuration is called at the hosts of this provider: as it says, else by the model's slug. */
const namesAt = (slug: string, model: unknown): ReadonlyArray<string> => {
  if (!isJsonObject(model) || !Array.isArray(model["hosts"])) return []
  const id = String(model["id"])
  return model["hosts"].flatMap((host: unknown) => {
    if (!isJsonObject(host) || host["provider"] !== slug) return []
    return [typeof host["model"] === "string" ? host["model"] : id.slice(id.indexOf("/") + 1)]
  })
}

/** One that is switched off, or a server of this machine that was not found, is of interest only where it is asked for. */
const offProvider = (slug: string, reason: string, isAsked: boolean): ReadonlyArray<ProviderFinding> => {
  const isBroken = reason.includes("could not be loaded")
  if (!isAsked && !isBroken) return []
  return [{ of: slug, state: isBroken ? "wrong" : "not checked", what: reason }]
}

/** More than tokens and signatures allow everywhere. */
const mostClockMs = 60_000

/** The clock of this machine, against the median of those of the providers. */
const clock = (providers: ReadonlyArray<ProviderFinding>): ReadonlyArray<Finding> => {
  const ahead = providers.flatMap(({ clockAheadMs }) => clockAheadMs ?? []).toSorted((a, b) => a - b)
  const median = ahead[Math.floor(ahead.length / 2)]
  if (median === undefined) return []
  const seconds = Math.round(Math.abs(median) / 1000)
  if (Math.abs(median) <= mostClockMs)
    return [{ of: "clock", state: "ok", what: `within ${seconds + 1} s of the providers'` }]
  const what = `${seconds} s ${median > 0 ? "ahead of" : "behind"} the providers': signatures and tokens are refused`
  return [{ of: "clock", state: "wrong", what }]
}

const database = ({ storage }: GatewayConfig): Effect.Effect<ReadonlyArray<Finding>> => {
  const finding = (state: Finding["state"], what: string): ReadonlyArray<Finding> => [
    { of: "database", state, what: plain(what) },
  ]
  const current = finding("ok", `can be read; its schema ${schemaVersion} is this program's`)
  const failed = ({ reason, message }: { readonly reason: string; readonly message: string }) =>
    finding(reason === "older" ? "warning" : "wrong", message)
  switch (storage._tag) {
    case "Memory":
      return Effect.succeed(finding("warning", "is in memory: keys and ledger end with the gateway"))
    case "Sqlite": {
      const pid = strandedGateway(realPath(storage.path))
      if (pid !== undefined) {
        const what = `${storage.path} was removed or replaced under the running gateway (pid ${pid}), which has another file open: what it books is not in this one`
        return Effect.succeed(finding("wrong", what))
      }
      if (!existsSync(storage.path)) return Effect.succeed(finding("ok", `${storage.path} is made by the first start`))
      return openToRead(storage.path).pipe(Effect.scoped, Effect.match({ onFailure: failed, onSuccess: () => current }))
    }
    case "Postgres":
      return Effect.flatMap(
        Effect.promise(() => import("../../sql/postgres/postgresRead.ts")),
        ({ readDatabase }) =>
          Effect.match(
            readDatabase(storage.url, () => Effect.void),
            {
              onFailure: (failure) =>
                failed({ reason: "reason" in failure ? failure.reason : "", message: failure.message }),
              onSuccess: () => current,
            },
          ),
      )
  }
}

const leastFree = 64 * 2 ** 20
const scarceFree = 1024 * 2 ** 20

/** The disk of the data folder; of the spool, where the database is elsewhere. */
const disk = ({ storage, spoolFolder }: GatewayConfig): ReadonlyArray<Finding> => {
  if (storage._tag === "Memory") return []
  let folder = resolve(storage._tag === "Sqlite" ? dirname(storage.path) : spoolFolder)
  while (!existsSync(folder)) folder = dirname(folder)
  const { bavail, bsize } = statfsSync(folder)
  const free = bavail * bsize
  const what = `${Math.floor(free / 2 ** 20)} MiB are free in ${folder}`
  if (free < leastFree) return [{ of: "disk", state: "wrong", what: `${what}: paid requests stop when it is full` }]
  return [{ of: "disk", state: free < scarceFree ? "warning" : "ok", what }]
}
