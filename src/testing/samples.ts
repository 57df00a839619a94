/** What the checks put before a plugin: a request with a bit of everything, the host it goes to, and JSON of ill will. */
import * as FastCheck from "effect/FastCheck"
import type { ChatRequest } from "../domain/Chat.ts"
import type { Host } from "../domain/Host.ts"
import { HostTag, ModelId } from "../domain/Ids.ts"
import { isJsonObject } from "../domain/Json.ts"
import { noPreferences } from "../domain/Preferences.ts"
import { freePricing } from "../domain/Price.ts"

/** What the plugin under test is called in the configuration. */
export const slug = "checked"

export const publicModel = "headgate-check/public-name"
export const upstreamModel = "name-at-the-host"

/** The one model of the gateway under test. */
export const model = {
  id: publicModel,
  context_length: 100_000,
  hosts: [
    {
      provider: slug,
      model: upstreamModel,
      pricing: { prompt: "0.000001", completion: "0.000002" },
      max_completion_tokens: 5000,
    },
  ],
}

/** The same host as a value, for what needs no gateway around it. */
export const host: Host = {
  tag: HostTag.make(slug),
  provider: slug,
  providerName: "Checked",
  model: ModelId.make(publicModel),
  upstreamModel,
  quantization: "unknown",
  pricing: freePricing,
  contextLength: 100_000,
  maxCompletionTokens: 5000,
  maxPromptTokens: null,
  supportedParameters: [],
  supportsToolChoice: { none: true, auto: true, required: true, function: true },
  supportsImplicitCaching: false,
  privacy: { mayTrain: true, retainsPrompts: true },
  local: false,
}

/** The caller asked for more than the house allows: the bound is what counts. */
export const maxTokens = { asked: 3777, bound: 1321 }

export const unknownMember = { name: "headgate_check_unknown", value: { kept: ["as", { it: "is" }], count: 7 } }

/** As the edge hands it on: no credentials, no addresses. */
export const requestOf = (stream: boolean): ChatRequest => ({
  models: [publicModel],
  preferences: noPreferences,
  stream,
  maxTokens: maxTokens.bound,
  choices: 1,
  excludeReasoning: false,
  promptBound: 2000,
  mediaParts: 0,
  parameters: ["max_tokens", "temperature", "tools", "tool_choice", "stop"],
  body: {
    model: publicModel,
    messages: [
      { role: "system", content: "Be brief." },
      { role: "user", content: [{ type: "text", text: "How warm is it in Oslo?" }] },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Oslo"}' } }],
      },
      { role: "tool", tool_call_id: "call_1", content: "12 degrees" },
      { role: "user", content: "Thank you. And in Rome?" },
    ],
    tools: [
      {
        type: "function",
        function: {
          name: "weather",
          description: "Says how warm it is",
          parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
        },
      },
    ],
    tool_choice: "auto",
    temperature: 0.5,
    stop: ["END"],
    max_tokens: maxTokens.asked,
    stream,
    [unknownMember.name]: unknownMember.value,
  },
})

/** Words that hosts use, so that garbage gets past the first look. */
const words = [
  ...["choices", "message", "delta", "content", "text", "role", "refusal", "reasoning", "reasoning_content"],
  ...["tool_calls", "function", "name", "arguments", "id", "index", "type", "finish_reason", "logprobs", "object"],
  ...["usage", "prompt_tokens", "completion_tokens", "prompt_tokens_details", "cached_tokens", "input_tokens"],
  ...["error", "code", "status", "param", "detail", "msg", "content_block", "thinking", "signature", "citations"],
  ...["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta"],
  ...["message_stop", "text_delta", "input_json_delta", "tool_use", "partial_json", "stop_reason", "stop", "input"],
  ...["candidates", "parts", "usageMetadata", "output", "response", "item", "__proto__", "constructor", "toString"],
]

/** JSON of any shape. */
export const anyJson: FastCheck.Arbitrary<unknown> = FastCheck.letrec((tie) => ({
  leaf: FastCheck.oneof(
    FastCheck.constantFrom<unknown>(null, true, false, 0, -1, 1.5, 1e300, "", ...words),
    FastCheck.integer(),
    FastCheck.string(),
  ),
  tree: FastCheck.oneof(
    { maxDepth: 5 },
    tie("leaf"),
    FastCheck.array(tie("tree"), { maxLength: 4 }),
    FastCheck.array(FastCheck.tuple(FastCheck.constantFrom(...words), tie("tree")), { maxLength: 6 }).map(
      // The only way to a member called "__proto__" as a parser makes it.
      (members) => JSON.parse(`{${members.map(([name, value]) => `"${name}":${JSON.stringify(value)}`).join()}}`),
    ),
  ),
})).tree

/** `json` with one value in it exchanged for any other. */
export const spoiled = (json: unknown): FastCheck.Arbitrary<unknown> =>
  FastCheck.tuple(FastCheck.array(FastCheck.nat({ max: 100 }), { maxLength: 8 }), anyJson).map(([steps, value]) =>
    exchanged(json, steps, value),
  )

const exchanged = (json: unknown, [step, ...steps]: ReadonlyArray<number>, value: unknown): unknown => {
  if (step === undefined) return value
  if (Array.isArray(json)) {
    return json.length === 0 ? value : json.with(step % json.length, exchanged(json[step % json.length], steps, value))
  }
  if (!isJsonObject(json)) return value
  const names = Object.keys(json)
  const name = names[step % names.length]
  return name === undefined ? value : { ...json, [name]: exchanged(json[name], steps, value) }
}

/** What a host may send in place of an answer. */
export const noAnswers: ReadonlyArray<unknown> = [null, [], {}, [{}], "", "<html>Bad gateway</html>", 7, true]

// A verdict on a plugin is the same at every run.
const seed = 7

/** Fails with the smallest value for which `holds` throws, and the seed that finds it again. */
export const forAll = <A>(values: FastCheck.Arbitrary<A>, holds: (value: A) => void, runs = 150): void =>
  FastCheck.assert(FastCheck.property(values, holds), { numRuns: runs, seed })
