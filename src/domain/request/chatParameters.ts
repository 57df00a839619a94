/**
 * The members of a chat request besides its messages, one row for each: what callers may write, what hosts say of it, and where it goes
 * in each protocol. Decoders, the description of the API, routing and protocols read this table, so a parameter that is sent as it came,
 * or under another name, is added here alone, with its type in `ChatPayload` (`chat.ts`). See
 * docs/decisions/0057-one-row-per-chat-parameter.md.
 *
 * Three kinds of logic stand elsewhere, because they are more than a name and a value. What a protocol writes from several members, or in a
 * shape of its own, is written by functions of that protocol: `translated`. Members whose shape differs between the client forms (tools and
 * the choice among them, the format of the answer, a prediction), and those that all operations share, are checked by the decoders of the
 * forms, so these rows have no `check`. Names of a vendor's own are in its plugin (`ChatQuirks`).
 *
 * Protocols write parameters in the order of the table.
 */
import {
  anyInteger,
  anyObject,
  type Check,
  checkOf,
  described,
  flag,
  integer,
  listOf,
  numberWithin,
  objectOf,
  oneOf,
  quoted,
  report,
  text,
  textOrList,
  titled,
} from "../json/checks.ts"
import { isJsonObject } from "../json/json.ts"
import type { ChatPayload } from "./chat.ts"

/** The largest number of tokens that a request may name. */
export const mostTokens = 2 ** 31 - 1

/** The most texts in `stop`. */
const mostStops = 4

/** A member of what a host is sent. */
export interface Place {
  /** The member's name, where the protocol has its parameters: in the body, in Google's `generationConfig`. */
  readonly at: string
  /** Its value; `null` and `undefined`: none is sent. Default: the parameter's own. Pure. */
  readonly as?: (payload: ChatPayload) => unknown
  /** What its hosts do without it, so that they are not sent it. */
  readonly usual?: unknown
  /** Whether it says how words are drawn, which Claude does not take while it thinks. */
  readonly unlessThinking?: true
}

/** A function of the protocol writes it. */
export const translated = { translated: true } as const

/** Where a parameter goes. A text: a member of this name, as it came. `null`: nowhere, so that it is dropped and named. */
export type Destination = string | Place | typeof translated | null

/** A form in which the parameter stands elsewhere: what its callers are told that was dropped, and what to use in its place. */
export type Elsewhere = string | { readonly name: string; readonly instead: string }

export interface ChatParameter {
  /** Of its value in the forms that have it under its own name, with what the API's readers are told of it. */
  readonly check?: Check
  /**
   * What hosts say of it by `supported_parameters`. `listed`: whether they take it; it is taken out for those that do not. `preferred`: the
   * same, and hosts that do not are called when no other is left. `field`: the same, but it is a field of `ChatRequest`, which is never taken
   * out: it bounds the cost, or each protocol has words of its own for it. Absent: nothing.
   */
  readonly support?: "listed" | "preferred" | "field"
  /** Another parameter that is one with it for hosts: who lists either takes both. */
  readonly listedWith?: string
  /** Values that ask for what happens without it, besides null and an empty list. Where they are dropped, that is not named. */
  readonly neutral?: ReadonlyArray<unknown> | ((value: unknown) => boolean)
  /** Forms that have it in another place. Their decoders translate it, and refuse it under its own name. */
  readonly elsewhere?: { readonly messages?: Elsewhere; readonly responses?: Elsewhere }
  /** Whether routers added it to the chat protocol, so that strict hosts refuse it. Hosts of that protocol get all others as they came. */
  readonly addition?: true
  /** In Anthropic's Messages API. What is no translation here is a member of the client form of that name too. */
  readonly messages: Destination
  /** In the Responses API. */
  readonly responses: Destination
  /** In Google's `generateContent`. */
  readonly generateContent: Destination
  /** Two values by which the kit for plugin authors finds it in what is sent. */
  readonly samples?: readonly [value: number, another: number]
}

const share = numberWithin(0, 1)
const penalty = numberWithin(-2, 2)
const tokenCount = integer(1, mostTokens)
const answers = integer(1, 8)

const bias = numberWithin(-100, 100)
const logitBias = checkOf({ type: "object", additionalProperties: bias.schema }, (value, path, issues) => {
  if (!isJsonObject(value)) return report(issues, path, "must be an object")
  for (const token in value) bias(value[token], `${path}[${quoted(token)}]`, issues)
})

const effort = oneOf("max", "xhigh", "high", "medium", "low", "minimal", "none")

