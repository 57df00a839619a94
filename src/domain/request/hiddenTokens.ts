/**
 * Estimates the output tokens that a host made and never sent: reasoning that it does not show, or a whole answer that was broken off.
 * The estimate is the time that it took, multiplied by the host's speed. See docs/decisions/0044-what-was-not-counted.md.
 */

/** Output tokens per second of a host whose speed nobody has measured yet. */
const usualSpeed = 50
/** Milliseconds at the beginning of a call in which next to nothing is made: the network, the host's queue, the prompt. */
const beginningMs = 1000

/**
 * `elapsedMs`: from the call of the host to the last that was seen of it, milliseconds. `tokensPerSecond`: its median over whole answers; `null`: unknown.
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
