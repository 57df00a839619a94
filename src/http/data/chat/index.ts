/** `POST /chat/completions`: the canonical form itself. */

import type { WriterFor } from "../../../services/dispatch/StreamWriter.ts"
import { chatErrorBody } from "../../errorBody.ts"
import type { ClientProtocol } from "../ClientProtocol.ts"
import { type AnswerNames, answerWriter, namesOf } from "./answer.ts"
import { chatTable, decodeChat } from "./decode.ts"
import { chunkWriter } from "./stream.ts"

const writersFor =
  (names: AnswerNames): WriterFor =>
  (host) =>
    chunkWriter(names, host)

export const chat: ClientProtocol = {
  name: "chat",
  decode: decodeChat,
  prompt: "messages",
  answer: (context, request, shown) => answerWriter(namesOf(context, request, shown), request.reasoning.exclude),
  stream: (context, request, shown) => writersFor(namesOf(context, request, shown)),
  error: chatErrorBody,
  schema: chatTable.schema,
}
