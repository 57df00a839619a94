/** Which protocols are the gateway's own. Its own tests hold those to recorded traffic, so that a plugin need not. */

const own = new WeakSet<object>()

/** Marks a protocol as made here. Returns it. */
export const ours = <P extends object>(protocol: P): P => {
  own.add(protocol)
  return protocol
}

export const isOurs = (protocol: object): boolean => own.has(protocol)
