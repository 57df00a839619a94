/**
 * A writer of streamed answers in the chat form, for tests of the stages before it. Writes our names first, then the
 * chunk.
 */
import type { ChatChunk } from "../../../src/domain/request/chat.ts"
import type { ChunkWriter } from "../../../src/formats/ChunkWriter.ts"
import { sseDone, sseEvent } from "../../../src/wire/sse.ts"

/** `names`: the members that every chunk begins with. */
export const chunkText = (names: object) => {
  const chunk = (given: ChatChunk): string =>
    sseEvent(
      JSON.stringify({
        ...names,
        ...given,
        choices: given.choices.map((choice) => ({
          ...choice,
          delta: { role: "assistant", content: "", ...choice.delta },
        })),
      }),
    )
  return {
    chunk,
    spliceable: { json: (text: string) => text.slice("data: ".length, -2), text: sseEvent },
    /** The finish that was withheld, and the end. */
    finish: (given: ChatChunk) => chunk(given) + sseDone,
  } satisfies ChunkWriter & { readonly finish: unknown }
}
