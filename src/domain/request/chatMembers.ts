/** The top-level members of the canonical form of a chat: `Operation.members`. */
import { namesWhere } from "./placedParameters.ts"

/** What is a field of `ChatRequest` is no member of the payload. */
export const chatMembers: ReadonlySet<string> = new Set([
  "messages",
  ...namesWhere(({ support }) => support !== "field"),
])
