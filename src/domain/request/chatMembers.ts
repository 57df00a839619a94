/** The top-level members of the canonical forms: every protocol knows them, and writes each in its own words or drops it. */
import { namesWhere } from "./placedParameters.ts"
import type { Operation } from "./Request.ts"

/** Members of every operation. */
const shared = ["user", "metadata", "service_tier", "safety_identifier"]

/** Of a chat. What is a field of `ChatRequest` is no member of the payload. */
export const chatMembers: ReadonlySet<string> = new Set([
  "messages",
  ...namesWhere(({ support }) => support !== "field"),
])

/** By operation, since a member of one would be another thing to hosts of another: `input` of an embedding is no chat's. */
export const canonicalMembers: Readonly<Record<Operation, ReadonlySet<string>>> = {
  chat: chatMembers,
  embeddings: new Set([...shared, "input", "dimensions", "encoding_format", "input_type"]),
  rerank: new Set([...shared, "query", "documents", "top_n"]),
}
