/** Models of OpenAI's API with its list prices (USD per token, per search), as the project's catalogue had them in November 2026. */
import type { ListedModel, ListedPricing } from "headgate/plugin"

const toolParameters = ["parallel_tool_calls", "response_format", "structured_outputs", "tool_choice", "tools"]
const lengthParameters = ["max_completion_tokens", "max_tokens"]
const reasoningParameters = ["include_reasoning", "reasoning", "reasoning_effort", "seed"]
const samplingParameters = [
  "frequency_penalty",
  "logit_bias",
  "logprobs",
  "presence_penalty",
  "seed",
  "stop",
  "temperature",
  "top_logprobs",
  "top_p",
]

interface Facts {
  readonly slug: string
  readonly name: string
  /** Unix seconds. */
  readonly created: number
  /** Tokens. */
  readonly context: number
  readonly output: number
  readonly prompt?: number
  readonly input: ReadonlyArray<string>
  readonly pricing: ListedPricing
  readonly parameters: ReadonlyArray<string>
}

const model = (facts: Facts): ListedModel => ({
  id: `openai/${facts.slug}`,
  name: facts.name,
  created: facts.created,
  context_length: facts.context,
  architecture: {
    tokenizer: "GPT",
    instruct_type: null,
    input_modalities: facts.input,
    output_modalities: ["text"],
  },
  hosts: [
    {
      model: facts.slug,
      pricing: facts.pricing,
      context_length: facts.context,
      max_completion_tokens: facts.output,
      max_prompt_tokens: facts.prompt ?? null,
      supported_parameters: [...lengthParameters, ...toolParameters, ...facts.parameters],
      supports_tool_choice: { none: true, auto: true, required: true, function: true },
      supports_implicit_caching: true,
    },
  ],
})

/** `resizes`: it takes `dimensions`. */
const embeddingModel = (
  slug: string,
  created: number,
  context: number,
  prompt: string,
  resizes: boolean,
): ListedModel => ({
  id: `openai/${slug}`,
  name: slug,
  created,
  context_length: context,
  architecture: {
    tokenizer: "GPT",
    instruct_type: null,
    input_modalities: ["text"],
    output_modalities: ["embeddings"],
  },
  hosts: [
    {
      model: slug,
      pricing: { prompt, completion: "0" },
      supported_parameters: [...(resizes ? ["dimensions"] : []), "encoding_format"],
    },
  ],
})

const long = { context: 1_050_000, output: 128_000, prompt: 922_000 }
const seeing = ["text", "image"]
const reading = ["text", "image", "file"]

export const models: ReadonlyArray<ListedModel> = [
  model({
    ...long,
    slug: "gpt-6.1-sol",
    name: "GPT-6.1 Sol",
    created: 1790640000,
    input: seeing,
    parameters: reasoningParameters,
    pricing: {
      prompt: "0.000002",
      completion: "0.00001",
      input_cache_read: "0.0000001",
      input_cache_write: "0.0000025",
      web_search: "0.01",
      overrides: [
        {
          min_prompt_tokens: 272000,
          prompt: "0.000004",
          completion: "0.000015",
          input_cache_read: "0.0000002",
          input_cache_write: "0.000005",
        },
      ],
    },
  }),
  model({
    ...long,
    slug: "gpt-6-sol",
    name: "GPT-6 Sol",
    created: 1790035200,
    input: seeing,
    parameters: reasoningParameters,
    pricing: {
      prompt: "0.000002",
      completion: "0.00001",
      input_cache_read: "0.0000002",
      input_cache_write: "0.0000025",
      web_search: "0.01",
      overrides: [
        {
          min_prompt_tokens: 272000,
          prompt: "0.000004",
          completion: "0.000015",
          input_cache_read: "0.0000004",
          input_cache_write: "0.000005",
        },
      ],
    },
  }),
  model({
    ...long,
    slug: "gpt-6-luna",
    name: "GPT-6 Luna",
    created: 1790035200,
    input: seeing,
    parameters: reasoningParameters,
    pricing: {
      prompt: "0.0000001",
      completion: "0.0000005",
      input_cache_read: "0.00000001",
      input_cache_write: "0.000000125",
      web_search: "0.01",
      overrides: [
        {
          min_prompt_tokens: 272000,
          prompt: "0.0000002",
          completion: "0.00000075",
          input_cache_read: "0.00000002",
          input_cache_write: "0.00000025",
        },
      ],
    },
  }),
  model({
    ...long,
    slug: "gpt-6-astra",
    name: "GPT-6 Astra",
    created: 1788393600,
    input: seeing,
    parameters: reasoningParameters,
    pricing: {
      prompt: "0.00001",
      completion: "0.00005",
      input_cache_read: "0.000001",
      web_search: "0.01",
      overrides: [
        { min_prompt_tokens: 272000, prompt: "0.00002", completion: "0.000075", input_cache_read: "0.000002" },
      ],
    },
  }),
  model({
    ...long,
    slug: "gpt-5.5",
    name: "GPT-5.5",
    created: 1777051893,
    input: reading,
    parameters: [...reasoningParameters, "verbosity"],
    pricing: {
      prompt: "0.000005",
      completion: "0.00003",
      input_cache_read: "0.0000005",
      web_search: "0.01",
      overrides: [
        { min_prompt_tokens: 272000, prompt: "0.00001", completion: "0.000045", input_cache_read: "0.000001" },
      ],
    },
  }),
  model({
    slug: "gpt-5-mini",
    name: "GPT-5 Mini",
    created: 1754587407,
    context: 400_000,
    output: 128_000,
    prompt: 272_000,
    input: seeing,
    parameters: [...reasoningParameters, "verbosity"],
    pricing: { prompt: "0.00000025", completion: "0.000002", input_cache_read: "0.000000025", web_search: "0.01" },
  }),
  model({
    slug: "gpt-4.1",
    name: "GPT-4.1",
    created: 1744651385,
    context: 1_047_576,
    output: 32_768,
    input: reading,
    parameters: samplingParameters,
    pricing: { prompt: "0.000002", completion: "0.000008", input_cache_read: "0.0000005", web_search: "0.01" },
  }),
  model({
    slug: "gpt-4o-mini",
    name: "GPT-4o-mini",
    created: 1721260800,
    context: 128_000,
    output: 16_384,
    input: reading,
    parameters: [...samplingParameters, "web_search_options"],
    pricing: { prompt: "0.00000015", completion: "0.0000006", input_cache_read: "0.000000075", web_search: "0.01" },
  }),
  embeddingModel("text-embedding-3-small", 1706140800, 8191, "0.00000002", true),
  embeddingModel("text-embedding-3-large", 1706140800, 8191, "0.00000013", true),
  embeddingModel("text-embedding-ada-002", 1671062400, 8192, "0.0000001", false),
]
