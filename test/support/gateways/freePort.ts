/** For programs that cannot be told to take any free port. */

/** A port of 127.0.0.1 at which nothing listens now. */
export const freePort = (): number => {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => {} } })
  const { port } = listener
  listener.stop(true)
  return port
}