const reasoning = titled(
  "Reasoning",
  described(
    "Either an effort or max_tokens.",
    objectOf({
      effort,
      max_tokens: integer(0, mostTokens),
      enabled: flag,
      exclude: described("Reason, but do not return it.", flag),
      summary: oneOf("auto", "concise", "detailed"),
      context: oneOf("auto", "all_turns", "current_turn"),
      mode: oneOf("standard", "pro"),
    }),
  ),
)

const stops = textOrList(listOf(text, mostStops), "must be a string or an array of strings")

const isEmptyObject = (value: unknown): boolean => isJsonObject(value) && Object.keys(value).length === 0

/** In no protocol but that of chat. */
const onlyInChat = { messages: null, responses: null, generateContent: null }

/** Written by functions of every protocol. */
const ofEach = { messages: translated, responses: translated, generateContent: translated }

export const chatParameters = {
  // --- how words are drawn
  temperature: {
    check: described("0: always the likeliest word; higher: more varied.", numberWithin(0, 2)),
    support: "listed",
    // To 1 there.
    messages: {
      at: "temperature",
      as: ({ temperature }) => (temperature == null ? undefined : Math.min(temperature, 1)),
      unlessThinking: true,
    },
    responses: "temperature",
    generateContent: "temperature",
    samples: [0.375, 0.75],
  },
  top_p: {
    check: described("The share of probability that words are drawn from.", share),
    support: "listed",
    neutral: [1],
    // Newer models refuse it beside a temperature.
    messages: {
      at: "top_p",
      as: ({ temperature, top_p }) => (temperature == null ? top_p : undefined),
      unlessThinking: true,
    },
    responses: "top_p",
    generateContent: "topP",
    samples: [0.625, 0.875],
  },
  top_k: {
    check: described("How many of the likeliest words are drawn from. 0: all.", integer(0, mostTokens)),
    // 0 is not neutral: some models come with another.
    support: "listed",
    addition: true,
    messages: { at: "top_k", usual: 0, unlessThinking: true },
    responses: null,
    generateContent: { at: "topK", usual: 0 },
    samples: [37, 21],
  },
  n: {
    check: described("How many answers.", answers),
    neutral: [1],
    messages: null,
    responses: null,
    generateContent: { at: "candidateCount", usual: 1 },
  },
  stop: {
    check: described("Texts at which the answer ends.", stops),
    support: "listed",
    elsewhere: { messages: "stop_sequences" },
    messages: translated,
    responses: null,
    generateContent: {
      at: "stopSequences",
      as: ({ stop }) => (stop == null || stop.length === 0 ? undefined : typeof stop === "string" ? [stop] : stop),
    },
  },
  seed: {
    check: described("The same seed gives the same answer, as far as the host can.", anyInteger),
    support: "listed",
    messages: null,
    responses: null,
    generateContent: "seed",
    samples: [90_210, 4711],
  },
  presence_penalty: {
    check: described("Above 0: words that were said are less likely.", penalty),
    support: "listed",
    neutral: [0],
    messages: null,
    responses: null,
    generateContent: "presencePenalty",
    samples: [1.125, 0.625],
  },
  frequency_penalty: {
    check: described("Above 0: words are less likely the more often they were said.", penalty),
    support: "listed",
    neutral: [0],
    messages: null,
    responses: null,
    generateContent: "frequencyPenalty",
    samples: [0.875, 0.5],
  },
  logprobs: {
    check: described("Whether the probability of each token is told.", flag),
    support: "listed",
    neutral: [false],
    elsewhere: { responses: { name: "include", instead: 'include: ["message.output_text.logprobs"]' } },
    messages: null,
    responses: translated,
    generateContent: { at: "responseLogprobs", usual: false },
  },
  top_logprobs: {
    check: described("How many alternatives are told for each token.", integer(0, 20)),
    support: "listed",
    neutral: [0],
    messages: null,
    responses: "top_logprobs",
    generateContent: {
      at: "logprobs",
      as: ({ logprobs, top_logprobs }) => (logprobs === true ? top_logprobs || undefined : undefined),
    },
  },
  min_p: {
    check: described("The least probability of a word, as a share of the likeliest one's.", share),
    support: "listed",
    neutral: [0],
    addition: true,
    ...onlyInChat,
    samples: [0.0625, 0.125],
  },
  top_a: {
    check: described("As min_p, but a share of the square of the likeliest one's.", share),
    support: "listed",
    neutral: [0],
    addition: true,
    ...onlyInChat,
    samples: [0.4375, 0.25],
  },
  repetition_penalty: {
    check: described("Above 1: words of the prompt and the answer are less likely.", numberWithin(0, 2)),
    // 1 is not neutral: some models come with another.
    support: "listed",
    addition: true,
    ...onlyInChat,
    samples: [1.0625, 1.25],
  },
  logit_bias: {
    check: described("What is added to the likelihood, by token.", logitBias),
    support: "listed",
    neutral: isEmptyObject,
    ...onlyInChat,
  },
  best_of: {
    check: described("How many answers are made, of which the best n come back.", answers),
    neutral: [1],
    ...onlyInChat,
  },

  // --- how much is said, and how much is thought before
  max_tokens: {
    check: described("Older name of max_completion_tokens, which wins.", tokenCount),
    support: "field",
    listedWith: "max_completion_tokens",
    elsewhere: { responses: "max_output_tokens" },
    ...ofEach,
  },
  max_completion_tokens: {
    check: described("The most tokens of the answer, reasoning included.", tokenCount),
    support: "field",
    elsewhere: { messages: "max_tokens", responses: "max_output_tokens" },
    ...ofEach,
  },
  // How the three go together: `formats/request/reasoning.ts`.
  reasoning: { check: reasoning, support: "field", elsewhere: { messages: "thinking" }, ...ofEach },
  reasoning_effort: {
    check: described("Short for reasoning.effort, from which it may not differ.", effort),
    support: "field",
    listedWith: "reasoning",
    elsewhere: { messages: "thinking", responses: "reasoning.effort" },
    ...ofEach,
  },
  include_reasoning: {
    check: flag,
    support: "field",
    listedWith: "reasoning",
    elsewhere: { messages: "thinking.display", responses: "reasoning.exclude" },
    ...ofEach,
  },

  // --- tools, and what the answer consists of
  tools: { support: "preferred", ...ofEach },
  tool_choice: { support: "listed", ...ofEach },
  parallel_tool_calls: {
    check: described("false: at most one call in an answer.", flag),
    support: "listed",
    neutral: [true],
    elsewhere: { messages: "tool_choice.disable_parallel_tool_use" },
    messages: translated,
    responses: "parallel_tool_calls",
    generateContent: null,
  },
  functions: { elsewhere: { messages: "tools", responses: "tools" }, ...onlyInChat },
  function_call: { elsewhere: { messages: "tool_choice", responses: "tool_choice" }, ...onlyInChat },
  response_format: {
    support: "preferred",
    neutral: (value) => isJsonObject(value) && value["type"] === "text",
    elsewhere: { messages: "output_config.format", responses: "text.format" },
    ...ofEach,
  },
  structured_outputs: {
    check: described("Whether the answer must fit the schema of response_format exactly.", flag),
    support: "listed",
    neutral: [false],
    addition: true,
    ...onlyInChat,
  },
  verbosity: {
    check: described("How long the answer is to be.", oneOf("low", "medium", "high", "xhigh", "max")),
    support: "preferred",
    elsewhere: { messages: "output_config.effort", responses: "text.verbosity" },
    messages: translated,
    responses: translated,
    generateContent: null,
  },
  prediction: { support: "listed", ...onlyInChat },
  modalities: {
    check: described("Kinds of output.", listOf(oneOf("text", "image", "audio"))),
    neutral: (value) => Array.isArray(value) && value.every((kind) => kind === "text"),
    messages: null,
    responses: null,
    generateContent: translated,
  },
  image_config: { check: anyObject, addition: true, messages: null, responses: null, generateContent: translated },
  audio: { check: anyObject, messages: null, responses: null, generateContent: translated },
  web_search_options: { check: anyObject, messages: null, responses: translated, generateContent: translated },

  // --- what all operations share, and caches
  service_tier: {
    // A host without tiers serves by the only one that it has.
    neutral: ["auto", "default", "standard_only"],
    messages: translated,
    responses: "service_tier",
    generateContent: translated,
  },
  user: { messages: translated, responses: "user", generateContent: null },
  metadata: { neutral: isEmptyObject, messages: translated, responses: "metadata", generateContent: null },
  safety_identifier: { messages: null, responses: "safety_identifier", generateContent: null },
  cache_control: { messages: "cache_control", responses: null, generateContent: null },
  prompt_cache_key: { messages: null, responses: "prompt_cache_key", generateContent: null },
  prompt_cache_options: { messages: null, responses: "prompt_cache_options", generateContent: null },
  prompt_cache_retention: { messages: null, responses: "prompt_cache_retention", generateContent: null },
} satisfies Readonly<Record<string, ChatParameter>>

/** Every row with its name, in order. */
export const chatParameterRows: ReadonlyArray<readonly [name: string, ChatParameter]> = Object.entries(chatParameters)
