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

/** `fallback`: what holds where it is left out. */
const quirk = <A, I>(schema: Schema.Schema<A, I>, fallback: NoInfer<A>, description: string) =>
  Schema.optionalWith(schema, { exact: true, default: () => fallback }).annotations({ description, default: fallback })

const Config = Schema.Struct({
  max_tokens_parameter: quirk(
    Schema.Literal("max_tokens", "max_completion_tokens"),
    "max_tokens",
    "The member of the request that bounds the output.",
  ),
  reasoning: quirk(
    Schema.Literal("effort", "router", "none"),
    "effort",
    'How reasoning is requested. "effort": by `reasoning_effort`. "router": by the members that the caller wrote. "none": not at all.',
  ),
  efforts: quirk(
    Schema.Array(Schema.NonEmptyString),
    [],
    "With `reasoning: \"effort\"`: the efforts that the host knows, of which the nearest to the caller's is sent. Empty: those of the model in the catalogue; where it has none, the caller's is sent as it is.",
  ),
  history: quirk(
    Schema.Literal("reasoning", "reasoning_content", "none"),
    "reasoning",
    'How reasoning in earlier assistant messages is sent. "reasoning": unchanged. "reasoning_content": its text, under that name. "none": not at all.',
  ),
  strict: quirk(
    Schema.Boolean,
    false,
    "Whether the host refuses what OpenAI's own API does not have. Members that routers added, `cache_control`, and `input_type` of embeddings are then not sent; media in results of tools follow in a message of the user's; embeddings of anything but text are not asked of it.",
  ),
  drop: quirk(
    Schema.Array(Schema.NonEmptyString),
    [],
    "Further top-level members of requests that the host refuses: they are not sent. Always sent are `model`, `stream`, the bound of the output, and what is asked about (`input`, `query`, `documents`).",
  ),
  stream_usage: quirk(
    Schema.Boolean,
    true,
    "Whether streams are requested with `stream_options: { include_usage: true }`, which some hosts refuse.",
  ),
  think_tags: quirk(
    Schema.Boolean,
    false,
    "Whether the host writes its reasoning into the text, as `<think>...</think>`. It is then taken out, as reasoning.",
  ),
  reasoning_beside: quirk(
    Schema.Boolean,
    false,
    "Whether the host's `completion_tokens` exclude those of the reasoning without its total showing it. They are then added.",
  ),
})

const quirksOf = (config: typeof Config.Type): ChatQuirks => ({
  // What the software behind the address knows is not known here.
  passes: "any",
  maxTokens: config.max_tokens_parameter,
  reasoning: config.reasoning,
  efforts: () => config.efforts,
  history: config.history,
  strict: config.strict,
  drop: config.drop,
  streamUsage: config.stream_usage,
  thinkTags: config.think_tags,
  reasoningBeside: config.reasoning_beside,
})

/**
 * What vendors charge for tokens of the prompt cache, by the host of their address. Those that take nothing extra for writing have
 * no `write`. Google: of caches that were not asked for.
 */
const vendors: ReadonlyArray<readonly [host: RegExp, multipliers: CacheMultipliers]> = [
  [/(^|\.)aliyuncs\.com$/, { read: 0.2, readExplicit: 0.1, write: 1.25 }],
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
    embeddings: embeddingsProtocol({ passes: "any", strict: config.strict, drop: config.drop }),
    rerank: rerankProtocol({ passes: "any", drop: config.drop }),
    error: httpError,
    cacheMultipliers,
  }),
})
