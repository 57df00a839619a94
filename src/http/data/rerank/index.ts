/** `POST /rerank`. */
import { chatErrorBody } from "../../errorBody.ts"
import { jsonBody } from "../Body.ts"
import { type Form, unaryAsked } from "../Form.ts"
import { rerankWriter } from "./answer.ts"
import { decodeRerank, rerankTable } from "./decode.ts"

export const rerank: Form = {
  name: "rerank",
  body: jsonBody(unaryAsked(decodeRerank, rerankWriter)),
  error: chatErrorBody,
  schema: rerankTable.schema,
}
