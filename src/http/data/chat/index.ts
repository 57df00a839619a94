/** `POST /chat/completions`: the canonical form itself. */
import { chatErrorBody } from "../../ErrorBody.ts"
import type { ClientProtocol } from "../ClientProtocol.ts"
import { namesOf, wholeBody } from "./answer.ts"
import { decodeChat } from "./decode.ts"
import { chunkWriter } from "./stream.ts"

export const chat: ClientProtocol = {
  decode: decodeChat,
  answer: (context, request, completed) => wholeBody(namesOf(context, request), completed, request.reasoning.exclude),
  stream: (context, request) => {
    const names = namesOf(context, request)
    return (host) => chunkWriter(names, host)
  },
  error: chatErrorBody,
}
