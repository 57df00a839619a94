/** How long to wait before something is tried again that has failed, so that many who wait do not all come back at once. */

export interface Backoff {
  /** The wait after the first failure, and the longest one, milliseconds. */
  readonly firstMs: number
  readonly mostMs: number
}

/** Twice as long after each failure (0: the first one), and of that a random part between half and all. `random`: from 0 to 1. */
export const backoffMs = ({ firstMs, mostMs }: Backoff, failures: number, random: number): number =>
  (Math.min(mostMs, firstMs * 2 ** Math.min(failures, 30)) * (1 + random)) / 2
