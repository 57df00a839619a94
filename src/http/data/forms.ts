/** The forms, one line each. A form that is missing here does not compile. Where each is sent: `domain/request/forms.ts`. */
import * as Either from "effect/Either"
import { BadRequest } from "../../domain/failures/Failure.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import type { FormName } from "../../domain/request/forms.ts"
import { chat } from "../../formats/chat/chatClient.ts"
import { completions } from "../../formats/completions/completionsClient.ts"
import { embeddingsWriter } from "../../formats/embeddings/embeddingsAnswer.ts"
import { decodeEmbeddings, embeddingsTable } from "../../formats/embeddings/embeddingsRequest.ts"
import { chatErrorBody } from "../../formats/errorBody.ts"
import { generateContent } from "../../formats/generateContent/generateContentClient.ts"
import {
  embedContentPath,
  embedContentSchema,
  embedContentWriter,
  embeddingsBody,
} from "../../formats/generateContent/generateContentEmbeddings.ts"
import { generateContentErrorBody } from "../../formats/generateContent/generateContentError.ts"
import { messages } from "../../formats/messages/messagesClient.ts"
import { rerankWriter } from "../../formats/rerank/rerankAnswer.ts"
import { decodeRerank, rerankTable } from "../../formats/rerank/rerankRequest.ts"
import { responses } from "../../formats/responses/responsesClient.ts"
import type { Target } from "../../formats/Target.ts"
import { jsonBody } from "./Body.ts"
import { compact } from "./compact.ts"
import { chatForm, type Form, unaryAsked } from "./Form.ts"

const decodeEmbedContent = (sent: JsonObject, target: Target) =>
  Either.mapLeft(decodeEmbeddings(embeddingsBody(sent, target)), ({ issues: [first, ...more], kind }) => {
    const named = (issue: typeof first) => ({ ...issue, path: embedContentPath(sent, target, issue.path) })
    return new BadRequest({ issues: [named(first), ...more.map(named)], ...(kind === undefined ? {} : { kind }) })
  })

const googlesVectors = (name: FormName): Form => ({
  name,
  body: jsonBody(unaryAsked(decodeEmbedContent, embedContentWriter)),
  error: generateContentErrorBody,
  schema: embedContentSchema,
})

export const forms: Readonly<Record<FormName, Form>> = {
  chat: chatForm(chat),
  completions: chatForm(completions),
  messages: chatForm(messages),
  responses: chatForm(responses),
  compact,
  generateContent: chatForm(generateContent),
  embedContent: googlesVectors("embedContent"),
  batchEmbedContents: googlesVectors("batchEmbedContents"),
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
