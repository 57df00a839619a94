/**
 * Azure OpenAI and Foundry models, by key. A host's `model` is the name of its deployment. Facts:
 * learn.microsoft.com (v1 API), read in 2026-11; answers and filters: recordings of 2025 and 2026; privacy: the project's
 * catalogue, 2026-08 (abuse monitoring for 30 days, unless Microsoft excepts the account).
 *
 * Claude models are called by the protocol `messages`, at another address of the resource: their hosts have `api: "messages"`.
 */
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import {
  authHeader,
  chatProtocol,
  defineProvider,
  embeddingsProtocol,
  httpError,
  isJsonObject,
  type ListedModel,
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

const listed = modelsIn(new URL("./models.json", import.meta.url))

/** Claude models have no other protocol. */
const withProtocol = (model: ListedModel): ListedModel =>
  model.id.startsWith("anthropic/")
    ? { ...model, hosts: (model.hosts ?? []).map((host) => ({ ...host, api: "messages" })) }
    : model

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
    const root = `https://${resource}.openai.azure.com/openai`
    return {
      protocols: {
        chat: chatProtocol({
          maxTokens: "max_completion_tokens",
          // Models of other vendors do not know the role `developer`; OpenAI's take either.
          instructions: "system",
          customTools: true,
          history: "none",
          strict: true,
          // OpenAI refuses longer ones (openclaw#31934, 2026-03; opencode#12653, 2026-02).
          longestCallId: 40,
          path: pathOf("/chat/completions"),
        }),
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
      models: async () => (await listed()).map(withProtocol),
      // Its embeddings reference lists base64 for OpenAI's models. They take 2,048 inputs, the same as this gateway.
      embeddings: embeddingsProtocol({
        strict: true,
        path: pathOf("/embeddings"),
        base64: ({ model }) => model.startsWith("openai/"),
      }),
      error: (status, headers, body) =>
        isJsonObject(body) && body["type"] === "error"
          ? messages.error(status, headers, body)
          : httpError(status, headers, body),
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
