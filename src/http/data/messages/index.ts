/** `POST /messages`: Anthropic's form. Errors have a body of their own. */

import { ownNamesIn } from "../../../domain/request/placedParameters.ts"
import type { WriterFor } from "../../../services/dispatch/StreamWriter.ts"
import { messagesForm } from "../../../wire/messages/native.ts"
import { messagesErrorBody } from "../../errorBody.ts"
import type { ClientProtocol } from "../ClientProtocol.ts"
import { type AnswerNames, answerWriter, namesOf } from "./answer.ts"
import { decodeMessages, messagesTable } from "./decode.ts"
import { messagesWriter } from "./stream.ts"

const writersFor =
  (names: AnswerNames): WriterFor =>
  (host) =>
    messagesWriter(names, host)

const ownNames = new Map([...ownNamesIn("messages"), ["user", "metadata.user_id"]])

export const messages: ClientProtocol = {
  name: messagesForm,
  decode: decodeMessages,
  prompt: "messages",
  ownNames,
  answer: (context, request, shown) => answerWriter(namesOf(context, request, shown)),
  stream: (context, request, shown) => writersFor(namesOf(context, request, shown)),
  error: messagesErrorBody,
  schema: messagesTable.schema,
}
