/** What is read of Google's answers, whole and streamed. */
import { describe, expect, test } from "bun:test"
import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { parseUsage } from "../../../src/domain/price/Usage.ts"
import { HostStream } from "../../../src/formats/stream/HostStream.ts"
import { answered, candidateOf, contextFor, gathered, gemini, head, sentAny, streamed, user } from "./build.ts"

const usage = { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15 }

const whole = (parts: ReadonlyArray<JsonObject>, more: JsonObject = {}, model?: string) =>
  answered({ candidates: [candidateOf(parts, { finishReason: "STOP", ...more })], usageMetadata: usage }, model)

const messageIn = (...given: Parameters<typeof whole>): JsonObject => whole(...given).choices[0]?.message ?? {}

const failureIn = (body: unknown): string => {
  const answer = gemini.decode(head, body, contextFor())
  return answer instanceof HostFailed ? `${answer.reason} ${answer.code}` : "answered"
}

const unique = expect.stringMatching(/^text_0_2_\w+$/)
const format = "google-gemini-v1"

describe("parts", () => {
  test("texts, thoughts, signed calls and images", () => {
    const message = messageIn([
      { text: "Hm", thought: true },
      { text: "m.", thought: true },
      { text: "Hi", thoughtSignature: "s0" },
      { functionCall: { name: "a", args: { b: [1] } }, thoughtSignature: "s1" },
      { functionCall: { id: "c2", name: "c" } },
      { inlineData: { mimeType: "image/png", data: "AAAA" }, thoughtSignature: "s2" },
      { text: "", thoughtSignature: "s3" },
      { executableCode: { code: "1" } },
      { codeExecutionResult: { output: "1" } },
      { thought: true, inlineData: { mimeType: "image/png", data: "BBBB" } },
    ])
    const id = (message["tool_calls"] as ReadonlyArray<JsonObject>)[0]?.["id"]
    expect(id).toMatch(/^call_\w{24}$/)
    expect(message).toEqual({
      role: "assistant",
      content: "Hi",
      refusal: null,
      reasoning: "Hmm.",
      reasoning_details: [
        { type: "reasoning.text", text: "Hm", format, index: 0 },
        { type: "reasoning.text", text: "m.", format, index: 0 },
        { type: "reasoning.encrypted", data: "s0", id: unique, format, index: 0 },
        { type: "reasoning.encrypted", data: "s1", id, format, index: 0 },
        { type: "reasoning.encrypted", data: "s2", id: expect.stringMatching(/^image_0_\w+$/), format, index: 0 },
        { type: "reasoning.encrypted", data: "s3", id: null, format, index: 0 },
      ],
      tool_calls: [
        { id, type: "function", function: { name: "a", arguments: '{"b":[1]}' } },
        { id: "c2", type: "function", function: { name: "c", arguments: "{}" } },
      ],
      images: [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }],
    })
  })

  test("sound", () => {
    const message = messageIn([{ inlineData: { mimeType: "audio/L16;codec=pcm;rate=24000", data: "AAAA" } }])
    expect(message).toMatchObject({ content: "", audio: { id: expect.stringMatching(/^audio_/), data: "AAAA" } })
  })

  test("a stream gives the same message, its calls numbered", () => {
    const parts = [
      { text: "Hm", thought: true },
      { text: "m.", thought: true },
      { text: "Let me " },
      { text: "look." },
      { functionCall: { id: "1", name: "a", args: {} }, thoughtSignature: "s1" },
      { functionCall: { id: "2", name: "b", args: { c: 1 } } },
      { text: "", thoughtSignature: "s2" },
    ]
    const chunks = streamed([
      ...parts.map((part) => ({ candidates: [candidateOf([part])] })),
      { candidates: [candidateOf([{ text: "" }], { finishReason: "STOP" })], usageMetadata: usage },
    ])
    const { role, content, reasoning, reasoning_details, tool_calls } = messageIn(parts)
    expect(gathered(chunks)).toEqual({ role, content, reasoning, reasoning_details, tool_calls, annotations: [] })
    const places = chunks.flatMap((chunk) =>
      chunk instanceof HostFailed ? [] : (chunk.choices[0]?.delta.tool_calls ?? []).map(({ index }) => index),
    )
    expect(places).toEqual([0, 1])
  })

  test("signatures go back byte for byte, to the parts that they came with", () => {
    const signature = "Cq4CAY89a1-yYdX8Kpj1j03pBYWO7emDy9RzLy/lcpSU+KceZ=="
    const parts = [
      { text: "Hmm.", thought: true },
      { text: "Two ", thoughtSignature: `${signature}a` },
      { text: "parts." },
      { text: "", thoughtSignature: `${signature}b` },
      { functionCall: { id: "1", name: "a", args: { b: "c" } }, thoughtSignature: signature },
      { functionCall: { id: "2", name: "a", args: {} } },
    ]
    const back = (message: JsonObject) =>
      sentAny({ messages: [user("x"), message, user("y")] }, { model: "gemini-3.5-flash" }).contents[1].parts
    expect(back(messageIn(parts))).toEqual(parts)
    const chunks = streamed(parts.map((part) => ({ candidates: [candidateOf([part])] })))
    expect(back(gathered(chunks))).toEqual(parts)
  })
})

