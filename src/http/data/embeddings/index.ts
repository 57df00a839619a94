/** `POST /embeddings`. */
import { unaryForm } from "../Form.ts"
import { embeddingsWriter } from "./answer.ts"
import { decodeEmbeddings } from "./decode.ts"

export const embeddings = unaryForm("embeddings", { decode: decodeEmbeddings, writer: embeddingsWriter })
