/**
 * Reads recordings of the chat protocol without any of our code, and tests providers against what it read.
 * How each vendor counts tokens is written here by hand.
 */
import { describe, expect, test } from "bun:test"
import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import type { HostReason } from "../../../src/domain/failures/HostReason.ts"
import type { Provider } from "../../../src/plugin/Provider.ts"
import { reporting } from "./recordedTable.ts"
import {
  bodyOf,
  bytesOf,
  type RecordedCase,
  recordingsPresent,
  replay,
  splits,
  type Transcript,
  type TranscriptCall,
  type TranscriptUsage,
  wholeOf,
} from "./recordings.ts"

// The recordings are trusted: this reader is meant to be naive, so it does not check every member.
// biome-ignore lint/suspicious/noExplicitAny: see above
type Anything = any

const events = (raw: string): ReadonlyArray<Anything> =>
  raw
    .split(/\r?\n/)
    .filter((line) => line.startsWith("data:") && !line.includes("[DONE]"))
    .map((line) => JSON.parse(line.slice(5)))

const join = (...pieces: ReadonlyArray<unknown>) => pieces.filter((piece) => typeof piece === "string").join("")

const partTexts = (content: Anything, thinking: boolean): string =>
  Array.isArray(content)
    ? content.map((part) => (thinking ? partTexts(part.thinking, false) : (part.text ?? ""))).join("")
    : ""

const textIn = (message: Anything) =>
  Array.isArray(message.content) ? partTexts(message.content, false) : message.content

const reasoningIn = (message: Anything) =>
  message.reasoning || message.reasoning_content || partTexts(message.content, true)

/** The text and the reasoning of a text that begins with its reasoning in tags, as of the hosts below. */
const untagged = (text: string): { readonly text: string; readonly reasoning: string } => {
  const [tagged, reasoning = ""] = /^\s*<think>([\s\S]*?)<\/think>\s*/.exec(text) ?? [""]
  return { text: text.slice(tagged.length), reasoning }
}
const withTags = new Set(["together"])

const expectedUsage = (recorded: RecordedCase, usage: Anything): TranscriptUsage | null => {
  if (!usage) return null
  const { provider } = recorded
  const reasoning = usage.completion_tokens_details?.reasoning_tokens ?? 0
  const audio = usage.prompt_tokens_details?.audio_tokens ?? 0
  return {
    promptTokens: usage.prompt_tokens + (provider === "mistral" ? audio : 0),
    completionTokens: usage.completion_tokens + (provider === "xai" ? reasoning : 0),
    cachedTokens: Math.max(
      usage.prompt_tokens_details?.cached_tokens ?? 0,
      usage.cached_tokens ?? 0,
      usage.num_cached_tokens ?? 0,
    ),
    cacheWriteTokens: usage.prompt_tokens_details?.cache_write_tokens ?? 0,
    reasoningTokens: reasoning,
  }
}

/** The two recorded errors within a stream and the one within a whole answer. */
const recordedErrors: Readonly<Record<string, HostReason>> = {
  tool_use_failed: "request",
  content_filter: "request",
  "502": "overloaded",
}

const failureOf = (error: Anything): HostReason | null => (error ? (recordedErrors[String(error.code)] ?? null) : null)

const finished = (reason: string | null, calls: ReadonlyArray<TranscriptCall>) =>
  reason === "stop" && calls.length > 0 ? "tool_calls" : reason

/** What a whole recorded answer says. */
export const expectedOfWhole = (recorded: RecordedCase): Transcript => {
  const body: Anything = bodyOf(recorded)
  const choices = (body.choices ?? []).map((choice: Anything) => {
    const message = choice.message ?? {}
    const toolCalls = (message.tool_calls ?? []).map((call: Anything) => ({
      id: call.id,
      name: call.function.name,
      arguments: call.function.arguments,
    }))
    const written = { text: join(textIn(message)), reasoning: join(reasoningIn(message)) }
    return {
      ...(withTags.has(recorded.provider) && !written.reasoning ? untagged(written.text) : written),
      refusal: join(message.refusal),
      toolCalls,
      finishReason: finished(choice.finish_reason, toolCalls),
    }
  })
  return { choices, usage: expectedUsage(recorded, body.usage), failed: failureOf(body.error) }
}

