/** The promise; rejects after ten minutes, so that a test names what did not come instead of its time-out. */
export const within = <A>(promise: Promise<A>, what: string, withinMs = 600_000): Promise<A> => {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`${what} did not come`)), withinMs)
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** The machine's, also where a test holds `performance.now()` (heldClock.ts). */
const now = performance.now.bind(performance)

/**
 * Waits until it holds, asking again and again: every 2 ms at first, and less often the longer it takes. Throws after
 * ten minutes, which a busy machine may need.
 */
export const until = async (
  holds: () => boolean | Promise<boolean>,
  what = "the condition",
  withinMs = 600_000,
): Promise<void> => {
  const begun = now()
  while (!(await holds())) {
    const waited = now() - begun
    if (waited > withinMs) throw new Error(`${what} did not come`)
    await Bun.sleep(Math.min(25, 2 + waited / 20))
  }
}
