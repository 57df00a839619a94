/**
 * Reads once and keeps what came of it. What is not there yet is looked for again when it is next asked for, since it may be built while the
 * gateway runs; so is what could not be read, as where the process has no file descriptor left.
 */
export const readOnce = <A>(read: () => Promise<A | undefined>): (() => Promise<A | undefined>) => {
  let reading: Promise<A | undefined> | undefined
  return () => {
    if (reading !== undefined) return reading
    const forget = () => {
      reading = undefined
    }
    reading = read()
    void reading.then((found) => {
      if (found === undefined) forget()
    }, forget)
    return reading
  }
}
