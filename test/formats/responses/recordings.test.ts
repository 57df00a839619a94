/** The Responses protocol against everything that was recorded of it, and against a reader of its own. */
import { describe, expect, test } from "bun:test"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { httpError } from "../../../src/formats/httpError.ts"
import { responsesProtocol } from "../../../src/formats/responses/responsesHost.ts"
import { reporting } from "../../support/recordings/recordedTable.ts"
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
} from "../../support/recordings/recordings.ts"
import { heard } from "./build.ts"

// The recordings are trusted: this reader is meant to be naive, so it does not check every member.
// biome-ignore lint/suspicious/noExplicitAny: see above
type Anything = any

const protocol = responsesProtocol()
const recorded = recordings("openai-responses")
const answered = recorded.filter(({ response }) => response.status === 200)

const eventsOf = (found: RecordedCase): ReadonlyArray<Anything> =>
  (found.response.raw ?? "")
    .split("\n")
    .filter((line) => line.startsWith("data: ") && !line.includes("[DONE]"))
    .map((line) => JSON.parse(line.slice(6)))

/** The response object at the end, whose items are those that ended in events of their own. */
const responseIn = (found: RecordedCase): Anything => {
  if (found.response.raw === undefined) return bodyOf(found)
  const events = eventsOf(found)
  const last = events.findLast(({ response }) => response !== undefined).response
  const items = events.filter(({ type }) => type === "response.output_item.done").map(({ item }) => item)
  return { ...last, output: items, broken: events.some(({ type }) => type === "error") }
}

const joined = (items: ReadonlyArray<Anything>, member: string, type: string, text: string) =>
  items
    .flatMap((item) => item[member] ?? [])
    .filter((part) => part.type === type)
    .map((part) => part[text])
    .join("")

const finishIn = (response: Anything, calls: number) => {
  const reason = response.incomplete_details?.reason
  if (reason) return reason === "content_filter" ? "content_filter" : "length"
  return calls > 0 ? "tool_calls" : "stop"
}

const expectedTranscript = (found: RecordedCase): Transcript => {
  const response = responseIn(found)
  const builder = new TranscriptBuilder()
  if (response.broken) {
    builder.failed = "overloaded"
    builder.add(0, "text", "")
    return builder.transcript()
  }
  const of = (type: string) => response.output.filter((item: Anything) => item.type === type)
  const calls = of("function_call")
  builder.add(0, "text", joined(of("message"), "content", "output_text", "text"))
  builder.add(0, "refusal", joined(of("message"), "content", "refusal", "refusal"))
  for (const thought of of("reasoning")) {
    builder.add(0, "reasoning", joined([thought], "summary", "summary_text", "text"))
    builder.add(0, "reasoning", joined([thought], "content", "reasoning_text", "text"))
  }
  for (const [at, call] of calls.entries())
    builder.call(0, at, { id: call.call_id, name: call.name, arguments: call.arguments })
  builder.finish(0, finishIn(response, calls.length))
  const { usage } = response
  builder.usage = {
    promptTokens: usage.input_tokens,
    completionTokens: usage.output_tokens,
    cachedTokens: usage.input_tokens_details.cached_tokens,
    cacheWriteTokens: usage.input_tokens_details.cache_write_tokens ?? 0,
    reasoningTokens: usage.output_tokens_details?.reasoning_tokens ?? 0,
  }
  return builder.transcript()
}

/** xAI refuses a wrong key as an argument that is invalid. */
const wrongKey = /"Incorrect API key provided/

describe("recorded answers", () => {
  test.skipIf(!recordingsPresent())("are there", () => {
    expect(recorded.length).toBeGreaterThanOrEqual(34)
    expect(answered.filter(({ response }) => response.raw !== undefined).length).toBeGreaterThanOrEqual(20)
  })

  for (const found of recorded) {
    if (found.response.status !== 200) {
      const check = () => {
        const body = bodyOf(found)
        const failed = httpError(found.response.status, new Headers(), body)
        const isAccount = wrongKey.test(JSON.stringify(body))
        expect(failed.reason).toBe(isAccount ? "account" : "request")
        expect(failed.detail !== undefined).toBe(!isAccount)
      }
      test(found.id, reporting(found, check))
    } else if (found.response.raw === undefined) {
      const check = () => expect(wholeOf(protocol, found)).toEqual(expectedTranscript(found))
      test(found.id, reporting(found, check))
    } else {
      for (const { name, pieces } of splits(bytesOf(found), 7)) {
        const check = () => expect(replay(protocol, found, pieces)).toEqual(expectedTranscript(found))
        test(`${found.id}, ${name}`, reporting(found, check))
      }
    }
  }
})

describe("what goes beyond the text", () => {
  for (const found of answered) {
    const response = responseIn(found)
    const thoughts = response.output.filter((item: Anything) => item.encrypted_content)
    if (thoughts.length > 0) {
      test(`${found.id}: encrypted reasoning goes back as it came`, () => {
        const messages = [
          { role: "user", content: "hello" },
          heard(protocol, found),
          { role: "user", content: "go on" },
        ]
        const { body } = encodedBy(protocol, requestWith({ messages }), hostFor("gpt-5"))
        const back = (body["input"] as ReadonlyArray<JsonObject>).filter(({ type }) => type === "reasoning")
        expect(back).toEqual(
          thoughts.map(({ id, summary, encrypted_content }: Anything) => ({
            type: "reasoning",
            id,
            summary: summary.filter(({ text }: Anything) => text !== ""),
            encrypted_content,
          })),
        )
        expect(body["include"]).toEqual(["reasoning.encrypted_content"])
      })
    }
    const cited: ReadonlyArray<Anything> = response.output
      .flatMap((item: Anything) => (item.type === "message" ? item.content : []))
      .flatMap((part: Anything) =>
        (part.annotations ?? []).map((annotation: Anything) => ({ ...annotation, of: part.text })),
      )
      .filter((annotation: Anything) => annotation.type === "url_citation")
    if (cited.length > 0) {
      test(`${found.id}: citations mark their text`, () => {
        const { content, annotations } = heard(protocol, found) as Anything
        const marked = annotations.map(({ url_citation: at }: Anything) => [
          at.url,
          String(content).slice(at.start_index, at.end_index),
        ])
        expect(marked).toEqual(cited.map((at) => [at.url, at.of.slice(at.start_index, at.end_index)]))
      })
    }
    const searches = response.output.filter(
      (item: Anything) => item.type === "web_search_call" && item.action?.type === "search",
    )
    if (searches.length > 0) {
      test(`${found.id}: searches are counted`, () => {
        const { usage } = heard(protocol, found) as Anything
        expect(usage.server_tool_use_details).toEqual({ web_search_requests: searches.length })
      })
    }
    const logprobs = joined(response.output, "content", "output_text", "logprobs")
    if (
      logprobs !== "" &&
      response.output.some((item: Anything) => item.content?.some((part: Anything) => part.logprobs?.length > 0))
    ) {
      test(`${found.id}: logprobs come with their text`, () => {
        const { logprobs: heardThem } = heard(protocol, found) as Anything
        const expected = response.output
          .flatMap((item: Anything) => item.content ?? [])
          .flatMap((part: Anything) => part.logprobs)
        expect(heardThem.map(({ token }: Anything) => token)).toEqual(expected.map(({ token }: Anything) => token))
      })
    }
  }
})