/** What a streamed recorded answer says. */
export const expectedOfStream = (recorded: RecordedCase): Transcript => {
  const gathered: Array<{
    text: string
    reasoning: string
    refusal: string
    calls: Array<Anything>
    finish: string | null
  }> = []
  let usage: Anything = null
  let failed: HostReason | null = null
  for (const event of events(recorded.response.raw ?? "")) {
    if (event.error) {
      failed = failureOf(event.error)
      break
    }
    usage = event.usage ?? event.x_groq?.usage ?? usage
    for (const { index, delta, finish_reason: finish } of event.choices) {
      gathered[index] ??= { text: "", reasoning: "", refusal: "", calls: [], finish: null }
      const choice = gathered[index]
      choice.text += join(textIn(delta))
      choice.reasoning += join(reasoningIn(delta))
      choice.refusal += join(delta.refusal)
      choice.finish = finish ?? choice.finish
      for (const call of delta.tool_calls ?? []) {
        // One recorded host gives fifteen calls the same index: only their ids differ.
        let gathered = choice.calls.findLast((one) => one.index === call.index)
        if (gathered === undefined || (call.id && call.id !== gathered.id)) {
          gathered = { index: call.index, id: call.id ?? "", name: call.function.name ?? "", arguments: "" }
          choice.calls.push(gathered)
        }
        gathered.arguments += call.function.arguments ?? ""
      }
    }
  }
  const choices = gathered.map(({ text, reasoning, refusal, calls, finish }) => {
    // A call without arguments is one with none, which is JSON, unless the answer was cut off before them.
    const toolCalls = calls.map(({ index: _, arguments: given, ...call }) => ({
      ...call,
      arguments: given === "" && finish !== "length" ? "{}" : given,
    }))
    return { text, reasoning, refusal, toolCalls, finishReason: finished(finish, toolCalls) }
  })
  return { choices, usage: expectedUsage(recorded, usage), failed }
}

/** What statuses mean that mean something else at one host. */
const reasonsAt: Readonly<Record<string, HostReason>> = {
  // "image input is not supported": the model cannot do it, the server is well.
  "llamacpp/chat-multimodal-matrix-image-without-mmproj-34a231": "request",
}

const reasons: Readonly<Record<number, HostReason>> = {
  400: "request",
  401: "account",
  403: "forbidden",
  404: "not-found",
  422: "request",
  429: "rate-limited",
  500: "overloaded",
}

/**
 * Tests that `provider` reads every one of `cases` correctly. `atLeast`: how many recordings there are, so that a run
 * fails when some are lost.
 */
export const chatRecordingTests = (provider: Provider, cases: ReadonlyArray<RecordedCase>, atLeast: number): void => {
  const { chat } = provider.protocols
  if (chat === undefined) throw new Error("the provider has no chat protocol")
  describe("recorded traffic", () => {
    test.skipIf(!recordingsPresent())(`${atLeast} recorded cases`, () => {
      expect(cases.length).toBeGreaterThanOrEqual(atLeast)
    })
    for (const recorded of cases) {
      const { status, headers } = recorded.response
      if (status !== 200) {
        const check = () => {
          const failed = provider.error(status, new Headers(headers ?? {}), bodyOf(recorded))
          expect(failed).toBeInstanceOf(HostFailed)
          expect(failed.reason).toBe(reasonsAt[recorded.id] ?? reasons[status] ?? "malformed")
          expect(failed.status).toBe(status)
          if (["request", "rate-limited"].includes(failed.reason)) expect(failed.detail?.length).toBeGreaterThan(0)
          else expect(failed.detail).toBeUndefined()
        }
        test(`${recorded.id}: ${status}`, reporting(recorded, check))
      } else if (recorded.stream) {
        for (const [seed, { name }] of splits(new Uint8Array(1), 0).entries()) {
          const check = () => {
            const split = splits(bytesOf(recorded), recorded.id.length + seed)[seed]
            expect(replay(chat, recorded, split?.pieces ?? [])).toEqual(expectedOfStream(recorded))
          }
          test(`${recorded.id}: ${name}`, reporting(recorded, check))
        }
      } else {
        const check = () => expect(wholeOf(chat, recorded)).toEqual(expectedOfWhole(recorded))
        test(recorded.id, reporting(recorded, check))
      }
    }
  })
}
