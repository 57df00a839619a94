/** `POST /chat/completions`: the canonical form itself. Spec 4.1. */
import type { ChatRequest } from "../../domain/Chat.ts"
import type { Call } from "../../services/Call.ts"
import { decodeChat } from "../decode/chat.ts"
import { chatErrorBody } from "../ErrorBody.ts"
import { type Answering, chunkWriter, wholeBody } from "./chatAnswer.ts"
import type { ClientForm } from "./inference.ts"

const answering = (call: Call, request: ChatRequest): Answering => ({
  generationId: call.generationId,
  created: Math.floor(call.admittedAt / 1000),
  model: request.models[0] ?? "",
})

export const chat: ClientForm = {
  decode: decodeChat,
  whole: (call, request, completed) => wholeBody(answering(call, request), completed, request.excludeReasoning),
  writer: (call, request) => (host) => chunkWriter(answering(call, request), host),
  error: chatErrorBody,
}
