/**
 * Any host with OpenAI's chat completions or embeddings: vLLM, llama.cpp, gateways, smaller vendors; also those that rank documents
 * by `POST /rerank`. Its quirks are configurable.
 */
import * as Schema from "effect/Schema"
import {
  type CacheMultipliers,
  type ChatQuirks,
  chatProtocol,
  defineProvider,
  embeddingsProtocol,
  httpError,
  rerankProtocol,
  type VendorHost,
} from "headgate/plugin"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

const Config = Schema.Struct({
  /** The member that bounds the output. Default `max_tokens`. */
  max_tokens_parameter: optional(Schema.Literal("max_tokens", "max_completion_tokens")),
  /**
   * How reasoning is requested: by `reasoning_effort` (`effort`, the default), by the caller's own members (`router`),
   * or not at all (`none`).
   */
  reasoning: optional(Schema.Literal("effort", "router", "none")),
  /** Efforts that the host knows; others become the nearest of them. Default: the caller's effort is sent. */
  efforts: optional(Schema.Array(Schema.NonEmptyString)),
  /** How reasoning in earlier assistant messages is sent. Default `reasoning`: unchanged. */
  history: optional(Schema.Literal("reasoning", "reasoning_content", "none")),
  /** The host refuses members that OpenAI's own API does not have. Default false. */
  strict: optional(Schema.Boolean),
  /** Further members of a request that the host refuses. `model`, `stream` and the bound of the output are always sent. */
  drop: optional(Schema.Array(Schema.NonEmptyString)),
  /** Whether `stream_options` may be sent. Default true. */
  stream_usage: optional(Schema.Boolean),
  /** The host writes its reasoning into the text, as `<think>...</think>`. Default false. */
  think_tags: optional(Schema.Boolean),
  /** The host's `completion_tokens` exclude the reasoning, and its total does not show it. Default false. */
  reasoning_beside: optional(Schema.Boolean),
})

const quirksOf = (config: typeof Config.Type): ChatQuirks => ({
  // What the software behind the address knows is not known here.
  passes: "any",
  maxTokens: config.max_tokens_parameter ?? "max_tokens",
  reasoning: config.reasoning ?? "effort",
  efforts: () => config.efforts ?? [],
  history: config.history ?? "reasoning",
  strict: config.strict ?? false,
  drop: config.drop ?? [],
  streamUsage: config.stream_usage ?? true,
  thinkTags: config.think_tags ?? false,
  reasoningBeside: config.reasoning_beside ?? false,
})

/**
 * What vendors charge for tokens of the prompt cache, by the host of their address. Those that take nothing extra for writing have
 * no `write`. Alibaba: of caches that were asked for; Google: of those that were not.
 */
const vendors: ReadonlyArray<readonly [host: RegExp, multipliers: CacheMultipliers]> = [
  [/(^|\.)aliyuncs\.com$/, { read: 0.1, write: 1.25 }],
  [/(^|\.)deepseek\.com$/, { read: 0.1 }],
  [/^generativelanguage\.googleapis\.com$/, { read: 0.25 }],
  [/(^|\.)groq\.com$/, { read: 0.5 }],
  [/(^|\.)moonshot\.(ai|cn)$/, { read: 0.25 }],
  [/(^|\.)x\.ai$/, { read: 0.25 }],
]

const cacheMultipliers = ({ baseUrl }: VendorHost) => {
  const hostname = URL.parse(baseUrl)?.hostname ?? ""
  return vendors.find(([host]) => host.test(hostname))?.[1]
}

export default defineProvider({
  id: "openai-compatible",
  name: "OpenAI-compatible",
  config: Config,
  load: (config) => ({
    protocols: { chat: chatProtocol(quirksOf(config)) },
    embeddings: embeddingsProtocol({ passes: "any", strict: config.strict ?? false, drop: config.drop ?? [] }),
    rerank: rerankProtocol({ passes: "any", drop: config.drop ?? [] }),
    error: httpError,
    cacheMultipliers,
  }),
})
