/** A gateway on a socket under a clock that the test advances, with a scripted host for each name. */
import * as Layer from "effect/Layer"
import type { Answer } from "../gateways/routed.ts"
import { opened, startWatched, type Watched } from "../gateways/watched.ts"
import { configFor, type ScriptedHost, scriptedHost } from "../hosts/host.ts"
import { ManualClock } from "./manualClock.ts"

export interface Clocked extends Watched {
  readonly clock: ManualClock
  readonly hosts: Readonly<Record<string, ScriptedHost>>
  /** How often the host of this name was called. */
  readonly calls: (name: string) => number
}

export interface ClockedOptions {
  readonly limits?: Record<string, unknown>
  /** More of the configuration of a provider, by its name. */
  readonly providers?: Readonly<Record<string, Record<string, unknown>>>
}

/** The hosts serve `acme/small`, in this order. Call `closeAfterEach` of `watched.ts` in the file. */
export const clocked = async (
  answers: Readonly<Record<string, Answer>>,
  { limits = {}, providers: more = {} }: ClockedOptions = {},
): Promise<Clocked> => {
  const clock = new ManualClock()
  const hosts = Object.fromEntries(
    Object.entries(answers).map(([name, answer]) => [name, opened(scriptedHost(answer))] as const),
  )
  const { providers, models } = configFor(hosts)
  const configured = Object.fromEntries(
    Object.entries(providers).map(([name, settings]) => [name, { ...settings, ...more[name] }]),
  )
  const config = { providers: configured, models, limits, routing: { strategy: "price" } }
  const gateway = await startWatched({ config, setting: Layer.setClock(clock) })
  return { ...gateway, clock, hosts, calls: (name) => hosts[name]?.calls.length ?? 0 }
}
