/** What the lists of models can be asked for. */
import * as Schema from "effect/Schema"
import { decimal, list, offset, optional, searched, unavailable, wholeNumber, word, wordList } from "../query.ts"

export const outputModalities = [
  "text",
  "image",
  "embeddings",
  "audio",
  "video",
  "rerank",
  "speech",
  "transcription",
] as const

const inputModalities = ["text", "image", "file", "audio", "video"] as const

const sorts = [
  "most-popular",
  "top-weekly",
  "newest",
  "pricing-low-to-high",
  "pricing-high-to-low",
  "context-high-to-low",
  "throughput-high-to-low",
  "latency-low-to-high",
] as const

export type Sort = (typeof sorts)[number]

/** What a model must make one of. Default: text. */
const outputs = { output_modalities: optional(wordList([...outputModalities, "all"])) }

const paging = { offset: optional(offset), limit: optional(wholeNumber(1, 1000)) }

/** USD per 1M tokens. */
const price = optional(decimal(0, 1_000_000))
const days = optional(decimal(0, 100_000))
const share = optional(decimal(0, 1))
const benchmark = optional(unavailable("this gateway has no results of benchmarks"))
const yes = word(["true"])

const allProblems = { parseOptions: { errors: "all" } } as const

export const ModelQuery = Schema.Struct({
  ...paging,
  ...outputs,
  /** Every one of them must be taken. */
  input_modalities: optional(wordList(inputModalities)),
  /** For each of them there must be a host that supports it. */
  supported_parameters: optional(list("names of parameters")),
  sort: optional(word(sorts, " (there are no results of benchmarks)")),
  /** Words that must all be in the id, the name or an alias. */
  q: optional(searched),
  context: optional(wholeNumber(0, 2 ** 31)),
  min_price: price,
  max_price: price,
  min_output_price: price,
  max_output_price: price,
  /** Tokenizers, as `architecture.tokenizer` names them. */
  arch: optional(list("architectures")),
  model_authors: optional(list("authors of models")),
  /** Slugs, tags or display names. With `zdr`: of the same host. */
  providers: optional(list("providers")),
  /** An author who said nothing does not allow it. */
  distillable: optional(word(["true", "false"])),
  zdr: optional(yes),
  min_age_days: days,
  max_age_days: days,
  min_tool_success_rate: share,
  max_tool_success_rate: share,
  category: optional(unavailable("this gateway does not sort models into categories")),
  region: optional(unavailable("this gateway does not know where hosts are")),
  min_intelligence_index: benchmark,
  max_intelligence_index: benchmark,
  min_coding_index: benchmark,
  max_coding_index: benchmark,
  min_agentic_index: benchmark,
  max_agentic_index: benchmark,
}).annotations(allProblems)

export type ModelQuery = typeof ModelQuery.Type

export const CountQuery = Schema.Struct(outputs).annotations(allProblems)

export const PageQuery = Schema.Struct(paging).annotations(allProblems)

export const UserQuery = Schema.Struct({ ...paging, ...outputs }).annotations(allProblems)
