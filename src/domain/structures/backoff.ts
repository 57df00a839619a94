/** Exponential backoff with jitter, so that many who wait do not all try again at the same time. */

export interface Backoff {
  /** The wait after the first failure, and the longest one, milliseconds. */
  readonly firstMs: number
  readonly mostMs: number
}

/** Milliseconds to wait. They double with each failure (0: the first one), and are then multiplied by 0.5 to 1. `random`: from 0 to 1. */
export const backoffMs = ({ firstMs, mostMs }: Backoff, failures: number, random: number): number =>
  (Math.min(mostMs, firstMs * 2 ** Math.min(failures, 30)) * (1 + random)) / 2
