/**
 * Names of the attributes of spans: OpenTelemetry's stable conventions for HTTP, those for generative AI, which are in development
 * and are being renamed (https://opentelemetry.io/docs/specs/semconv/gen-ai/, 2026-11), and the gateway's own. docs/reference/traces.md lists them.
 */
export const names = {
  requestMethod: "http.request.method",
  route: "http.route",
  responseStatus: "http.response.status_code",
  urlPath: "url.path",
  clientAddress: "client.address",
  serverAddress: "server.address",
  serverPort: "server.port",
  errorType: "error.type",
  operation: "gen_ai.operation.name",
  provider: "gen_ai.provider.name",
  requestModel: "gen_ai.request.model",
  responseModel: "gen_ai.response.model",
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  cacheReadTokens: "gen_ai.usage.cache_read.input_tokens",
  cacheWriteTokens: "gen_ai.usage.cache_creation.input_tokens",
  reasoningTokens: "gen_ai.usage.reasoning.output_tokens",
  finishReasons: "gen_ai.response.finish_reasons",
  timeToFirstChunk: "gen_ai.response.time_to_first_chunk",
  requestId: "headgate.request_id",
  generationId: "headgate.generation_id",
  form: "headgate.form",
  key: "headgate.key",
  outcome: "headgate.outcome",
  isStreamed: "headgate.stream",
  model: "headgate.model",
  host: "headgate.host",
  attempts: "headgate.attempts",
  attempt: "headgate.attempt",
  cost: "headgate.cost_usd",
  upstreamCost: "headgate.upstream_cost_usd",
  reserved: "headgate.hold_usd",
  traceName: "headgate.trace_name",
  spanName: "headgate.span_name",
  generationName: "headgate.generation_name",
} as const

/** Attributes whose numbers have fractions. */
export const fractional: ReadonlySet<string> = new Set<string>([
  names.timeToFirstChunk,
  names.cost,
  names.upstreamCost,
  names.reserved,
])

/** The convention's names of providers, by the id of our plugin. Any other provider has the id of its plugin. */
export const providers: ReadonlyMap<string, string> = new Map([
  ["azure", "azure.ai.openai"],
  ["bedrock", "aws.bedrock"],
  ["google-ai-studio", "gcp.gemini"],
  ["google-vertex", "gcp.vertex_ai"],
  ["mistral", "mistral_ai"],
  ["moonshotai", "moonshot_ai"],
  ["xai", "x_ai"],
])

export const providerName = (plugin: string): string => providers.get(plugin) ?? plugin

/** What a request of this form asks a host for. */
export const operationName = (form: string | null): string => {
  if (form === "embedContent" || form === "batchEmbedContents") return "embeddings"
  return form === "embeddings" || form === "rerank" ? form : "chat"
}
