/** `POST /responses`, without stored responses: each request has the whole conversation. */

import { ownNamesIn } from "../../../domain/request/placedParameters.ts"
import type { WriterFor } from "../../../services/dispatch/StreamWriter.ts"
import { responsesForm } from "../../../wire/responses/native.ts"
import { responsesErrorBody } from "../../errorBody.ts"
import type { ClientProtocol } from "../ClientProtocol.ts"
import { answerWriter, namesOf, type ResponseNames } from "./answer.ts"
import { decodeResponses, responsesTable } from "./decode.ts"
import { responseWriter } from "./stream.ts"

/** Outside of the protocol, so that the writers do not keep the request. */
const writersFor =
  (names: ResponseNames): WriterFor =>
  (host) =>
    responseWriter(names, host)

/** Members of the canonical form whose value comes from another member of this form. */
const ownNames = new Map([...ownNamesIn("responses"), ["web_search_options", "tools"]])

export const responses: ClientProtocol = {
  name: responsesForm,
  decode: decodeResponses,
  prompt: "input",
  ownNames,
  answer: (context, request, shown) => answerWriter(namesOf(context, request, shown)),
  stream: (context, request, shown) => writersFor(namesOf(context, request, shown)),
  error: responsesErrorBody,
  schema: responsesTable.schema,
}