describe("how an answer ends", () => {
  const call = [{ functionCall: { name: "a", args: {} } }]

  test.each<[string, ReadonlyArray<JsonObject>, string]>([
    ["STOP", [], "stop"],
    ["STOP", call, "tool_calls"],
    ["MAX_TOKENS", call, "length"],
    ["SAFETY", [], "content_filter"],
    ["RECITATION", [], "content_filter"],
    ["PROHIBITED_CONTENT", call, "content_filter"],
    ["IMAGE_SAFETY", [], "content_filter"],
    ["OTHER", [], "error"],
    ["SOMETHING_NEW", [], "stop"],
    ["UNEXPECTED_TOOL_CALL", call, "tool_calls"],
  ])("%s with %j", (finishReason, parts, expected) => {
    const [choice] = whole(parts, { finishReason }).choices
    expect([choice?.finish_reason, choice?.native_finish_reason]).toEqual([expected as "stop", finishReason])
    const chunks = streamed([{ candidates: [candidateOf(parts)] }, { candidates: [{ finishReason, index: 0 }] }])
    expect(chunks.at(-1)).toMatchObject({ choices: [{ finish_reason: expected, native_finish_reason: finishReason }] })
  })

  test("by the last reason, where one comes again", () => {
    const event = (finishReason: string) => ({ candidates: [candidateOf([{ text: "a" }], { finishReason })] })
    const finishes = streamed([event("STOP"), event("RECITATION")]).flatMap((chunk) =>
      chunk instanceof HostFailed ? [] : chunk.choices.map((choice) => choice.finish_reason),
    )
    expect(finishes).toEqual(["stop", "content_filter"])
  })

  test("a refusal says why", () => {
    const message = messageIn([], { finishReason: "SAFETY", finishMessage: "Unsafe." })
    expect(message).toMatchObject({ content: "", refusal: "Unsafe." })
  })

  test.each(["MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS", "NO_IMAGE"])(
    "%s without a call was a failure of the host: it is an answer of the model",
    (finishReason) => {
      const finish = { finish_reason: "error", native_finish_reason: finishReason } as const
      expect(answered({ candidates: [{ finishReason }], usageMetadata: usage }).choices).toMatchObject([finish])
      expect(streamed([{ candidates: [{ finishReason }] }])).toMatchObject([{ choices: [finish] }])
    },
  )

  test("a prompt that is refused has no candidates", () => {
    const body = {
      promptFeedback: { blockReason: "PROHIBITED_CONTENT", blockReasonMessage: "No." },
      usageMetadata: { promptTokenCount: 10, totalTokenCount: 10 },
    }
    const { choices, usage: counted } = answered(body)
    expect(choices).toEqual([
      {
        index: 0,
        finish_reason: "content_filter",
        native_finish_reason: "PROHIBITED_CONTENT",
        message: { role: "assistant", content: "", refusal: "No.", reasoning: null },
        logprobs: null,
      },
    ])
    expect(counted).toMatchObject({ prompt_tokens: 10, completion_tokens: 0 })
    expect(streamed([body])).toMatchObject([
      {
        choices: [
          { delta: { refusal: "No." }, finish_reason: "content_filter", native_finish_reason: "PROHIBITED_CONTENT" },
        ],
        usage: { prompt_tokens: 10, completion_tokens: 0 },
      },
    ])
  })

  test("several answers have an end each", () => {
    const candidates = [
      { content: { parts: [{ text: "a" }] }, finishReason: "STOP" },
      { content: { parts: [{ functionCall: { name: "f" } }] }, finishReason: "STOP", index: 1 },
    ]
    const said = answered({ candidates }).choices.map(({ index, message, finish_reason }) => [
      index,
      message.content,
      finish_reason,
    ])
    expect(said).toEqual([
      [0, "a", "stop"],
      [1, null, "tool_calls"],
    ])
    expect(streamed([{ candidates }])).toMatchObject([
      {
        choices: [
          { index: 0, finish_reason: "stop" },
          { index: 1, finish_reason: "tool_calls" },
        ],
      },
    ])
  })

  test.each<[string, unknown]>([
    ["an empty list", { candidates: [] }],
    ["a candidate with nothing in it", { candidates: [{}] }],
    ["only a count", { usageMetadata: usage }],
    ["a list", [{ candidates: [] }]],
  ])("%s is no answer", (_, body) => expect(failureIn(body)).toBe("malformed undefined"))

  test("an error within an answer or a stream", () => {
    const error = { code: 503, message: "The model is overloaded.", status: "UNAVAILABLE" }
    expect(failureIn({ error })).toBe("overloaded UNAVAILABLE")
    const chunks = streamed([{ candidates: [candidateOf([{ text: "a" }])] }, { error }])
    expect(chunks.at(-1)).toMatchObject({ reason: "overloaded", status: 503, code: "UNAVAILABLE" })
    expect(chunks.at(-1)).not.toMatchObject({ detail: expect.anything() })
  })
})

