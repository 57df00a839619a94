/**
 * An estimate of output that was made and never sent: reasoning that a host keeps to itself, or a whole answer that was broken off.
 * By the time that it took and the speed of the host. See docs/decisions/0044-what-was-not-counted.md.
 */

/** Output tokens per second of a host whose speed nobody has measured yet. */
const usualSpeed = 50
/** The way to the host, its queue and its reading of the prompt: in the first second next to nothing is made. Milliseconds. */
const beginningMs = 1000

/**
 * `elapsedMs`: from the call of the host to its last sign. `tokensPerSecond`: its median over whole answers; `null`: unknown.
 * `shown`: tokens of the output that came. `most`: tokens that can be hidden; 0: none.
 */
export const hiddenTokens = (
  elapsedMs: number,
  tokensPerSecond: number | null,
  shown: number,
  most: number,
): number => {
  if (most <= 0) return 0
  const made = Math.floor((Math.max(0, elapsedMs - beginningMs) / 1000) * (tokensPerSecond ?? usualSpeed))
  return Math.min(most, Math.max(0, made - shown))
}
