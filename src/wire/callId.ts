import { randomText } from "../domain/Ids.ts"

/** An id for a tool call that came without one. */
export const newCallId = (): string => `call_${randomText(24)}`
