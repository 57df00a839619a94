/** `POST /embeddings`. */
import { chatErrorBody } from "../../errorBody.ts"
import { jsonBody } from "../Body.ts"
import { type Form, unaryAsked } from "../Form.ts"
import { embeddingsWriter } from "./answer.ts"
import { decodeEmbeddings, embeddingsTable } from "./decode.ts"

export const embeddings: Form = {
  name: "embeddings",
  body: jsonBody(unaryAsked(decodeEmbeddings, embeddingsWriter)),
  error: chatErrorBody,
  schema: embeddingsTable.schema,
}
