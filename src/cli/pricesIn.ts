/** The prices of a configuration file, as a gateway that is started with it has them: with its plugins and their models. */
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import { discoverPlugins } from "../config/discoverPlugins.ts"
import { installedCatalogue } from "../config/installedCatalogue.ts"
import { loadConfig } from "../config/loadConfig.ts"
import { resolveConfig } from "../config/resolveConfig.ts"
import type { Pricing } from "../domain/Price.ts"
import { watchImports } from "../plugin/importWatch.ts"
import type { LedgerRow } from "../services/ledger.ts"
import { CommandFailed, exitCodes } from "./CommandFailed.ts"
import { plain } from "./output.ts"

/** By model and host: `null` where the price is unknown, `undefined` where the file has no such host. */
export type PricesOf = (host: Pick<LedgerRow, "model" | "host">) => Pricing | null | undefined

/** `file`: relative to the working directory. Warnings about it go to standard error. */
export const pricesIn = (file: string): Effect.Effect<PricesOf, CommandFailed> =>
  Effect.gen(function* () {
    const reading = yield* loadConfig({ file })
    const importing = yield* watchImports
    const found = yield* discoverPlugins(reading, importing)
    const catalogue = yield* installedCatalogue(reading.config)
    const { resolved } = yield* resolveConfig({ ...found, catalogue }, reading)
    const prices = new Map<string, Pricing | null>()
    for (const { hosts } of resolved.models)
      for (const { model, tag, pricing } of hosts) prices.set(`${model} ${tag}`, pricing)
    return ({ model, host }: Pick<LedgerRow, "model" | "host">) => prices.get(`${model} ${host}`)
  }).pipe(
    Effect.scoped,
    Effect.mapError(({ problems }) => {
      const lines = problems.map(({ path, message }) => `${path === "--config" ? "--with-config" : path}: ${message}`)
      return new CommandFailed({ code: exitCodes.badConfig, message: plain(lines.join("; ")) })
    }),
    Effect.provide(Logger.replace(Logger.defaultLogger, Logger.withConsoleError(Logger.logfmtLogger))),
  )
