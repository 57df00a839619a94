/** Cohere's chat and embeddings against what was recorded of them, compared with a reader that shares no code with the plugin. */
import { describe, expect, test } from "bun:test"
import type { HostReason } from "headgate/plugin"
import { reporting } from "../../../test/support/recordings/recordedTable.ts"
import {
  bodyOf,
  bytesOf,
  hostFor,
  type RecordedCase,
  recordings,
  recordingsPresent,
  replay,
  requestWith,
  splits,
  type Transcript,
  TranscriptBuilder,
  wholeOf,
} from "../../../test/support/recordings/recordings.ts"
import { chat } from "./chat.ts"
import { embeddings } from "./embeddings.ts"
import { cohereHttpError } from "./failure.ts"

// The recordings are trusted: this reader is meant to be naive, so it does not check every member.
// biome-ignore lint/suspicious/noExplicitAny: see above
type Anything = any

const eventsIn = ({ response }: RecordedCase): ReadonlyArray<Anything> =>
  (response.raw ?? "")
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.parse(line.slice(6)))

/** The whole answer that a stream would have been. */
const joined = (recorded: RecordedCase): Anything => {
  const answer: Anything = { message: { content: [], tool_calls: [], citations: [], tool_plan: "" } }
  const { message } = answer
  for (const { type, index, delta } of eventsIn(recorded)) {
    const piece = delta?.message
    if (type === "content-start") message.content[index] = piece.content
    if (type === "content-delta") {
      for (const [name, text] of Object.entries(piece.content)) message.content[index][name] += text
    }
    if (type === "tool-plan-delta") message.tool_plan += piece.tool_plan
    if (type === "tool-call-start") message.tool_calls[index] = piece.tool_calls
    if (type === "tool-call-delta") message.tool_calls[index].function.arguments += piece.tool_calls.function.arguments
    if (type === "citation-start") message.citations.push(piece.citations)
    if (type === "message-end") Object.assign(answer, delta)
  }
  return answer
}

const answerIn = (recorded: RecordedCase): Anything => (recorded.stream ? joined(recorded) : bodyOf(recorded))

const finishes: Record<string, string> = {
  COMPLETE: "stop",
  STOP_SEQUENCE: "stop",
  TOOL_CALL: "tool_calls",
}

const expectedTranscript = (recorded: RecordedCase): Transcript => {
  const { message, finish_reason: native, usage } = answerIn(recorded)
  const builder = new TranscriptBuilder()
  for (const block of message.content ?? []) {
    builder.add(0, "text", block.text)
    builder.add(0, "reasoning", block.thinking)
  }
  builder.add(0, "reasoning", message.tool_plan)
  for (const [at, call] of (message.tool_calls ?? []).entries()) {
    builder.call(0, at, { id: call.id, name: call.function.name, arguments: call.function.arguments || "{}" })
  }
  builder.finish(0, finishes[native] ?? `unknown: ${native}`)
  builder.usage = {
    promptTokens: usage.billed_units.input_tokens,
    completionTokens: usage.billed_units.output_tokens,
    cachedTokens: 0,
    cacheWriteTokens: 0,
    reasoningTokens: usage.tokens.reasoning_tokens ?? 0,
  }
  return builder.transcript()
}

const cases = recordings("cohere-v2")
const answers = cases.filter(({ response }) => response.status === 200)

describe.skipIf(!recordingsPresent())("Cohere's chat, recorded", () => {
  test("all cases are there", () => expect([cases.length, answers.length]).toEqual([13, 11]))

  test.each(answers.map((recorded) => [recorded.id, recorded] as const))("%s", async (_, recorded) => {
    await reporting(recorded, () => {
      const expected = expectedTranscript(recorded)
      if (!recorded.stream) {
        expect(wholeOf(chat, recorded)).toEqual(expected)
        return
      }
      for (const { name, pieces } of splits(bytesOf(recorded), 5)) {
        expect([name, replay(chat, recorded, pieces)]).toEqual([name, expected])
      }
    })()
  })

  const cited = answers.filter(({ categories }) => categories.includes("citations"))
  const head = { status: 200, headers: new Headers() }
  const context = { request: requestWith({}), host: hostFor("command-a") }

  test.each(cited.map((recorded) => [recorded.id, recorded] as const))("sources of %s", (_, recorded) => {
    const { message } = answerIn(recorded)
    const text = message.content.map((block: Anything) => block.text ?? "").join("")
    const decoder = chat.decoder(head, context)
    const chunks: Anything = recorded.stream
      ? eventsIn(recorded).flatMap((data) => decoder.event("", data) as Anything)
      : []
    const annotations: Anything = recorded.stream
      ? chunks.flatMap((chunk: Anything) => chunk.choices[0].delta.annotations ?? [])
      : (chat.decode(head, bodyOf(recorded), context) as Anything).choices[0].message.annotations
    const found = annotations.map(({ url_citation: at }: Anything) => [
      text.slice(at.start_index, at.end_index),
      at.url,
    ])
    const sources = message.citations.flatMap((citation: Anything) =>
      citation.sources.map((source: Anything) => [citation.text, source.id]),
    )
    expect(sources.length).toBeGreaterThan(0)
    expect(found).toEqual(sources)
  })

  const refusals = cases.filter(({ response }) => response.status !== 200)
  const expectedRefusals: Record<number, readonly [HostReason, string | undefined]> = {
    400: ["request", "context_length_exceeded"],
    404: ["not-found", undefined],
  }

  test.each(refusals.map((recorded) => [recorded.id, recorded] as const))("%s", async (_, recorded) => {
    await reporting(recorded, () => {
      const { status, headers } = recorded.response
      const failure = cohereHttpError(status, new Headers(headers ?? {}), bodyOf(recorded))
      expect([failure.reason, failure.code]).toEqual([...(expectedRefusals[status] ?? ["malformed", undefined])])
    })()
  })
})

describe.skipIf(!recordingsPresent())("Cohere's embeddings, recorded", () => {
  const recordedCases = recordings("cohere-embed")

  test("all cases are there", () => expect(recordedCases).toHaveLength(1))

  // It is of version 1, whose request and answer are the same but for `truncate: null`.
  test.each(recordedCases.map((recorded) => [recorded.id, recorded] as const))("%s", async (_, recorded) => {
    await reporting(recorded, () => {
      const { texts, model, truncate, ...sent }: Anything = recorded.request?.body ?? {}
      const request = {
        ...requestWith({}),
        operation: "embeddings" as const,
        stream: false as const,
        maxTokens: 0 as const,
        payload: { input: texts, ...sent },
      }
      const encoded: Anything = embeddings.encode(request, hostFor(model))
      expect(JSON.parse(encoded.right.body)).toEqual({ model, texts, ...sent })
      const body: Anything = bodyOf(recorded)
      const answer: Anything = embeddings.decode({ status: 200, headers: new Headers() }, body, request)
      expect(answer.data).toEqual([{ index: 0, embedding: body.embeddings.int8[0] }])
      expect(answer.usage).toMatchObject({ prompt_tokens: 2, completion_tokens: 0 })
    })()
  })
})
