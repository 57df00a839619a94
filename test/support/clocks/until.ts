/** The promise; rejects after half a minute, so that a test names what did not come in place of its time-out. */
export const within = <A>(promise: Promise<A>, what: string, withinMs = 30_000): Promise<A> => {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error(`${what} did not come`)), withinMs)
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** Waits until it holds, asking again and again; throws after half a minute, which a busy machine may need. */
export const until = async (
  holds: () => boolean | Promise<boolean>,
  what = "the condition",
  withinMs = 30_000,
): Promise<void> => {
  const end = performance.now() + withinMs
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`${what} did not come`)
    await Bun.sleep(2)
  }
}
