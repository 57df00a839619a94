/** What a caller's preferences make of the order of hosts. Pure. */
import type { Host } from "../hosts/Host.ts"
import { hostFacts, isNamed, namesIn } from "../hosts/hostFacts.ts"

/** The hosts that the caller listed first, as they are listed; then the others, in the order given. */
export const listedFirst = (order: ReadonlyArray<string>, hosts: ReadonlyArray<Host>): ReadonlyArray<Host> => {
  const listed = order.flatMap((name) => {
    const names = new Set([name.toLowerCase()])
    return hosts.filter((host) => isNamed(names, hostFacts(host)))
  })
  return [...new Set([...listed, ...hosts])]
}

/** Whether a host is among those that the caller listed. */
export const isListedIn = (order: ReadonlyArray<string>): ((host: Host) => boolean) => {
  const names = namesIn(order)
  return (host) => isNamed(names, hostFacts(host))
}

/** The hosts that pass before those that do not, both in the order given. The same list when all pass. */
export const passingFirst = (hosts: ReadonlyArray<Host>, passes: (host: Host) => boolean): ReadonlyArray<Host> => {
  const worse: Array<Host> = []
  const better = hosts.filter((host) => passes(host) || worse.push(host) === 0)
  return worse.length === 0 ? hosts : [...better, ...worse]
}

/** Hosts of a service tier, and the others. */
export const byTier = (
  hosts: ReadonlyArray<Host>,
): readonly [tier: ReadonlyArray<Host>, others: ReadonlyArray<Host>] => {
  const others: Array<Host> = []
  const tier = hosts.filter((host) => hostFacts(host).tier !== null || others.push(host) === 0)
  return [tier, others]
}
