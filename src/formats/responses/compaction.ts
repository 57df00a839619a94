/**
 * Items by which a host of the Responses form compacts a conversation. The result is encrypted, and only such a host can
 * read it. Source: types of openai 7.55 (`ResponseInputItem`, 2026-11) and requests of Codex 0.169, which also has other names.
 */

import { anyObject, type Check, filledText, objectOf, text } from "../../domain/json/checks.ts"
import { isJsonObject } from "../../domain/json/json.ts"
import type { FormNeed } from "../../domain/request/request.ts"

const compacted = objectOf({ encrypted_content: filledText }, "encrypted_content")

/** Item types with their checks. */
export const compactionItems: ReadonlyMap<string, Check> = new Map([
  ["compaction_trigger", anyObject],
  ["compaction", compacted],
  ["compaction_summary", compacted],
  ["context_compaction", objectOf({ encrypted_content: text })],
])

export const isCompaction = (item: unknown): boolean =>
  isJsonObject(item) && typeof item["type"] === "string" && compactionItems.has(item["type"])

/** What only hosts of this form can do with such an item. */
export const compactionNeed = (input: unknown): FormNeed | undefined => {
  const at = Array.isArray(input) ? input.findIndex(isCompaction) : -1
  return at === -1 ? undefined : { path: `input[${at}]`, reason: compactionReason }
}

export const compactionReason = "only hosts of the Responses format compact a conversation"
