/** Converse against everything that was recorded of it, compared with a reader that shares no code with the plugin. */
import { describe, expect, test } from "bun:test"
import { EventStreamCodec } from "@smithy/eventstream-codec"
import * as Either from "effect/Either"
import type { HostReason } from "headgate/plugin"
import { recordedCase, reporting } from "../../../test/support/recordings/recordedTable.ts"
import {
  bodyOf,
  bytesOf,
  encodedBy,
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
import { converse } from "./converse.ts"
import { embeddings } from "./embeddings.ts"
import { bedrockHttpError } from "./failure.ts"

// The recordings are trusted: this reader is meant to be naive, so it does not check every member.
// biome-ignore lint/suspicious/noExplicitAny: see above
type Anything = any

const codec = new EventStreamCodec(
  (bytes) => Buffer.from(bytes).toString("utf8"),
  (text) => new TextEncoder().encode(text),
)

/** The events of a stream: their names, and JSON. */
const eventsIn = (recorded: RecordedCase): ReadonlyArray<readonly [name: unknown, data: Anything]> => {
  const events: Array<readonly [unknown, Anything]> = []
  let rest = bytesOf(recorded)
  while (rest.length > 0) {
    const length = new DataView(rest.buffer, rest.byteOffset).getUint32(0)
    const { headers, body } = codec.decode(rest.slice(0, length))
    events.push([headers[":event-type"]?.value, JSON.parse(Buffer.from(body).toString("utf8"))])
    rest = rest.slice(length)
  }
  return events
}

/** The whole answer that a stream would have been; `input` of a tool stays text. */
const joined = (recorded: RecordedCase): Anything => {
  const content: Array<Anything> = []
  const answer: Anything = { output: { message: { content } } }
  for (const [name, data] of eventsIn(recorded)) {
    const at = data.contentBlockIndex
    if (name === "contentBlockStart")
      content[at] = data.start.toolUse ? { toolUse: { ...data.start.toolUse, input: "" } } : {}
    if (name === "contentBlockDelta") {
      content[at] ??= {}
      const { text, toolUse, reasoningContent } = data.delta
      if (text !== undefined) content[at].text = (content[at].text ?? "") + text
      if (toolUse && content[at].toolUse) content[at].toolUse.input += toolUse.input
      if (reasoningContent) {
        content[at].reasoningContent ??= { reasoningText: { text: "", signature: "" } }
        content[at].reasoningContent.reasoningText.text += reasoningContent.text ?? ""
        content[at].reasoningContent.reasoningText.signature += reasoningContent.signature ?? ""
      }
    }
    if (name === "messageStop") answer.stopReason = data.stopReason
    if (name === "metadata") answer.usage = data.usage
  }
  return answer
}

const finishes: Record<string, string> = {
  end_turn: "stop",
  tool_use: "tool_calls",
  max_tokens: "length",
  guardrail_intervened: "content_filter",
  content_filtered: "content_filter",
}

const messageOf = (recorded: RecordedCase): Anything => (recorded.stream ? joined(recorded) : bodyOf(recorded))

const blocksOf = (recorded: RecordedCase): ReadonlyArray<Anything> =>
  messageOf(recorded).output.message.content.filter((block: Anything) => block !== undefined)

const expectedTranscript = (recorded: RecordedCase): Transcript => {
  const { stopReason, usage } = messageOf(recorded)
  const builder = new TranscriptBuilder()
  builder.add(0, "text", "")
  let calls = 0
  for (const block of blocksOf(recorded)) {
    if (block.text) builder.add(0, "text", block.text)
    for (const part of block.citationsContent?.content ?? []) builder.add(0, "text", part.text)
    if (block.reasoningContent) builder.add(0, "reasoning", block.reasoningContent.reasoningText?.text)
    if (!block.toolUse || block.toolUse.type === "server_tool_use") continue
    const { toolUseId: id, name, input } = block.toolUse
    builder.call(0, calls++, { id, name, arguments: typeof input === "string" ? input || "{}" : JSON.stringify(input) })
  }
  builder.finish(0, finishes[stopReason] ?? `unknown: ${stopReason}`)
  const read = usage.cacheReadInputTokens ?? 0
  const written = usage.cacheWriteInputTokens ?? 0
  builder.usage = {
    promptTokens: usage.totalTokens - usage.outputTokens,
    completionTokens: usage.outputTokens,
    cachedTokens: read,
    cacheWriteTokens: written,
    reasoningTokens: 0,
  }
  expect(usage.inputTokens + read + written + usage.outputTokens).toBe(usage.totalTokens)
  return builder.transcript()
}

const head = { status: 200, headers: new Headers() }

const cases = recordings("bedrock-converse")
const answers = cases.filter(({ response }) => response.status === 200)
const hostOf = ({ request, model }: RecordedCase) =>
  hostFor(decodeURIComponent(request?.path.split("/")[2] ?? model ?? "model"))

describe.skipIf(!recordingsPresent())("Converse, recorded", () => {
  test("all cases are there", () => expect([cases.length, answers.length]).toEqual([22, 19]))

  test.each(answers.map((recorded) => [recorded.id, recorded] as const))("%s", async (_, recorded) => {
    await reporting(recorded, () => {
      const expected = expectedTranscript(recorded)
      if (!recorded.stream) {
        expect(wholeOf(converse, recorded)).toEqual(expected)
        return
      }
      for (const { name, pieces } of splits(bytesOf(recorded), 5)) {
        expect([name, replay(converse, recorded, pieces)]).toEqual([name, expected])
      }
    })()
  })

  const signed = answers.filter(({ categories }) => categories.includes("reasoning-signature"))

  test.each(signed.map((recorded) => [recorded.id, recorded] as const))("signatures of %s", (_, recorded) => {
    const blocks = blocksOf(recorded).flatMap((block) => block.reasoningContent ?? [])
    expect(blocks.length).toBeGreaterThan(0)
    const details = recorded.stream ? streamedDetails(recorded) : wholeDetails(recorded)
    const messages = [
      { role: "user" as const, content: "x" },
      { role: "assistant" as const, content: "y", reasoning_details: details },
    ]
    const [, assistant] = sentTurns({ messages }, recorded)
    expect(assistant.content.slice(0, -1).map((block: Anything) => block.reasoningContent)).toEqual(blocks)
  })

  const context = (recorded: RecordedCase) => ({
    request: requestWith({}, { stream: recorded.stream }),
    host: hostOf(recorded),
  })

  const wholeDetails = (recorded: RecordedCase): Anything =>
    (converse.decode(head, bodyOf(recorded), context(recorded)) as Anything).choices[0].message.reasoning_details

  const streamedDetails = (recorded: RecordedCase): Anything => {
    const decoder = converse.decoder(head, context(recorded))
    return eventsIn(recorded).flatMap(([name, data]) =>
      (decoder.event(String(name), data) as Anything).flatMap(
        (chunk: Anything) => chunk.choices[0]?.delta.reasoning_details ?? [],
      ),
    )
  }

  const sentTurns = (body: Anything, recorded: RecordedCase): Anything =>
    encodedBy(converse, requestWith(body), hostOf(recorded)).body["messages"]

  const refusals = cases.filter(({ response }) => response.status !== 200)
  const reasons: Record<number, HostReason> = { 400: "request", 403: "account", 404: "not-found" }

  test.each(refusals.map((recorded) => [recorded.id, recorded] as const))("%s", async (_, recorded) => {
    await reporting(recorded, () => {
      const { status, headers } = recorded.response
      const failure = bedrockHttpError(status, new Headers(headers ?? {}), bodyOf(recorded))
      expect(failure.reason).toBe(reasons[status] ?? "malformed")
      expect(failure.detail).toBe(
        status === 400 ? "This model doesn't support the s3Uri field. Remove s3Uri and try again." : undefined,
      )
    })()
  })
})

describe.skipIf(!recordingsPresent())("InvokeModel, recorded", () => {
  const [recorded, ...others] = recordings("bedrock-invoke")

  test("Cohere's embeddings: the request, and the count in the head", () => {
    if (recorded === undefined) throw new Error("not there")
    expect(others).toEqual([])
    const excluded = "the source keeps what its own client made of the answer, not Bedrock's body"
    recordedCase(recorded, { excluded })
    const sent: Anything = recorded.request?.body
    const request = {
      ...requestWith({}),
      operation: "embeddings" as const,
      stream: false as const,
      maxTokens: 0 as const,
      payload: { input: sent.texts, input_type: sent.input_type, truncate: sent.truncate },
    }
    const encoded = Either.getOrThrow(embeddings.encode(request, hostFor("cohere.embed-english-v3")))
    expect(encoded.path).toBe(recorded.request?.path ?? "")
    expect(JSON.parse(String(encoded.body))).toEqual(sent)
    // Rebuilt in the form of AWS's documentation from the recorded numbers.
    const vectors = (bodyOf(recorded) as Anything).data.map(({ embedding }: Anything) => embedding)
    const body = { id: "1", texts: sent.texts, response_type: "embeddings_by_type", embeddings: { float: vectors } }
    const answer: Anything = embeddings.decode(
      { status: 200, headers: new Headers(recorded.response.headers ?? {}) },
      body,
      request,
    )
    expect(answer.data).toEqual([{ index: 0, embedding: vectors[0] }])
    expect(answer.usage).toEqual({ prompt_tokens: 2, completion_tokens: 0 })
  })
})
