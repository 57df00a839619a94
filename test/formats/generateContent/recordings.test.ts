/** Google's protocol against everything that was recorded of it. How Google writes is read here without any of our code. */
import { describe, expect, test } from "bun:test"
import type { HostReason } from "../../../src/domain/failures/HostReason.ts"
import { generateContentProtocol } from "../../../src/formats/generateContent/generateContentHost.ts"
import type { Protocol } from "../../../src/formats/Protocol.ts"
import { reporting } from "../../support/recordings/recordedTable.ts"
import {
  bodyOf,
  bytesOf,
  type RecordedCase,
  recordings,
  recordingsPresent,
  replay,
  splits,
  type Transcript,
  TranscriptBuilder,
  wholeOf,
} from "../../support/recordings/recordings.ts"

// The recordings are trusted: this reader is meant to be naive, so it does not check every member.
// biome-ignore lint/suspicious/noExplicitAny: see above
type Anything = any

const cases = [...recordings("gemini"), ...recordings("vertex-gemini")]

/** Streams that were not asked for as server-sent events. */
const isArray = ({ response }: RecordedCase): boolean => response.raw?.startsWith("[") === true

const eventsIn = (recorded: RecordedCase): ReadonlyArray<Anything> => {
  const { raw } = recorded.response
  if (raw === undefined) return [bodyOf(recorded)]
  if (isArray(recorded)) return JSON.parse(raw)
  return raw
    .split("\r\n")
    .filter((line) => line.startsWith("data: "))
    .map((line) => JSON.parse(line.slice(6)))
}

const finishes: Readonly<Record<string, string>> = {
  STOP: "stop",
  // One recording asks for numbers in the place of words.
  "1": "stop",
  MAX_TOKENS: "length",
  RECITATION: "content_filter",
  UNEXPECTED_TOOL_CALL: "stop",
}

/** What an answer says, by its candidates and the last count. Ids of calls are ours where Google gave none. */
const expectedOf = (recorded: RecordedCase): Transcript => {
  const builder = new TranscriptBuilder()
  const calls: Record<number, number> = {}
  let counted: Anything
  for (const event of eventsIn(recorded)) {
    if (event.promptFeedback?.blockReason) {
      builder.add(0, "refusal", event.promptFeedback.blockReasonMessage)
      builder.finish(0, "content_filter")
    }
    for (const { index = 0, content, finishReason } of event.candidates ?? []) {
      for (const part of content?.parts ?? []) {
        if (part.functionCall) {
          const at = calls[index] ?? 0
          calls[index] = at + 1
          const { id = "ours", name, args } = part.functionCall
          builder.call(index, at, { id, name, arguments: JSON.stringify(args) })
        } else if (typeof part.text === "string") builder.add(index, part.thought ? "reasoning" : "text", part.text)
      }
      builder.add(index, "text", "")
      if (finishReason) {
        const reason = finishes[finishReason] ?? "none"
        builder.finish(index, reason === "stop" && calls[index] ? "tool_calls" : reason)
      }
    }
    counted = event.usageMetadata ?? counted
  }
  if (counted !== undefined) {
    const input = counted.promptTokenCount + (counted.toolUsePromptTokenCount ?? 0)
    builder.usage = {
      promptTokens: input,
      completionTokens: counted.totalTokenCount - input,
      cachedTokens: counted.cachedContentTokenCount ?? 0,
      cacheWriteTokens: 0,
      reasoningTokens: counted.thoughtsTokenCount ?? 0,
    }
  }
  return builder.transcript()
}

/** Ids that we made are random. */
const withoutOwnIds = (transcript: Transcript): Transcript => ({
  ...transcript,
  choices: transcript.choices.map((choice) => ({
    ...choice,
    toolCalls: choice.toolCalls.map((call) => ({ ...call, id: /^call_\w{24}$/.test(call.id) ? "ours" : call.id })),
  })),
})

const protocolFor = (recorded: RecordedCase): Protocol => {
  const protocol = generateContentProtocol({ vertex: recorded.dialect === "vertex-gemini" })
  return isArray(recorded) ? { ...protocol, framing: "json-array" } : protocol
}

const reasons: Readonly<Record<number, HostReason>> = {
  400: "request",
  // An unknown caller: our key is missing.
  403: "account",
  404: "not-found",
  429: "rate-limited",
}

describe("recorded traffic", () => {
  test.skipIf(!recordingsPresent())("32 recorded cases, of which 17 are streams, four of these arrays", () => {
    expect([cases.length, cases.filter(({ response }) => response.raw !== undefined).length]).toEqual([32, 17])
    expect(cases.filter(isArray).length).toBe(4)
  })

  for (const recorded of cases) {
    const { status, headers, raw } = recorded.response
    const protocol = protocolFor(recorded)
    if (status !== 200) {
      const check = () => {
        const failed = generateContentProtocol().error(status, new Headers(headers ?? {}), bodyOf(recorded))
        expect([failed.reason, failed.status]).toEqual([reasons[status] ?? "malformed", status])
        const { error }: Anything = bodyOf(recorded)
        expect(failed.code).toBe(error.status)
        expect(failed.detail).toBe([400, 429].includes(status) ? error.message : undefined)
        expect(failed.retryAfterSeconds).toBe(status === 429 ? 35 : undefined)
      }
      test(`${recorded.id}: ${status}`, reporting(recorded, check))
    } else if (raw === undefined) {
      const check = () => expect(withoutOwnIds(wholeOf(protocol, recorded))).toEqual(expectedOf(recorded))
      test(recorded.id, reporting(recorded, check))
    } else {
      for (const { name, pieces } of splits(bytesOf(recorded), recorded.id.length)) {
        const check = () => expect(withoutOwnIds(replay(protocol, recorded, pieces))).toEqual(expectedOf(recorded))
        test(`${recorded.id}: ${name}`, reporting(recorded, check))
      }
    }
  }
})
