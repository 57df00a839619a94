/** The seed, a 32-bit unsigned integer, for a random number in [0, 1). */
export const seedFrom = (random: number): number => Math.floor(random * 2 ** 32)

/** Numbers in [0, 1) that are the same for the same seed, a 32-bit integer (mulberry32). Not for secrets. */
export const randomSequence = (seed: number): (() => number) => {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
