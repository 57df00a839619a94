/** `POST /messages`: Anthropic's form. Errors have a body of their own. */

import { ownNamesIn } from "../../domain/request/placedParameters.ts"
import type { ClientFormat } from "../ClientFormat.ts"
import { messagesErrorBody } from "./messagesErrorBody.ts"
import { messagesForm } from "./nativeMessages.ts"
import { decodeMessages, messagesTable } from "./readMessagesRequest.ts"
import { answerWriter, namesFor } from "./writeMessagesAnswer.ts"
import { messagesWriter } from "./writeMessagesStream.ts"

const ownNames = new Map([...ownNamesIn("messages"), ["user", "metadata.user_id"]])

export const messages: ClientFormat = {
  name: messagesForm,
  decode: decodeMessages,
  prompt: "messages",
  ownNames,
  answer: (names, request) => answerWriter(namesFor(names, request)),
  stream: (common, request) => {
    const names = namesFor(common, request)
    return (host) => messagesWriter(names, host)
  },
  error: messagesErrorBody,
  schema: messagesTable.schema,
}
