/** Faults in how a protocol like Gemini's counts. */
import type { Mutant } from "./Mutant.ts"

export const usage: ReadonlyArray<Mutant> = [
  {
    plugin: "geminiLike",
    fault: "thoughts left out of billing",
    file: "answer",
    edits: [
      [`(numberIn(counted["candidatesTokenCount"]) ?? 0) + thoughts`, `numberIn(counted["candidatesTokenCount"]) ?? 0`],
    ],
    check: "generate_content: text after a thought is counted",
    says: "text after a thought has completion_tokens_details.reasoning_tokens 7 of 2 tokens: a part is a whole number, from 0 to its total",
  },
  {
    plugin: "geminiLike",
    fault: "thoughts not told apart",
    file: "answer",
    edits: [["reasoning_tokens: thoughts", "reasoning_tokens: 0"]],
    check: "generate_content: text after a thought is counted",
    says: "text after a thought is counted as",
  },
  {
    plugin: "geminiLike",
    fault: "cached tokens dropped",
    file: "answer",
    edits: [[`cached_tokens: numberIn(counted["cachedContentTokenCount"]),`, ""]],
    check: "generate_content: text after a thought is counted",
    says: `text after a thought is counted as {"prompt_tokens":50,"completion_tokens":9,"prompt_tokens_details":{},"completion_tokens_details":{"reasoning_tokens":7}}, expected`,
  },
  {
    plugin: "geminiLike",
    fault: "cached tokens not in the prompt",
    file: "answer",
    edits: [["prompt_tokens: prompt + ", "prompt_tokens: prompt - 32 + "]],
    check: "generate_content: text after a thought is counted",
    says: "text after a thought has prompt_tokens_details.cached_tokens 32 of 18 tokens: a part is a whole number, from 0 to its total",
  },
  {
    plugin: "geminiLike",
    fault: "tokens of tool use ignored",
    file: "answer",
    edits: [[` + (numberIn(counted["toolUsePromptTokenCount"]) ?? 0)`, ""]],
    check: "generate_content: a call with an id, to a request with audio comes to what is expected, and is counted",
    says: "a call with an id, to a request with audio is counted as",
  },
  {
    plugin: "geminiLike",
    fault: "tokens of audio ignored",
    file: "answer",
    edits: [[`audio_tokens: ofModality(counted["promptTokensDetails"], "AUDIO"),`, ""]],
    check: "generate_content: a call with an id, to a request with audio comes to what is expected, and is counted",
    says: "a call with an id, to a request with audio is counted as",
  },
  {
    plugin: "geminiLike",
    fault: "the first report of the usage kept",
    file: "answer",
    edits: [
      ["const states = new Map<number, State>()", "let isCounted = false\n  const states = new Map<number, State>()"],
      [
        "return usage.usage === undefined ? chunks :",
        "const isFirst = !isCounted\n    isCounted ||= usage.usage !== undefined\n    return usage.usage === undefined || !isFirst ? chunks :",
      ],
    ],
    check: "generate_content: text after a thought is counted",
    says: "text after a thought is counted as",
  },
  {
    plugin: "geminiLike",
    fault: "the largest report where the last one counts",
    file: "index",
    edits: [[`usage: "last"`, `usage: "largest"`]],
    check: "generate_content: a count that shrinks is counted",
    says: "a count that shrinks is counted as",
  },
  {
    plugin: "geminiLike",
    fault: "reports of the usage with output 0 before the end",
    file: "answer",
    edits: [
      [
        "return usage.usage === undefined ? chunks : [...chunks, { choices: [], ...usage }]",
        `const isEnd = objectsIn(data["candidates"]).some((each) => each["finishReason"] != null)
    if (usage.usage !== undefined && !isEnd) return [...chunks, { choices: [], usage: { ...usage.usage, completion_tokens: 0, completion_tokens_details: {} } }]
    return usage.usage === undefined ? chunks : [...chunks, { choices: [], ...usage }]`,
      ],
    ],
    check: "generate_content: text after a thought counts no output before there is any",
    says: "After event 1 of text after a thought the usage is 0 tokens of output, and 13 bytes of it have come: a caller who leaves then pays nothing for them. Pass a running",
  },
  {
    plugin: "geminiLike",
    fault: "no price for cached tokens",
    file: "index",
    edits: [[`, input_cache_read: "0.00000003"`, ""]],
    check: "generate_content: tokens that a cache gave have a price",
    says: 'A sample has tokens that were read from a cache, and no model of the plugin has a price for them: they are charged like others. Where that is so: `lacks: ["cache',
  },
  {
    plugin: "geminiLike",
    fault: "thoughts counted twice",
    file: "answer",
    edits: [
      [
        `(numberIn(counted["candidatesTokenCount"]) ?? 0) + thoughts`,
        `(numberIn(counted["candidatesTokenCount"]) ?? 0) + 2 * thoughts`,
      ],
    ],
    check: "generate_content: a whole call comes to what is expected, and is counted",
    says: `a whole call is counted as {"prompt_tokens":50,"completion_tokens":18,"prompt_tokens_details":{"cached_tokens":32},"completion_tokens_details":{"reasoning_tokens":7}},`,
  },
  {
    plugin: "geminiLike",
    fault: "usage of streams lost",
    file: "answer",
    edits: [["return usage.usage === undefined ? chunks : [...chunks, { choices: [], ...usage }]", "return chunks"]],
    check: "generate_content: text after a thought is counted",
    says: "text after a thought has no usage: the caller would be billed by an estimate",
  },
  {
    plugin: "geminiLike",
    fault: "usage of whole answers lost",
    file: "answer",
    edits: [["{ choices, ...usageOf(body, searches) }", "{ choices }"]],
    check: "generate_content: a whole call comes to what is expected, and is counted",
    says: "a whole call has no usage: the caller would be billed by an estimate",
  },
]
