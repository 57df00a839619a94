/** `POST /chat/completions`: the canonical form itself. */
import type { ClientFormat } from "../ClientFormat.ts"
import { answerWriter, chunkWriters } from "../choices.ts"
import { customNames, hasCustomTools } from "../customTools.ts"
import { chatErrorBody } from "../errorBody.ts"
import { answers, customAnswers, legacyAnswers } from "./chatAnswer.ts"
import { chatTable, decodeChat } from "./chatRequest.ts"
import { chunks, customChunks, legacyChunks } from "./chatStream.ts"

export const chat: ClientFormat = {
  name: "chat",
  decode: decodeChat,
  prompt: "messages",
  answer: (names, { reasoning, functionCalls, payload }) => {
    const shape = hasCustomTools(payload) ? customAnswers(customNames(payload)) : answers
    return answerWriter(names, reasoning.exclude, functionCalls === true ? legacyAnswers : shape)
  },
  stream: (names, { usageChunk, functionCalls, payload }) => {
    const customs = hasCustomTools(payload) ? customNames(payload) : undefined
    const shapeFor = () => (functionCalls ? legacyChunks : customs ? customChunks(customs) : chunks)
    return chunkWriters(names, shapeFor, usageChunk === true)
  },
  error: chatErrorBody,
  schema: chatTable.schema,
}
