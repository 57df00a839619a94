/**
 * Anthropic's models with its list prices in USD per token, and per search. From price data sets of 2026-08 and, for
 * the 5.5 and 5.1 models, from Anthropic's own pages of 2026-11.
 */
import type { ListedModel } from "headgate/plugin"

interface Claude {
  readonly id: string
  readonly name: string
  /** Unix seconds. */
  readonly created: number
  readonly upstream: string
  readonly contextLength: number
  readonly maxCompletionTokens: number
  readonly pricing: Prices & { readonly overrides?: ReadonlyArray<Prices & { readonly min_prompt_tokens: number }> }
  /** In addition to those of every model. */
  readonly parameters: ReadonlyArray<string>
  /** Whether a tool call can be required. The 5.5 models and Fable refuse that, since they always think. */
  readonly forcedTools: boolean
}

interface Prices {
  readonly prompt: string
  readonly completion: string
  readonly input_cache_read: string
  readonly input_cache_write: string
  readonly input_cache_write_1h: string
}

const commonParameters = [
  ...["include_reasoning", "max_tokens", "parallel_tool_calls", "reasoning", "response_format", "stop"],
  ...["structured_outputs", "tool_choice", "tools"],
]

const sampling = ["temperature", "top_k", "top_p"]

const webSearch = "0.01"

const model = (claude: Claude): ListedModel => ({
  id: claude.id,
  name: claude.name,
  created: claude.created,
  context_length: claude.contextLength,
  architecture: {
    tokenizer: "Claude",
    instruct_type: null,
    input_modalities: ["text", "image", "file"],
    output_modalities: ["text"],
  },
  hosts: [
    {
      model: claude.upstream,
      quantization: "unknown",
      pricing: { ...claude.pricing, web_search: webSearch },
      context_length: claude.contextLength,
      max_completion_tokens: claude.maxCompletionTokens,
      supported_parameters: [...commonParameters, ...claude.parameters].toSorted(),
      supports_tool_choice: { none: true, auto: true, required: claude.forcedTools, function: claude.forcedTools },
      supports_implicit_caching: false,
    },
  ],
})

const million = 1_000_000

export const models: ReadonlyArray<ListedModel> = [
  model({
    id: "anthropic/claude-fable-5.1",
    name: "Claude Fable 5.1",
    created: 1_788_220_800,
    upstream: "claude-fable-5-1",
    contextLength: million,
    maxCompletionTokens: 128_000,
    pricing: {
      prompt: "0.00001",
      completion: "0.00005",
      input_cache_read: "0.00000025",
      input_cache_write: "0.0000125",
      input_cache_write_1h: "0.00002",
    },
    parameters: [],
    forcedTools: false,
  }),
  model({
    id: "anthropic/claude-opus-5.5",
    name: "Claude Opus 5.5",
    created: 1_790_035_200,
    upstream: "claude-opus-5-5",
    contextLength: million,
    maxCompletionTokens: 128_000,
    pricing: {
      prompt: "0.000004",
      completion: "0.00002",
      input_cache_read: "0.0000002",
      input_cache_write: "0.000005",
      input_cache_write_1h: "0.000008",
    },
    parameters: [],
    forcedTools: false,
  }),
  model({
    id: "anthropic/claude-sonnet-5.5",
    name: "Claude Sonnet 5.5",
    created: 1_790_553_600,
    upstream: "claude-sonnet-5-5",
    contextLength: million,
    maxCompletionTokens: 128_000,
    pricing: {
      prompt: "0.000002",
      completion: "0.00001",
      input_cache_read: "0.0000001",
      input_cache_write: "0.0000025",
      input_cache_write_1h: "0.000004",
    },
    parameters: [],
    forcedTools: false,
  }),
  model({
    id: "anthropic/claude-haiku-5.5",
    name: "Claude Haiku 5.5",
    created: 1_791_331_200,
    upstream: "claude-haiku-5-5",
    contextLength: million,
    maxCompletionTokens: 128_000,
    pricing: {
      prompt: "0.0000001",
      completion: "0.0000005",
      input_cache_read: "0.00000001",
      input_cache_write: "0.000000125",
      input_cache_write_1h: "0.0000002",
      overrides: [
        {
          min_prompt_tokens: 100_000,
          prompt: "0.0000005",
          completion: "0.0000025",
          input_cache_read: "0.00000005",
          input_cache_write: "0.000000625",
          input_cache_write_1h: "0.000001",
        },
      ],
    },
    parameters: [],
    forcedTools: false,
  }),
  model({
    id: "anthropic/claude-sonnet-5",
    name: "Claude Sonnet 5",
    created: 1_782_777_600,
    upstream: "claude-sonnet-5",
    contextLength: million,
    maxCompletionTokens: 128_000,
    pricing: {
      prompt: "0.000002",
      completion: "0.00001",
      input_cache_read: "0.0000002",
      input_cache_write: "0.0000025",
      input_cache_write_1h: "0.000004",
    },
    parameters: [],
    forcedTools: true,
  }),
  model({
    id: "anthropic/claude-opus-4.6",
    name: "Claude Opus 4.6",
    created: 1_770_219_050,
    upstream: "claude-opus-4-6",
    contextLength: million,
    maxCompletionTokens: 128_000,
    pricing: {
      prompt: "0.000005",
      completion: "0.000025",
      input_cache_read: "0.0000005",
      input_cache_write: "0.00000625",
      input_cache_write_1h: "0.00001",
    },
    parameters: [...sampling, "verbosity"],
    forcedTools: true,
  }),
  model({
    id: "anthropic/claude-sonnet-4.5",
    name: "Claude Sonnet 4.5",
    created: 1_759_161_676,
    upstream: "claude-sonnet-4-5",
    contextLength: 200_000,
    maxCompletionTokens: 64_000,
    pricing: {
      prompt: "0.000003",
      completion: "0.000015",
      input_cache_read: "0.0000003",
      input_cache_write: "0.00000375",
      input_cache_write_1h: "0.000006",
    },
    parameters: sampling,
    forcedTools: true,
  }),
  model({
    id: "anthropic/claude-haiku-4.5",
    name: "Claude Haiku 4.5",
    created: 1_760_547_638,
    upstream: "claude-haiku-4-5",
    contextLength: 200_000,
    maxCompletionTokens: 64_000,
    pricing: {
      prompt: "0.000001",
      completion: "0.000005",
      input_cache_read: "0.0000001",
      input_cache_write: "0.00000125",
      input_cache_write_1h: "0.000002",
    },
    parameters: sampling,
    forcedTools: true,
  }),
]
