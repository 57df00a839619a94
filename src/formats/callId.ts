import { randomText } from "../domain/ids.ts"

/** An id for a tool call that came without one. */
export const newCallId = (): string => `call_${randomText(24)}`

/** The id of a tool call; a new one where the host sent none. */
export const callIdOf = (id: unknown): string => (typeof id === "string" && id !== "" ? id : newCallId())

/**
 * The id of a call for a host that takes at most so many characters, or only those of a pattern: another of its own for an
 * id that does not fit, the same one each time, so that a call and its result keep theirs. The new id comes from the whole
 * old one: a cut could make two alike.
 */
export const callIdWithin = (id: string, most: number, fitting?: RegExp): string => {
  if (id.length <= most && fitting?.test(id) !== false) return id
  const hash = new Bun.CryptoHasher("sha256").update(id).digest("hex")
  return `call_${hash}`.slice(0, Math.min(most, 37))
}
