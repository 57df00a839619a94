/** `POST /responses`, without stored responses: each request has the whole conversation. */
import type { WriterFor } from "../../../services/StreamWriter.ts"
import { chatErrorBody } from "../../ErrorBody.ts"
import type { ClientProtocol } from "../ClientProtocol.ts"
import { answerWriter, namesOf, type ResponseNames } from "./answer.ts"
import { decodeResponses } from "./decode.ts"
import { responseWriter } from "./stream.ts"

/** Outside of the protocol, so that the writers do not keep the request. */
const writersFor =
  (names: ResponseNames): WriterFor =>
  (host) =>
    responseWriter(names, host)

export const responses: ClientProtocol = {
  name: "responses",
  decode: decodeResponses,
  answer: (context, request, shown) => answerWriter(namesOf(context, request, shown), request.reasoning.exclude),
  stream: (context, request, shown) => writersFor(namesOf(context, request, shown)),
  // Failures before the answer have the body of the chat form.
  error: chatErrorBody,
}
