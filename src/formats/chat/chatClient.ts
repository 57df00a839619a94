/** `POST /chat/completions`: the canonical form itself. */
import type { ClientFormat } from "../ClientFormat.ts"
import { answerWriter, chunkWriters } from "../choices.ts"
import { chatErrorBody } from "../errorBody.ts"
import { answers, legacyAnswers } from "./chatAnswer.ts"
import { chatTable, decodeChat } from "./chatRequest.ts"
import { chunks, legacyChunks } from "./chatStream.ts"

export const chat: ClientFormat = {
  name: "chat",
  decode: decodeChat,
  prompt: "messages",
  answer: (names, { reasoning, functionCalls }) =>
    answerWriter(names, reasoning.exclude, functionCalls === true ? legacyAnswers : answers),
  stream: (names, { usageChunk, functionCalls }) =>
    chunkWriters(names, functionCalls === true ? legacyChunks : chunks, usageChunk === true),
  error: chatErrorBody,
  schema: chatTable.schema,
}
