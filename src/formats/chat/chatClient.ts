/** `POST /chat/completions`: the canonical form itself. */
import type { ChatChunkChoice } from "../../domain/request/chat.ts"
import { sseEvent } from "../../wire/sse.ts"
import type { ClientFormat } from "../ClientFormat.ts"
import { type AnswerShape, answerWriter, type ChunkShape, chunkWriter } from "../choices.ts"
import { CustomCalls, customNames, hasCustomTools, withCustomCalls } from "../customTools.ts"
import { chatErrorBody } from "../errorBody.ts"
import { legacyChoice, legacyPiece } from "./legacyFunctions.ts"
import { chatTable, decodeChat } from "./readChatRequest.ts"

const answers: AnswerShape = { object: "chat.completion", choice: (choice) => choice }
const legacyAnswers: AnswerShape = { ...answers, choice: legacyChoice }

/** Every delta has the role and a text, and every choice has all members, because strict clients require them. */
const chunkChoice = ({
  index,
  delta,
  finish_reason,
  native_finish_reason,
  ...rest
}: ChatChunkChoice): ChatChunkChoice => ({
  index,
  delta: { role: "assistant", content: "", ...delta },
  finish_reason,
  native_finish_reason: native_finish_reason ?? null,
  logprobs: null,
  ...rest,
})

const chunks: ChunkShape = {
  object: "chat.completion.chunk",
  choice: chunkChoice,
  // What surrounds the JSON of an event.
  spliceable: { json: (text) => text.slice(6, -2), text: sseEvent },
}

const legacyChunks: ChunkShape = { ...chunks, choice: (choice) => legacyPiece(chunkChoice(choice)) }

const customAnswers = (names: ReadonlySet<string>): AnswerShape => ({
  ...answers,
  choice: (choice) => withCustomCalls(choice, names),
})

/** Made for one answer. */
const customChunks = (names: ReadonlySet<string>): ChunkShape => {
  const calls = new CustomCalls(names)
  return { ...chunks, choice: (choice) => chunkChoice(calls.choice(choice)) }
}

export const chat: ClientFormat = {
  name: "chat",
  decode: decodeChat,
  prompt: "messages",
  answer: (names, { reasoning, functionCalls, payload }) => {
    const shape = hasCustomTools(payload) ? customAnswers(customNames(payload)) : answers
    return answerWriter(names, reasoning.exclude, functionCalls === true ? legacyAnswers : shape)
  },
  stream: (names, { usageChunk = false, functionCalls, payload }) => {
    const shape = functionCalls === true ? legacyChunks : chunks
    if (!hasCustomTools(payload)) return (host) => chunkWriter(names, host, shape, usageChunk)
    const customs = customNames(payload)
    return (host) => chunkWriter(names, host, customChunks(customs), usageChunk)
  },
  error: chatErrorBody,
  schema: chatTable.schema,
}
