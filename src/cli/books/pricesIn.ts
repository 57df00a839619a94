/** The prices of a configuration file, as a gateway that is started with it has them: with its plugins and their models. */
import * as Effect from "effect/Effect"
import { loadConfig } from "../../config/loadConfig.ts"
import { prepare } from "../../config/prepare.ts"
import type { Pricing } from "../../domain/price/price.ts"
import { withUnsetSecrets } from "../../plugin/Secret.ts"
import { layerLogger } from "../../process/log/logger.ts"
import type { LedgerRow } from "../../services/storage/ledger.ts"
import { badConfig, type CommandFailed } from "../CommandFailed.ts"

/** By model and host: `null` where the price is unknown, `undefined` where the file has no such host. */
export type PricesOf = (host: Pick<LedgerRow, "model" | "host">) => Pricing | null | undefined

/** `file`: relative to the working directory. Warnings about it go to standard error. */
export const pricesIn = (file: string): Effect.Effect<PricesOf, CommandFailed> =>
  Effect.gen(function* () {
    // Prices need no secret. Other faults of the configuration are reported as a start reports them.
    const read = Effect.flatMap(loadConfig({ file }), prepare)
    const { setup } = yield* Effect.orElse(withUnsetSecrets(read), () => read)
    const { resolved } = setup
    const prices = new Map<string, Pricing | null>()
    for (const { hosts } of resolved.models)
      for (const { model, tag, pricing } of hosts) prices.set(`${model} ${tag}`, pricing)
    return ({ model, host }: Pick<LedgerRow, "model" | "host">) => prices.get(`${model} ${host}`)
  }).pipe(
    Effect.mapError(({ problems }) =>
      badConfig(problems.map(({ path, message }) => ({ path: path === "--config" ? "--with-config" : path, message }))),
    ),
    Effect.provide(layerLogger),
  )
