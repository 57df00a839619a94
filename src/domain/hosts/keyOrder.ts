/** The order in which the keys of a provider are tried for a request. Pure. */
import { randomSequence } from "../structures/randomSequence.ts"

/**
 * The keys in a random order in which each comes first with a probability in proportion to its weight, and so on among those
 * that are left. The same seed gives the same order. Weights are above 0.
 */
export const weightedOrder = <K extends { readonly weight: number }>(
  keys: ReadonlyArray<K>,
  seed: number,
): ReadonlyArray<K> => {
  // Not the numbers that the same seed gives to the order of hosts.
  const random = randomSequence(seed ^ 0x5bd1e995)
  // Efraimidis and Spirakis, "Weighted random sampling with a reservoir" (2006): the largest u^(1/weight) first.
  return keys
    .map((key) => ({ key, place: Math.log(random()) / key.weight }))
    .toSorted((a, b) => b.place - a.place)
    .map(({ key }) => key)
}
