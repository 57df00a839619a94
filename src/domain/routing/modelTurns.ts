import type { Host } from "../hosts/Host.ts"

/** Hosts of one model that are tried before the next model has its turn. */
const hostsPerTurn = 3

/**
 * Puts hosts of several models in an order in which each model gets its attempt before the deadline: at most three hosts
 * of a model are tried while another one waits. The rest follow at the end. Hosts for which `isNamed` holds were asked for
 * by name: they keep their place and do not count. See docs/guarantees.md#g13.
 */
export const modelTurns = (hosts: ReadonlyArray<Host>, isNamed: (host: Host) => boolean): ReadonlyArray<Host> => {
  const waiting = new Set(hosts.map(({ model }) => model))
  const tried = new Map<string, number>()
  const first: Array<Host> = []
  const later: Array<Host> = []
  for (const host of hosts) {
    waiting.delete(host.model)
    const named = isNamed(host)
    const turns = tried.get(host.model) ?? 0
    if (!named && turns >= hostsPerTurn && waiting.size > 0) {
      later.push(host)
      continue
    }
    if (!named) tried.set(host.model, turns + 1)
    first.push(host)
  }
  return later.length === 0 ? hosts : [...first, ...later]
}
