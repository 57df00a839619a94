/** `POST /messages`: Anthropic's form. Errors have a body of their own. */

import { ownNamesIn } from "../../domain/request/placedParameters.ts"
import type { ClientFormat } from "../ClientFormat.ts"
import { answerWriter } from "./messagesAnswer.ts"
import { messagesErrorBody } from "./messagesError.ts"
import { messagesForm, messagesTable } from "./messagesMembers.ts"
import { decodeMessages } from "./messagesRequest.ts"
import { MessagesWriter } from "./messagesStream.ts"
import { namesFor } from "./messagesThinking.ts"

const ownNames = new Map([...ownNamesIn("messages"), ["user", "metadata.user_id"]])

export const messages: ClientFormat = {
  name: messagesForm,
  decode: decodeMessages,
  prompt: "messages",
  ownNames,
  answer: (names, request) => answerWriter(namesFor(names, request)),
  stream: (common, request) => {
    const names = namesFor(common, request)
    return (host) => new MessagesWriter(names, host)
  },
  error: messagesErrorBody,
  schema: messagesTable.schema,
}
