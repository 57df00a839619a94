/** Any host that speaks OpenAI's chat completions: vLLM, llama.cpp, gateways, smaller vendors. Its quirks are configuration. */
import * as Schema from "effect/Schema"
import { type ChatQuirks, chatProtocol, defineProvider, httpError } from "headgate/plugin"

const optional = <A, I>(schema: Schema.Schema<A, I>) => Schema.optionalWith(schema, { exact: true })

const Config = Schema.Struct({
  /** The member that bounds the output. Default `max_tokens`. */
  max_tokens_parameter: optional(Schema.Literal("max_tokens", "max_completion_tokens")),
  /** How reasoning is asked for: by `reasoning_effort` (`effort`, the default), by the caller's own members (`router`), or not at all (`none`). */
  reasoning: optional(Schema.Literal("effort", "router", "none")),
  /** Efforts that the host knows; others become the nearest of them. Default: whatever the caller asks for. */
  efforts: optional(Schema.Array(Schema.NonEmptyString)),
  /** What becomes of the reasoning in earlier assistant messages. Default `reasoning`: it goes back as it came. */
  history: optional(Schema.Literal("reasoning", "reasoning_content", "none")),
  /** The host refuses members that OpenAI's own API does not have. Default false. */
  strict: optional(Schema.Boolean),
  /** Further members of a request that it refuses. */
  drop: optional(Schema.Array(Schema.NonEmptyString)),
  /** Whether `stream_options` may be sent. Default true. */
  stream_usage: optional(Schema.Boolean),
  /** The host writes its reasoning into the text, as `<think>...</think>`. Default false. */
  think_tags: optional(Schema.Boolean),
  /** Its `completion_tokens` leave the reasoning out though its total does not show it. Default false. */
  reasoning_beside: optional(Schema.Boolean),
})

const quirksOf = (config: typeof Config.Type): ChatQuirks => ({
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

export default defineProvider({
  id: "openai-compatible",
  name: "OpenAI-compatible",
  config: Config,
  load: (config) => ({ protocols: { chat: chatProtocol(quirksOf(config)) }, error: httpError }),
})
