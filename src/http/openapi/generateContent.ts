/** Google's form: `POST …:generateContent`, `…:streamGenerateContent`, `…:countTokens`, `…:embedContent`, `…:batchEmbedContents`. */
import { ofModel } from "../../domain/request/forms.ts"
import { embedContentSchema } from "../../formats/generateContent/generateContentEmbeddings.ts"
import { generateContentTable } from "../../formats/generateContent/generateContentRequest.ts"
import { cost } from "./answers.ts"
import { operation, type Paths } from "./operation.ts"
import { amount, anyObject, count, given, listOf, text, titled } from "./schemas.ts"

const usage = given(
  { promptTokenCount: count, candidatesTokenCount: count, totalTokenCount: count, thoughtsTokenCount: count, cost },
  "candidatesTokenCount",
  "thoughtsTokenCount",
)

const answer = titled(
  "GenerateContentAnswer",
  given(
    {
      candidates: listOf(anyObject),
      promptFeedback: anyObject,
      modelVersion: text,
      responseId: text,
      usageMetadata: usage,
    },
    "promptFeedback",
    "usageMetadata",
  ),
)

const error = titled(
  "GenerateContentError",
  given({ error: given({ code: count, message: text, status: text, details: listOf(anyObject) }) }),
)

const request = {
  schema: generateContentTable.schema,
  example: { contents: [{ role: "user", parts: [{ text: "What is the capital of France?" }] }] },
}

const exampleUsage = { promptTokenCount: 14, candidatesTokenCount: 5, totalTokenCount: 19, cost: 0.000039 }
const example = {
  candidates: [{ content: { role: "model", parts: [{ text: "Paris." }] }, index: 0, finishReason: "STOP" }],
  modelVersion: "google/gemini-2.5-flash",
  responseId: "gen-1764000000-4fGh2kLm9PqRsT7vWxYz",
  usageMetadata: exampleUsage,
}

export const generateContentPaths: Paths = {
  [ofModel("generateContent")]: {
    post: operation({
      name: "generateContent",
      description: "An answer, as Google's clients ask for it. The model's slash may be written as %2F.",
      parameter: "model",
      request,
      answer: { schema: answer, example },
      error,
    }),
  },
  [ofModel("streamGenerateContent")]: {
    post: operation({
      name: "streamGenerateContent",
      description:
        "A streamed answer, as Google's clients ask for it. With alt=sse it comes as events, else as one JSON array.",
      parameter: "model",
      request,
      answer: { schema: listOf(answer), example: [example] },
      event: { schema: answer, example },
      error,
    }),
  },
  [ofModel("countTokens")]: {
    post: operation({
      name: "countTokensOfModel",
      description: "About how many tokens the prompt has, as Google's clients ask for it. No host is called.",
      parameter: "model",
      request,
      answer: { schema: given({ totalTokens: count }), example: { totalTokens: 14 } },
      error,
    }),
  },
}

const model = given({ name: text, displayName: text, inputTokenLimit: count, supportedGenerationMethods: listOf(text) })
const exampleModel = {
  name: "models/google/gemini-2.5-flash",
  displayName: "Gemini 2.5 Flash",
  inputTokenLimit: 1_048_576,
  supportedGenerationMethods: ["generateContent", "streamGenerateContent", "countTokens"],
}

export const googleModelsOperations: Paths = {
  "/api/v1beta/models": {
    get: operation({
      name: "googleModels",
      description: "The models that the lists of the calling key allow, as Google's clients ask for them.",
      answer: {
        schema: given({ models: listOf(model), nextPageToken: text }, "nextPageToken"),
        example: { models: [exampleModel] },
      },
      error,
    }),
  },
  "/api/v1beta/models/{model}": {
    get: operation({
      name: "googleModel",
      description: "One model, as Google's clients ask for it.",
      parameter: "model",
      answer: { schema: model, example: exampleModel },
      error,
    }),
  },
}

const vector = given({ values: listOf(amount) })
const oneInput = { content: { parts: [{ text: "a red fox" }] } }

export const embedContentPaths: Paths = {
  [ofModel("embedContent")]: {
    post: operation({
      name: "embedContent",
      description: "The vector of one input, as Google's clients ask for it.",
      parameter: "model",
      request: { schema: embedContentSchema, example: oneInput },
      answer: {
        schema: given({ embedding: vector, usageMetadata: usage }),
        example: {
          embedding: { values: [0.0123, -0.0456] },
          usageMetadata: { promptTokenCount: 3, totalTokenCount: 3, cost: 0.00000006 },
        },
      },
      error,
    }),
  },
  [ofModel("batchEmbedContents")]: {
    post: operation({
      name: "batchEmbedContents",
      description: "The vectors of several inputs, as Google's clients ask for them.",
      parameter: "model",
      request: { schema: embedContentSchema, example: { requests: [oneInput] } },
      answer: {
        schema: given({ embeddings: listOf(vector), usageMetadata: usage }),
        example: {
          embeddings: [{ values: [0.0123, -0.0456] }],
          usageMetadata: { promptTokenCount: 3, totalTokenCount: 3, cost: 0.00000006 },
        },
      },
      error,
    }),
  },
}
