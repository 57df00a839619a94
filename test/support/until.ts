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
