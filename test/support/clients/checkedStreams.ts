/** Every stream that a test reads to its end has to keep the grammar of its form, also after faults. */
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { readChatStream } from "../../../src/testing/grammar/chat.ts"
import { readCompletionsStream } from "../../../src/testing/grammar/completions.ts"
import { readGenerateContentStream } from "../../../src/testing/grammar/generateContent.ts"
import { readMessagesStream } from "../../../src/testing/grammar/messages.ts"
import { readResponsesStream } from "../../../src/testing/grammar/responses.ts"

/** Readers of streams by the path below `/api/v1`. */
const readers = new Map<string, (text: string) => ReadonlyArray<JsonObject>>([
  ["/chat/completions", readChatStream],
  ["/completions", readCompletionsStream],
  ["/messages", readMessagesStream],
  ["/responses", readResponsesStream],
])

/** The same answer. Where it is a stream, `text()` throws if it breaks the grammar. */
export const checkedStream = (path: string, response: Response): Response => {
  if (response.headers.get("content-type") !== "text/event-stream") return response
  const read = path.includes(":streamGenerateContent") ? readGenerateContentStream : readers.get(path)
  if (read === undefined) throw new Error(`${path} answers with a stream, and there is no grammar for it here`)
  const text = response.text.bind(response)
  return Object.assign(response, {
    text: async () => {
      const written = await text()
      read(written)
      return written
    },
  })
}
