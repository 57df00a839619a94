/**
 * Every route of the data plane, with a request that it accepts. A new route needs a line here (routeTable.test.ts).
 */
import { configFor, streamAnswer, wholeAnswer } from "../hosts/host.ts"
import { compaction } from "./compactionScene.ts"
import type { Answer } from "./routed.ts"

export interface PaidRoute {
  /** As the ledger has them. */
  readonly form: string
  readonly operation: string
  /** The least that is accepted, for a model that the gateway below has. */
  readonly body: Readonly<Record<string, unknown>>
  /** `always`: its path asks for a stream. */
  readonly canStream: boolean | "always"
}

/** Whether each request is streamed that a route is tried with. */
export const streamsOf = ({ canStream }: PaidRoute): ReadonlyArray<boolean> =>
  canStream === "always" ? [true] : canStream ? [false, true] : [false]

/** The body that asks for a stream, or for none. */
export const bodyFor = ({ canStream, body }: PaidRoute, stream: boolean) =>
  stream && canStream !== "always" ? { ...body, stream } : body

/** The path of a route, as the table has it. */
export const patternOf = (path: string): string => `/api/v1${path.replace(/(beta\/models\/)[^:]+/, "$1{model}")}`

/** The name of a route, as the ends of requests have it. */
export const nameOf = (path: string): string => `POST ${patternOf(path).replace("{model}", ":model")}`

/** The same request for another model. */
export const forModel = (path: string, body: PaidRoute["body"], other: string) =>
  path.startsWith("beta/")
    ? { path: path.replace(/models\/[^:]+/, `models/${other}`), body }
    : { path, body: { ...body, model: other } }

const usage = { prompt_tokens: 5, total_tokens: 5 }

export const answerOfEveryRoute: Answer = (body, request) => {
  const { pathname } = new URL(request.url)
  if (pathname.endsWith("/embeddings")) return Response.json({ data: [{ index: 0, embedding: [0.5] }], usage })
  if (pathname.endsWith("/rerank")) return Response.json({ results: [{ index: 0, relevance_score: 0.5 }], usage })
  if (pathname.endsWith("/responses/compact")) return Response.json(compaction)
  return body["stream"] === true ? streamAnswer(["fine"]) : wholeAnswer("fine")
}

const model = "acme/small"
const messages = [{ role: "user", content: "hi" }]

const contents = [{ role: "user", parts: [{ text: "hi" }] }]
const content = contents[0]

/** Below `/api/v1`. */
export const paid: Readonly<Record<string, PaidRoute>> = {
  "beta/models/acme/small:generateContent": {
    form: "generateContent",
    operation: "chat",
    canStream: false,
    body: { contents },
  },
  "beta/models/acme/small:streamGenerateContent": {
    form: "generateContent",
    operation: "chat",
    canStream: "always",
    body: { contents },
  },
  "beta/models/acme/embeddings:embedContent": {
    form: "embedContent",
    operation: "embeddings",
    canStream: false,
    body: { content },
  },
  "beta/models/acme/embeddings:batchEmbedContents": {
    form: "batchEmbedContents",
    operation: "embeddings",
    canStream: false,
    body: { requests: [{ content }] },
  },
  "/chat/completions": { form: "chat", operation: "chat", canStream: true, body: { model, messages } },
  "/completions": { form: "completions", operation: "chat", canStream: true, body: { model, prompt: "hi" } },
  "/messages": { form: "messages", operation: "chat", canStream: true, body: { model, messages, max_tokens: 9 } },
  "/responses": { form: "responses", operation: "chat", canStream: true, body: { model, input: "hi" } },
  "/responses/compact": {
    form: "compact",
    operation: "chat",
    canStream: false,
    body: { model: "acme/compacted", input: "hi" },
  },
  "/embeddings": {
    form: "embeddings",
    operation: "embeddings",
    canStream: false,
    body: { model: "acme/embeddings", input: "hi" },
  },
  "/rerank": {
    form: "rerank",
    operation: "rerank",
    canStream: false,
    body: { model: "acme/rerank", query: "hi", documents: ["hi"] },
  },
}

/** A model of an operation that is no chat. */
const modelOf = (operation: "embeddings" | "rerank") => ({
  id: `acme/${operation}`,
  context_length: 512,
  architecture: { input_modalities: ["text"], output_modalities: [operation] },
  hosts: [{ provider: "host", model: "upstream", pricing: { prompt: "0.000001", completion: "0" } }],
})

/** A model at a host of the Responses form. */
const compactedModel = {
  id: "acme/compacted",
  context_length: 512,
  hosts: [
    {
      provider: "openai",
      model: "upstream",
      api: "responses",
      pricing: { prompt: "0.000001", completion: "0.000002" },
      max_completion_tokens: 512,
    },
  ],
}

/** Routes that call no host, so nobody pays. */
export const free: Readonly<Record<string, Pick<PaidRoute, "body"> & { readonly isForManagers?: boolean }>> = {
  // A management key asks for another key, or for one without a limit.
  "/route/explain": { body: { model, messages }, isForManagers: true },
  "beta/models/acme/small:countTokens": { body: { contents } },
  "/messages/count_tokens": { body: { model, messages } },
}

/** The models of all routes, at this host. */
export const configOfEveryRoute = (host: { readonly url: string }) => {
  const { models, ...config } = configFor({ host })
  const all = [...models, modelOf("embeddings"), modelOf("rerank"), compactedModel]
  const openai = { base_url: host.url, network: "private", api_key: "k" } as const
  const providers = { ...config.providers, openai }
  return { ...config, providers, models: all }
}
