/** The forms, one line each. A form that is missing here does not compile. Where each is sent: `domain/request/forms.ts`. */
import type { FormName } from "../../domain/request/forms.ts"
import { chat } from "../../formats/chat/chatClient.ts"
import { completions } from "../../formats/completions/completionsClient.ts"
import { embeddingsWriter } from "../../formats/embeddings/embeddingsAnswer.ts"
import { decodeEmbeddings, embeddingsTable } from "../../formats/embeddings/embeddingsRequest.ts"
import { chatErrorBody } from "../../formats/errorBody.ts"
import { generateContent } from "../../formats/generateContent/generateContentClient.ts"
import {
  embedContentSchema,
  embedContentWriter,
  embeddingsBody,
} from "../../formats/generateContent/generateContentEmbeddings.ts"
import { generateContentErrorBody } from "../../formats/generateContent/generateContentError.ts"
import { messages } from "../../formats/messages/messagesClient.ts"
import { rerankWriter } from "../../formats/rerank/rerankAnswer.ts"
import { decodeRerank, rerankTable } from "../../formats/rerank/rerankRequest.ts"
import { responses } from "../../formats/responses/responsesClient.ts"
import { jsonBody } from "./Body.ts"
import { compact } from "./compact.ts"
import { chatForm, type Form, unaryAsked } from "./Form.ts"

export const forms: Readonly<Record<FormName, Form>> = {
  chat: chatForm(chat),
  completions: chatForm(completions),
  messages: chatForm(messages),
  responses: chatForm(responses),
  compact,
  generateContent: chatForm(generateContent),
  embedContent: {
    name: "embedContent",
    body: jsonBody(unaryAsked((sent, target) => decodeEmbeddings(embeddingsBody(sent, target)), embedContentWriter)),
    error: generateContentErrorBody,
    schema: embedContentSchema,
  },
  embeddings: {
    name: "embeddings",
    body: jsonBody(unaryAsked(decodeEmbeddings, embeddingsWriter)),
    error: chatErrorBody,
    schema: embeddingsTable.schema,
  },
  rerank: {
    name: "rerank",
    body: jsonBody(unaryAsked(decodeRerank, rerankWriter)),
    error: chatErrorBody,
    schema: rerankTable.schema,
  },
}