describe("usage", () => {
  const counted = (usageMetadata: JsonObject, more: JsonObject = {}, model?: string) =>
    parseUsage(
      answered({ candidates: [candidateOf([{ text: "a" }], { finishReason: "STOP", ...more })], usageMetadata }, model)
        .usage,
    )

  test("a report of nothing at the end of a stream does not take the place of the one before", () => {
    const decoder = gemini.decoder(head, contextFor())
    const nothing = { promptTokenCount: 0, candidatesTokenCount: 0, totalTokenCount: 0 }
    const said = { candidates: [candidateOf([{ text: "a" }], { finishReason: "STOP" })], usageMetadata: usage }
    const reports = [said, { usageMetadata: nothing }].flatMap((event) => {
      const chunks = decoder.event("", event)
      return chunks instanceof HostFailed ? [] : chunks.flatMap((chunk) => chunk.usage ?? [])
    })
    expect(reports).toMatchObject([{ prompt_tokens: 10, completion_tokens: 5 }])
  })

  test("prompt, cache, thoughts, Google's own tools, and parts by their kind", () => {
    const metadata = {
      promptTokenCount: 1000,
      cachedContentTokenCount: 600,
      toolUsePromptTokenCount: 50,
      candidatesTokenCount: 300,
      thoughtsTokenCount: 70,
      totalTokenCount: 1420,
      promptTokensDetails: [
        { modality: "TEXT", tokenCount: 400 },
        { modality: "IMAGE", tokenCount: 258 },
        { modality: "AUDIO", tokenCount: 200 },
        { modality: "VIDEO", tokenCount: 142 },
      ],
      cacheTokensDetails: [{ modality: "AUDIO", tokenCount: 90 }],
      toolUsePromptTokensDetails: [{ modality: "IMAGE", tokenCount: 2 }],
      candidatesTokensDetails: [
        { modality: "IMAGE", tokenCount: 258 },
        { modality: "AUDIO", tokenCount: 25 },
      ],
    }
    expect(counted(metadata)).toEqual({
      promptTokens: 1050,
      completionTokens: 370,
      cachedTokens: 600,
      cachedExplicitTokens: 0,
      cacheWriteTokens: 0,
      cacheWrite1hTokens: 0,
      cachedAudioTokens: 90,
      promptAudioTokens: 200,
      promptImageTokens: 260,
      promptVideoTokens: 142,
      reasoningTokens: 70,
      completionImageTokens: 258,
      completionAudioTokens: 25,
      webSearches: 0,
      searchUnits: 0,
    })
  })

  test.each<[string, JsonObject, ReadonlyArray<number> | undefined]>([
    ["zeros are left out", { promptTokenCount: 9, totalTokenCount: 9 }, [9, 0, 0]],
    ["without a total", { promptTokenCount: 9, candidatesTokenCount: 2, thoughtsTokenCount: 3 }, [9, 5, 3]],
    [
      "thoughts among the candidates' tokens",
      { promptTokenCount: 9, candidatesTokenCount: 20, thoughtsTokenCount: 15, totalTokenCount: 29 },
      [9, 20, 15],
    ],
    ["a total that is too small", { promptTokenCount: 9, candidatesTokenCount: 2, totalTokenCount: 3 }, [9, 2, 0]],
    ["a negative count of output", { promptTokenCount: 9, candidatesTokenCount: -2 }, undefined],
    ["an impossible count of output", { promptTokenCount: 9, candidatesTokenCount: 2 ** 40 }, undefined],
    ["a count of output in words", { promptTokenCount: 9, candidatesTokenCount: "2", totalTokenCount: 11 }, undefined],
    ["half a thought", { promptTokenCount: 9, candidatesTokenCount: 2, thoughtsTokenCount: 0.5 }, undefined],
    ["output is counted nowhere", { promptTokenCount: 9 }, undefined],
    ["nothing was counted", { trafficType: "ON_DEMAND" }, undefined],
  ])("%s", (_, metadata, expected) => {
    const read = counted(metadata)
    const totals = read === undefined ? undefined : [read.promptTokens, read.completionTokens, read.reasoningTokens]
    expect(totals).toEqual(expected as number[] | undefined)
  })

  const grounding = { groundingMetadata: { webSearchQueries: ["", "a", "b"] } }

  test("searches: each query from Gemini 3 on, an answer that searched before", () => {
    expect(counted(usage, grounding, "gemini-3.5-flash")?.webSearches).toBe(2)
    expect(counted(usage, grounding, "gemini-2.5-flash")?.webSearches).toBe(1)
    expect(counted(usage, {}, "gemini-3.5-flash")?.webSearches).toBe(0)
    const events = [
      { candidates: [candidateOf([{ text: "a" }], grounding)], usageMetadata: usage },
      { candidates: [candidateOf([], { finishReason: "STOP" })], usageMetadata: usage },
    ]
    const reports = streamed(events, "gemini-3.5-flash").map((chunk) =>
      chunk instanceof HostFailed ? undefined : chunk.usage,
    )
    expect(reports.map((report) => parseUsage(report)?.webSearches)).toEqual([2, 2])
  })

  test("a running report without output is not passed on, the last one is", () => {
    const early = { promptTokenCount: 9, totalTokenCount: 9 }
    const reports = streamed([
      { candidates: [candidateOf([{ text: "a" }])], usageMetadata: early },
      { candidates: [candidateOf([{ text: "b" }])], usageMetadata: { ...usage, promptTokenCount: 9 } },
      { candidates: [candidateOf([], { finishReason: "STOP" })], usageMetadata: early },
      { usageMetadata: early },
    ]).map((chunk) => (chunk instanceof HostFailed ? "failed" : chunk.usage !== undefined))
    expect(reports).toEqual([false, true, true, true])
  })

  test("the last report counts, also where it is smaller", () => {
    const stream = new HostStream({
      framing: gemini.framing,
      usage: gemini.usage,
      decoder: gemini.decoder(head, contextFor()),
      writer: { chunk: () => "" },
      transparent: false,
      excludeReasoning: false,
      choices: 1,
    })
    const reports = [
      {
        candidates: [candidateOf([{ text: "a" }])],
        usageMetadata: { ...usage, promptTokenCount: 20, totalTokenCount: 25 },
      },
      { candidates: [candidateOf([], { finishReason: "STOP" })], usageMetadata: usage },
    ]
    for (const report of reports) stream.push(new TextEncoder().encode(`data: ${JSON.stringify(report)}\r\n\r\n`))
    stream.end()
    expect([stream.state as string, stream.usage?.prompt_tokens, stream.usage?.completion_tokens]).toEqual([
      "ended",
      10,
      5,
    ])
  })

  test("the tier that served", () => {
    expect(
      answered({ candidates: [candidateOf([{ text: "a" }])], usageMetadata: { ...usage, serviceTier: "flex" } }),
    ).toMatchObject({ service_tier: "flex" })
    expect(
      answered({ candidates: [candidateOf([{ text: "a" }])], usageMetadata: { ...usage, serviceTier: "standard" } }),
    ).toMatchObject({ service_tier: "default" })
  })
})

