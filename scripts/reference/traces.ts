/** docs/reference/traces.md: the attributes of spans, by the names that `src/services/traces` has. */
import { names, providers } from "../../src/services/traces/conventions.ts"

/** Kinds of spans that have it, and its value. */
const words: Readonly<Record<keyof typeof names, readonly [spans: string, value: string]>> = {
  requestMethod: ["request", "the method"],
  route: ["request", "the path of the route, without an app's prefix"],
  urlPath: ["request", "the same"],
  responseStatus: ["request, call", "the status that the client got; of a failed call the host's"],
  clientAddress: ["request", "the client's address, if known"],
  errorType: ["request, call", "the outcome of a failed request; why a call failed"],
  requestId: ["request", "as in the header `X-GW-Request-Id`"],
  generationId: ["request", "as in the header `X-Generation-Id`"],
  form: ["request", "the API format: `chat`, `completions`, `messages`, `responses`, …"],
  key: ["request", "the id of the key: its hash, or the app's own"],
  outcome: [
    "request, call",
    "`ok`, or a [word](../errors.md#outcomes) that says who caused it; of a call `finished`, `failed`, `lost`, `abandoned`, …",
  ],
  isStreamed: ["request", "whether a stream was asked for"],
  model: ["request, call", "of the host that answered, or was called"],
  host: ["request, call", "the tag of the host that answered, or was called"],
  attempts: ["request", "number of calls"],
  cost: ["request, answering call", "what the caller pays, USD"],
  traceName: ["request", "`trace_name` of the body's `trace`, from trusted clients"],
  spanName: ["request", "`span_name` of it"],
  generationName: ["call", "`generation_name` of it"],
  operation: ["call", "`chat`, `embeddings` or `rerank`"],
  provider: ["call", "the convention's name of the provider, see below; else the plugin's id"],
  requestModel: ["call", "the name that was sent to the host"],
  responseModel: ["call", "the name in the host's answer: a dated version, or a router's choice"],
  inputTokens: ["answering call", "as booked"],
  outputTokens: ["answering call", "as booked"],
  cacheReadTokens: ["answering call", "the same, where there were any"],
  cacheWriteTokens: ["answering call", "the same, where there were any"],
  reasoningTokens: ["answering call", "the same, where there were any"],
  finishReasons: ["answering call", "why the model stopped"],
  timeToFirstChunk: ["call", "of a stream: seconds to the first event that a client would see"],
  serverAddress: ["call", "the host's configured address, also behind a proxy"],
  serverPort: ["call", "its port"],
  attempt: ["call", "its number, from 1, in the order in which calls ended"],
  reserved: ["call", "its reservation, USD; 0 for a key without a limit"],
  upstreamCost: ["answering call", "what the host bills, USD"],
}

const isName = (name: string): name is keyof typeof names => Object.hasOwn(names, name)

const rows = Object.entries(words).map(
  ([name, [spans, value]]) => `| \`${isName(name) ? names[name] : name}\` | ${spans} | ${value} |`,
)

export const page = (): string => `# Attributes of spans

For operators: what the spans of [traces](../traces.md) say.
Made by \`bun scripts/reference.ts\` from \`src/services/traces/conventions.ts\`; do not edit.

\`gen_ai.\` names are [in development](https://opentelemetry.io/docs/specs/semconv/gen-ai/) and may change with that
convention.
Unknown values are left out.

## Attributes

| attribute | span | value |
| --- | --- | --- |
${rows.join("\n")}

\`${names.responseModel}\` is read from a non-streaming answer, or from the first two events of a stream.
Protocols without such a name (Bedrock, Cohere, rerank) leave it out.

## Names of providers

| plugin | \`${names.provider}\` |
| --- | --- |
${Array.from(providers, ([plugin, name]) => `| \`${plugin}\` | \`${name}\` |`).join("\n")}
`
