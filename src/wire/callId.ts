import { randomText } from "../domain/Ids.ts"

/** An id for a tool call whose host gave it none. */
export const newCallId = (): string => `call_${randomText(24)}`
