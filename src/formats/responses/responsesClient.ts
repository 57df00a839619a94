/** `POST /responses`, without stored responses: each request has the whole conversation. */

import { ownNamesIn } from "../../domain/request/placedParameters.ts"
import type { ClientFormat } from "../ClientFormat.ts"
import { answerWriter, namesFor } from "./responsesAnswer.ts"
import { responsesErrorBody } from "./responsesError.ts"
import { decodeResponses, responsesForm, responsesTable } from "./responsesRequest.ts"
import { responseWriter } from "./responsesStream.ts"

/** Members of the canonical form whose value comes from another member of this form. */
const ownNames = new Map([...ownNamesIn("responses"), ["web_search_options", "tools"]])

export const responses: ClientFormat = {
  name: responsesForm,
  decode: decodeResponses,
  prompt: "input",
  ownNames,
  answer: (names, request) => answerWriter(namesFor(names, request)),
  stream: (common, request) => {
    const names = namesFor(common, request)
    return (host) => responseWriter(names, host)
  },
  error: responsesErrorBody,
  schema: responsesTable.schema,
}
