/** `POST /rerank`. */
import { unaryForm } from "../Form.ts"
import { rerankWriter } from "./answer.ts"
import { decodeRerank } from "./decode.ts"

export const rerank = unaryForm("rerank", { decode: decodeRerank, writer: rerankWriter })
