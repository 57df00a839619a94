/**
 * Azure OpenAI and Foundry models, by key. A host's `model` is the name of its deployment. Facts: learn.microsoft.com
 * (v1 API), read in 2026-11; answers and filters: recordings of 2025 and 2026; privacy: the project's catalogue,
 * 2026-08 (abuse monitoring for 30 days, unless Microsoft excepts the account).
 */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import {
  authHeader,
  chatProtocol,
  defineProvider,
  embeddingsProtocol,
  httpErrorWith,
  isJsonObject,
  type ModelLimits,
  messagesProtocol,
  modelsIn,
  responsesForTools,
  responsesProtocol,
  thinkingOfClaude,
} from "headgate/plugin"

const optional = <A, I>(schema: Schema.Schema<A, I>, description: string) =>
  Schema.optionalWith(schema, { exact: true }).annotations({ description })

const Config = Schema.Struct({
  resource: optional(
    Schema.String.pipe(Schema.pattern(/^[a-z0-9][a-z0-9-]*$/i, { description: "a resource's name" })),
    "Name of the resource. It makes the base URL, unless `base_url` has it.",
  ),
  api_version: optional(
    Schema.String.pipe(
      Schema.pattern(/^\d{4}-\d\d-\d\d(-preview)?$/, { description: "a date, with or without -preview" }),
    ),
    "Calls deployments by their own paths with this version, as before the v1 API: `2025-04-01-preview`. Default: the v1 API is called.",
  ),
})

/** By the name of the model that a deployment has. */
const limits: ReadonlyArray<ModelLimits> = [
  {
    models: /^claude-/,
    source: "learn.microsoft.com, Foundry: Claude models, 2026-11: Anthropic's Messages API, at an address of its own",
    api: "messages",
  },
  {
    models:
      /^(?:codex-mini|computer-use-preview|o[13]-pro|o\d(?:-mini)?-deep-research|gpt-\d+(?:\.\d+)?-(?:codex|pro)(?:-|$))/,
    source:
      "learn.microsoft.com, Foundry: reasoning models, 2026-11: Responses API only; anomalyco/opencode#9035, 2026-01: OperationNotSupported",
    api: "responses",
  },
  {
    models: /^(?:mistral|ministral|codestral)-/i,
    source:
      "BerriAI/litellm#42146, 2026-09: max_completion_tokens and stream_options are extra_forbidden; pydantic-ai#6593",
    api: "mistral",
  },
]

// A deployment that lacks the operation, or the model: no fault of the request.
const error = httpErrorWith({ OperationNotSupported: "not-found", unknown_model: "not-found" })

const messages = messagesProtocol({ thinking: thinkingOfClaude, cloud: "foundry" })

export default defineProvider({
  id: "azure",
  name: "Azure",
  authors: ["microsoft"],
  auth: authHeader("api-key"),
  keyVariable: ["AZURE_API_KEY", "AZURE_OPENAI_API_KEY"],
  variables: { resource: "AZURE_RESOURCE_NAME" },
  discoveredBy: [
    ["AZURE_API_KEY", "AZURE_RESOURCE_NAME"],
    ["AZURE_OPENAI_API_KEY", "AZURE_RESOURCE_NAME"],
  ],
  privacy: { mayTrain: false, retainsPrompts: true },
  config: Config,
  load: ({ resource, api_version: version }) => {
    // Before the v1 API each deployment had its own path.
    const pathOf = (operation: string) => (deployment: string) =>
      version === undefined
        ? operation
        : `/deployments/${encodeURIComponent(deployment)}${operation}?api-version=${version}`
    const chat = {
      // Models of other vendors do not know the role `developer`; OpenAI's take either.
      instructions: "system",
      customTools: true,
      history: "none",
      strict: true,
      // OpenAI refuses longer ones (openclaw#31934, 2026-03; opencode#12653, 2026-02).
      longestCallId: 40,
      path: pathOf("/chat/completions"),
    } as const
    const root = `https://${resource}.openai.azure.com/openai`
    return {
      protocols: {
        chat: chatProtocol({ ...chat, maxTokens: "max_completion_tokens" }),
        // The usage comes without being asked for.
        mistral: chatProtocol({ ...chat, customTools: false, streamUsage: false, names: { seed: "random_seed" } }),
        ...(version === undefined
          ? { responses: responsesProtocol({ format: "azure-openai-responses-v1", ofEveryHost: true }) }
          : {}),
        messages:
          resource === undefined
            ? messages
            : { ...messages, baseUrl: `https://${resource}.services.ai.azure.com/anthropic/v1` },
      },
      ...(version === undefined ? { toolsBy: responsesForTools } : {}),
      // It lists what may be deployed, and not the deployments.
      keyCheck: {
        request: {
          method: "GET",
          path: version === undefined ? "/models" : `/models?api-version=${version}`,
          body: "",
        },
      },
      limits,
      models: modelsIn(new URL("./models.json", import.meta.url)),
      // Its embeddings reference lists base64 for OpenAI's models. They take 2,048 inputs, the same as this gateway.
      embeddings: embeddingsProtocol({
        strict: true,
        path: pathOf("/embeddings"),
        base64: ({ model }) => model.startsWith("openai/"),
      }),
      error: (status, headers, body) =>
        isJsonObject(body) && body["type"] === "error"
          ? messages.error(status, headers, body)
          : error(status, headers, body),
      ...(resource === undefined ? {} : { baseUrl: version === undefined ? `${root}/v1` : root }),
      // Claude models want the key under Anthropic's name of the header.
      sign: (encoded, { credentials: { api_key: key } }) =>
        Effect.succeed(
          encoded.path === "/messages" && key !== undefined
            ? { ...encoded, headers: { ...encoded.headers, "x-api-key": Redacted.value(key) } }
            : encoded,
        ),
    }
  },
})
