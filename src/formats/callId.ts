import { randomText } from "../domain/ids.ts"

/** An id for a tool call that came without one. */
export const newCallId = (): string => `call_${randomText(24)}`

/** The id of a tool call; a new one where the host sent none. */
export const callIdOf = (id: unknown): string => (typeof id === "string" && id !== "" ? id : newCallId())
