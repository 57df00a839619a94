/** `POST /rerank`. */
import * as Either from "effect/Either"
import { rerankReader } from "../../../services/dispatch/readAnswer.ts"
import { chatErrorBody } from "../../ErrorBody.ts"
import { jsonBody } from "../Body.ts"
import { namesOf } from "../chat/answer.ts"
import type { Form } from "../Form.ts"
import { withHeaders } from "../requestHeaders.ts"
import { rerankWriter } from "./answer.ts"
import { decodeRerank } from "./decode.ts"

export const rerank: Form = {
  name: "rerank",
  body: jsonBody((body, headers) => {
    const decoded = Either.flatMap(decodeRerank(body), (request) => withHeaders(request, headers))
    return Either.map(decoded, (request) => ({
      request,
      answer: (context, shown) =>
        rerankReader(request, rerankWriter(namesOf(context, request, shown), request.payload)),
    }))
  }),
  error: chatErrorBody,
}
