/** The facts of a start summary, out of what a gateway is built from. */

import type { GatewayConfig } from "../../config/GatewayConfig.ts"
import type { LoadedConfig } from "../../config/loadConfig.ts"
import { localUrl } from "../../config/localUrl.ts"
import { providerStates } from "../../config/providerStates.ts"
import type { Setup } from "../../config/resolveConfig.ts"
import { formatUsd } from "../../domain/price/money.ts"
import type { Discovered } from "../../plugin/loading/discover.ts"
import { version } from "../../process/version.ts"
import { addressOf } from "../../sql/postgres/postgresAddress.ts"
import type { PriceRange, StartFacts } from "./startSummary.ts"

export interface Start {
  readonly loaded: Pick<LoadedConfig, "file" | "folder">
  readonly found: Discovered
  readonly setup: Setup
  /** The port that it listens on, where that is known. */
  readonly port: number
  readonly warnings: ReadonlyArray<string>
}

export const startFacts = ({ loaded, found, setup, port, warnings }: Start): StartFacts => {
  const { config, resolved } = setup
  const called = resolved.models.filter(({ hosts }) => hosts.some((host) => resolved.endpoints.has(host)))
  const plugins = found.plugins.flatMap((plugin) => (plugin.kind === "provider" ? [plugin] : []))
  return {
    versions: `${version}, Bun ${Bun.version}`,
    address: addressIn(config.server.hostname, port),
    workers: config.server.workers,
    file: loaded.file,
    folder: loaded.folder,
    data: dataOf(config),
    providers: providerStates({ config, resolved, invalid: setup.invalid }, plugins, process.env),
    models: called.length,
    hosts: resolved.endpoints.size,
    prices: pricesOf(setup),
    strategy: resolved.routing.strategy,
    strategies: [...resolved.routing.strategies.keys()],
    warnings,
  }
}

const addressIn = (hostname: string, port: number): string => {
  const isAll = hostname === "0.0.0.0" || hostname === "::"
  return `${localUrl({ hostname, port })}/api/v1${isAll ? ", and at every other address of this machine" : ""}`
}

const dataOf = ({ storage, spoolFolder }: GatewayConfig): string => {
  if (storage._tag === "Memory") return "in memory: it ends with the process"
  return storage._tag === "Sqlite"
    ? storage.path
    : `${addressOf(storage.url)}; rows it does not take wait in ${spoolFolder}`
}

const perMillion = (amount: bigint): string => formatUsd(amount * 1_000_000n)

const pricesOf = ({ resolved: { endpoints } }: Setup): PriceRange | null => {
  const priced = Array.from(endpoints.keys(), ({ pricing }) => pricing).filter((pricing) => pricing !== null)
  const [first, ...more] = priced
  if (first === undefined) return null
  const rangeOf = (name: "prompt" | "completion") => {
    let [least, most] = [first[name], first[name]]
    for (const { [name]: price } of more) {
      if (price < least) least = price
      if (price > most) most = price
    }
    return [perMillion(least), perMillion(most)] as const
  }
  return { prompt: rangeOf("prompt"), completion: rangeOf("completion") }
}
