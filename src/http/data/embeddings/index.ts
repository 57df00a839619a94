/** `POST /embeddings`. */
import * as Either from "effect/Either"
import { embeddingsReader } from "../../../services/dispatch/readAnswer.ts"
import { chatErrorBody } from "../../ErrorBody.ts"
import { jsonBody } from "../Body.ts"
import { namesOf } from "../chat/answer.ts"
import type { Form } from "../Form.ts"
import { withHeaders } from "../requestHeaders.ts"
import { embeddingsWriter } from "./answer.ts"
import { decodeEmbeddings } from "./decode.ts"

export const embeddings: Form = {
  name: "embeddings",
  body: jsonBody((body, headers) => {
    const decoded = Either.flatMap(decodeEmbeddings(body), (request) => withHeaders(request, headers))
    return Either.map(decoded, (request) => ({
      request,
      answer: (context, shown) =>
        embeddingsReader(request, embeddingsWriter(namesOf(context, request, shown), request.payload)),
    }))
  }),
  error: chatErrorBody,
}
