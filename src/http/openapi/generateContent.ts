/** Google's form: `POST …:generateContent`, `…:streamGenerateContent`, `…:countTokens`, `…:embedContent`, `…:batchEmbedContents`. */
import { ofModel } from "../../domain/request/forms.ts"
import { embedContentSchema } from "../../formats/generateContent/generateContentEmbeddings.ts"
import { generateContentTable } from "../../formats/generateContent/generateContentRequest.ts"
import { costing, generationId } from "./answers.ts"
import { get, type Paths, post } from "./operation.ts"
import { amount, anyObject, count, given, like, listOf, text, titled } from "./schemas.ts"

const usage = given(
  {
    promptTokenCount: like(count, 14),
    candidatesTokenCount: like(count, 5),
    totalTokenCount: like(count, 19),
    thoughtsTokenCount: count,
    cost: costing(0.000039),
  },
  "candidatesTokenCount",
  "thoughtsTokenCount",
)

const answer = titled(
  "GenerateContentAnswer",
  given(
    {
      candidates: listOf(
        like(anyObject, {
          ...{ content: { role: "model", parts: [{ text: "Paris." }] }, index: 0, finishReason: "STOP" },
        }),
      ),
      promptFeedback: anyObject,
      modelVersion: like(text, "google/gemini-2.5-flash"),
      responseId: generationId,
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

const common = { parameter: "model", error }

const request = {
  schema: generateContentTable.schema,
  example: { contents: [{ role: "user", parts: [{ text: "What is the capital of France?" }] }] },
}

export const generateContentPaths: Paths = {
  ...post(ofModel("generateContent"), {
    name: "generateContent",
    description: "An answer, as Google's clients ask for it. The model's slash may be written as %2F.",
    request,
    answer,
    ...common,
  }),
  ...post(ofModel("streamGenerateContent"), {
    name: "streamGenerateContent",
    description:
      "A streamed answer, as Google's clients ask for it. With alt=sse it comes as events, else as one JSON array.",
    request,
    answer: listOf(answer),
    event: answer,
    ...common,
  }),
  ...post(ofModel("countTokens"), {
    name: "countTokensOfModel",
    description: "About how many tokens the prompt has, as Google's clients ask for it. No host is called.",
    request,
    answer: given({ totalTokens: like(count, 14) }),
    ...common,
  }),
}

const model = given({
  name: like(text, "models/google/gemini-2.5-flash"),
  displayName: like(text, "Gemini 2.5 Flash"),
  inputTokenLimit: like(count, 1_048_576),
  supportedGenerationMethods: like(listOf(text), ["generateContent", "streamGenerateContent", "countTokens"]),
})

export const googleModelsOperations: Paths = {
  ...get("/api/v1beta/models", {
    name: "googleModels",
    description: "The models that the lists of the calling key allow, as Google's clients ask for them.",
    answer: given({ models: listOf(model), nextPageToken: text }, "nextPageToken"),
    error,
  }),
  ...get("/api/v1beta/models/{model}", {
    name: "googleModel",
    description: "One model, as Google's clients ask for it.",
    answer: model,
    ...common,
  }),
}

const vector = given({ values: like(listOf(amount), [0.0123, -0.0456]) })
const usageOfVectors = like(usage, { promptTokenCount: 3, totalTokenCount: 3, cost: 0.00000006 })
const oneInput = { content: { parts: [{ text: "a red fox" }] } }

export const embedContentPaths: Paths = {
  ...post(ofModel("embedContent"), {
    name: "embedContent",
    description: "The vector of one input, as Google's clients ask for it.",
    request: { schema: embedContentSchema, example: oneInput },
    answer: given({ embedding: vector, usageMetadata: usageOfVectors }),
    ...common,
  }),
}

export const batchEmbedContentsPaths: Paths = {
  ...post(ofModel("batchEmbedContents"), {
    name: "batchEmbedContents",
    description: "The vectors of several inputs, as Google's clients ask for them.",
    request: { schema: embedContentSchema, example: { requests: [oneInput] } },
    answer: given({ embeddings: listOf(vector), usageMetadata: usageOfVectors }),
    ...common,
  }),
}