describe("sources and probabilities", () => {
  const chunks = [
    { web: { uri: "https://a.example", title: "A" } },
    { retrievedContext: { uri: "gs://b", title: "B" } },
    { web: {} },
  ]
  const citation = (url: string, title: string, place: JsonObject) => ({
    type: "url_citation",
    url_citation: { url, title, ...place },
  })

  test("places are bytes of UTF-8, and become UTF-16 units", () => {
    const text = "🌞 é: Rome is warm."
    const bytes = (part: string) => Buffer.byteLength(part)
    const segment = { startIndex: bytes("🌞 é: "), endIndex: bytes("🌞 é: Rome"), text: "Rome" }
    const groundingMetadata = {
      groundingChunks: chunks,
      groundingSupports: [{ segment, groundingChunkIndices: [0, 1, 2, 7] }],
    }
    const place = { start_index: 6, end_index: 10 }
    const expected = [citation("https://a.example", "A", place), citation("gs://b", "B", place)]
    expect(messageIn([{ text }], { groundingMetadata })["annotations"]).toEqual(expected)
    const events = [
      { candidates: [candidateOf([{ text: "🌞 é: " }])] },
      { candidates: [candidateOf([{ text: "Rome is warm." }])] },
      { candidates: [candidateOf([], { finishReason: "STOP", groundingMetadata })] },
      { candidates: [candidateOf([], { groundingMetadata })] },
    ]
    expect(gathered(streamed(events))["annotations"]).toEqual(expected)
  })

  test("a text that occurs twice is marked where Google says, with or without its words", () => {
    const text = "é Rome é Rome"
    const place = { startIndex: 11, endIndex: 15 }
    for (const segment of [place, { ...place, text: "Rome" }]) {
      const groundingMetadata = {
        groundingChunks: chunks,
        groundingSupports: [{ segment, groundingChunkIndices: [0] }],
      }
      expect(messageIn([{ text }], { groundingMetadata })["annotations"]).toEqual([
        citation("https://a.example", "A", { start_index: 9, end_index: 13 }),
      ])
    }
  })

  test("a place that does not fit is looked for, or left out", () => {
    const supports = (segment: JsonObject) => ({
      groundingMetadata: { groundingChunks: chunks, groundingSupports: [{ segment, groundingChunkIndices: [0] }] },
    })
    const placed = (segment: JsonObject) => messageIn([{ text: "abc" }], supports(segment))["annotations"]
    expect(placed({ startIndex: 0, endIndex: 1, text: "b" })).toEqual([
      citation("https://a.example", "A", { start_index: 1, end_index: 2 }),
    ])
    expect(placed({ startIndex: 7, endIndex: 9 })).toEqual([citation("https://a.example", "A", {})])
    expect(messageIn([{ text: "abc" }], { groundingMetadata: { groundingChunks: chunks } })["annotations"]).toEqual([
      citation("https://a.example", "A", {}),
      citation("gs://b", "B", {}),
    ])
  })

  test("texts that were repeated from somewhere", () => {
    const source = { startIndex: 1, endIndex: 2, uri: "https://c.example" }
    const expected = [citation("https://c.example", "", { start_index: 1, end_index: 2 })]
    expect(messageIn([{ text: "abc" }], { citationMetadata: { citationSources: [source] } })["annotations"]).toEqual(
      expected,
    )
    expect(messageIn([{ text: "abc" }], { citationMetadata: { citations: [source] } })["annotations"]).toEqual(expected)
  })

  test("probabilities", () => {
    const logprobsResult = {
      chosenCandidates: [{ token: "é", logProbability: -0.5, tokenId: 1 }],
      topCandidates: [
        {
          candidates: [
            { token: "é", logProbability: -0.5 },
            { token: "e", logProbability: -2 },
          ],
        },
      ],
    }
    const of = (token: string, logprob: number) => ({ token, logprob, bytes: [...Buffer.from(token)] })
    const logprobs = { content: [{ ...of("é", -0.5), top_logprobs: [of("é", -0.5), of("e", -2)] }], refusal: null }
    expect(whole([{ text: "é" }], { logprobsResult }).choices[0]?.logprobs).toEqual(logprobs)
    expect(streamed([{ candidates: [candidateOf([{ text: "é" }], { logprobsResult })] }])).toMatchObject([
      { choices: [{ logprobs }] },
    ])
  })
})
