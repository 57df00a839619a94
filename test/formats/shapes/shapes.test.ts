/**
 * Whatever a host says, a client gets an answer of its format or the host has failed: no reader trusts a shape. The
 * formats agree on texts and calls. `SHAPES=500000 bun test test/formats/shapes` adds as many answers with two or more
 * damages at once.
 */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import { isJsonObject, type JsonObject } from "../../../src/domain/json/json.ts"
import type { Charge } from "../../../src/domain/money/Charge.ts"
import { noCost } from "../../../src/domain/price/price.ts"
import { noUsage } from "../../../src/domain/price/Usage.ts"
import type { ClientFormat } from "../../../src/formats/ClientFormat.ts"
import { chat } from "../../../src/formats/chat/chatClient.ts"
import { completions } from "../../../src/formats/completions/completionsClient.ts"
import { generateContent } from "../../../src/formats/generateContent/generateContentClient.ts"
import { messages } from "../../../src/formats/messages/messagesClient.ts"
import { responses } from "../../../src/formats/responses/responsesClient.ts"
import { HostStream } from "../../../src/formats/stream/HostStream.ts"
import { Target } from "../../../src/formats/Target.ts"
import { eventStreamEvent } from "../../../src/testing/eventStream.ts"
import { readChatStream } from "../../../src/testing/grammar/chat.ts"
import { readGenerateContentStream } from "../../../src/testing/grammar/generateContent.ts"
import { readMessagesStream } from "../../../src/testing/grammar/messages.ts"
import { readResponsesStream } from "../../../src/testing/grammar/responses.ts"
import { answerNames } from "../../support/formats/answerNames.ts"
import { hostFor, requestWith } from "../../support/recordings/recordings.ts"
import { type Changed, damaged, disordered, oneDamaged, oneDisordered, picker, shown } from "./changes.ts"
import { type RichHost, richHosts } from "./richHosts.ts"

setDefaultTimeout(1_800_000)

const host = hostFor("m")
const request = requestWith({ messages: [{ role: "user", content: "Hi" }], tools: [] })
const names = answerNames()
/** Google's streams are events, or one array. */
const targets = ["", "?alt=sse"].map((query) => new Target("/api/v1", `http://127.0.0.1/api/v1${query}`))
const charge: Charge = { usage: noUsage, cost: noCost, upstream: noCost, waived: null, estimated: false }
const head = { status: 200, headers: new Headers() }
const formats: ReadonlyArray<ClientFormat> = [chat, completions, messages, responses, generateContent]

/** Texts and calls, as each client reads them. */
type Said = readonly [text: string, calls: ReadonlyArray<string>]

const listOf = (value: unknown): ReadonlyArray<JsonObject> => (Array.isArray(value) ? value.filter(isJsonObject) : [])
const textsOf = (parts: ReadonlyArray<JsonObject>, type: string): string =>
  parts.flatMap((part) => (part["type"] === type && typeof part["text"] === "string" ? [part["text"]] : [])).join("")

/** A call, its arguments as a value. Arguments that are no JSON object differ by format. */
const called = (name: unknown, given: unknown): string => {
  let value = given
  try {
    value = typeof given === "string" ? JSON.parse(given === "" ? "{}" : given) : given
  } catch {
    return JSON.stringify([name, "other"])
  }
  return JSON.stringify([name, isJsonObject(value) && !("arguments" in value) ? value : "other"])
}

const readers: Readonly<Record<string, (body: JsonObject) => Said>> = {
  chat: ({ choices }) => {
    const message = listOf(choices)[0]?.["message"]
    if (!isJsonObject(message)) throw new Error("no message")
    const calls = listOf(message["tool_calls"]).map(({ function: one }) =>
      isJsonObject(one) ? called(one["name"], one["arguments"]) : "none",
    )
    return [typeof message["content"] === "string" ? message["content"] : "", calls]
  },
  generateContent: ({ candidates }) => {
    const content = listOf(candidates)[0]?.["content"]
    if (!isJsonObject(content)) throw new Error("no content")
    const parts = listOf(content["parts"])
    const said = parts.filter(({ thought }) => thought !== true)
    const calls = parts.flatMap(({ functionCall: call }) =>
      isJsonObject(call) ? [called(call["name"], call["args"])] : [],
    )
    return [said.map(({ text }) => (typeof text === "string" ? text : "")).join(""), calls]
  },
  messages: ({ content }) => {
    const blocks = listOf(content)
    const calls = blocks.filter(({ type }) => type === "tool_use")
    return [textsOf(blocks, "text"), calls.map(({ name, input }) => called(name, input))]
  },
  responses: ({ output }) => {
    const items = listOf(output)
    const calls = items.filter(({ type }) => type === "function_call")
    return [
      textsOf(
        items.filter(({ type }) => type === "message").flatMap(({ content }) => listOf(content)),
        "output_text",
      ),
      calls.map(({ name, arguments: given }) => called(name, given)),
    ]
  },
}

/** What each client gets of a whole answer; `undefined`: the host has failed. Throws where something is no answer. */
const wholeFor = ({ protocol }: RichHost, body: JsonObject): ReadonlyArray<Said> | undefined => {
  const answer = protocol.decode(head, body, { request, host })
  if (answer instanceof HostFailed) return undefined
  return formats.flatMap((format) => {
    const native = protocol.native?.form === format.name ? body : undefined
    const written = format.answer(names, request)(host, answer, native)(charge)
    const parsed: unknown = JSON.parse(typeof written === "string" ? written : Array.from(written.pieces).join(""))
    if (!isJsonObject(parsed)) throw new Error("no object")
    // What a host of the form wrote passes as it is.
    const read = native === undefined ? readers[format.name] : undefined
    return read === undefined ? [] : [read(parsed)]
  })
}

const bytesFor = ({ protocol: { framing }, nameOf = () => "" }: RichHost, event: JsonObject): Uint8Array => {
  const name = nameOf(event)
  if (framing === "aws-eventstream") {
    const inside: unknown = event[name]
    return eventStreamEvent(name, JSON.stringify(inside ?? event))
  }
  if (framing === "ndjson") return Buffer.from(`${JSON.stringify(event)}\n`)
  const line = /^[\w.-]+$/.test(name) ? `event: ${name}\n` : ""
  return Buffer.from(`${line}data: ${JSON.stringify(event)}\n\n`)
}

const streamReaders: Readonly<Record<string, (text: string) => unknown>> = {
  chat: readChatStream,
  messages: readMessagesStream,
  responses: readResponsesStream,
  generateContent: readGenerateContentStream,
}

/** What a chat client collects of the chunks of a stream. */
const collected = (chunks: unknown): Said => {
  const names: Array<unknown> = []
  const given: Array<string> = []
  let text = ""
  for (const { delta } of listOf(chunks).flatMap(({ choices }) => listOf(choices))) {
    if (!isJsonObject(delta)) continue
    if (typeof delta["content"] === "string") text += delta["content"]
    for (const { index, function: one } of listOf(delta["tool_calls"])) {
      const { name, arguments: piece } = isJsonObject(one) ? one : {}
      names[Number(index)] ??= name
      given[Number(index)] = `${given[Number(index)] ?? ""}${piece ?? ""}`
    }
  }
  return [text, names.map((name, at) => called(name, given[at]))]
}

const targetsOf = (format: ClientFormat): ReadonlyArray<Target> =>
  format === generateContent ? targets : targets.slice(0, 1)

/**
 * Writes a stream to each client, and reads it by the grammar of its format. Throws where it is none. Returns what a
 * chat client got; `undefined`: the host has failed.
 */
const streamFor = (rich: RichHost, events: ReadonlyArray<JsonObject>): Said | undefined => {
  const { protocol } = rich
  let said: Said | undefined
  for (const [format, target] of formats.flatMap((one) => targetsOf(one).map((at) => [one, at] as const))) {
    const isNative = protocol.native?.form === format.name
    const writer = format.stream(names, request, target)(host)
    const stream = new HostStream({
      ...{ framing: protocol.framing, transparent: protocol.transparent === true, usage: protocol.usage },
      ...{ decoder: protocol.decoder(head, { request, host }), writer, excludeReasoning: false, choices: 1 },
      native: isNative && writer.native !== undefined,
    })
    const isOpen = () => stream.state === "silent" || stream.state === "speaking"
    let text = ""
    for (const event of events) if (isOpen()) text += stream.push(bytesFor(rich, event))
    if (isOpen()) text += stream.end()
    const { failure } = stream
    if (failure?.reason === "defect") throw new Error(`a defect: ${String(failure.cause)}`)
    // Nothing was said, so the next host is called.
    if (text === "" && stream.state !== "ended") continue
    text += stream.state === "ended" ? writer.finish(stream.finish(), charge) : writer.failure(undefined, charge)
    // A host of the form may break its grammar; what it wrote passes.
    if (isNative || (protocol.transparent === true && format === chat)) continue
    const read = streamReaders[format.name]?.(text)
    if (format === chat && stream.state === "ended") said = collected(read)
  }
  return said
}

const faultsOf = <A>(
  changes: ReadonlyArray<Changed<A>>,
  run: (value: A) => string | undefined,
): ReadonlyArray<string> =>
  changes.flatMap(({ name, value }) => {
    try {
      const fault = run(value)
      return fault === undefined ? [] : [`${name}: ${fault}`]
    } catch (cause) {
      return [`${name}: ${String(cause).slice(0, 200)}`]
    }
  })

const disagreement = (said: ReadonlyArray<Said> | undefined): string | undefined => {
  const all = new Set((said ?? []).map((one) => JSON.stringify(one)))
  return all.size > 1 ? [...all].join(" or ") : undefined
}

/** Answers with several damages at once, for each host. `SHAPES`: for all hosts together. */
const several = Math.ceil(Number(process.env["SHAPES"] ?? 4000) / Object.keys(richHosts).length)

describe.each(Object.entries(richHosts))("a host of %s", (_, rich) => {
  test("whose answer is whole is read alike by every client", () => {
    const said = wholeFor(rich, rich.whole)
    expect(said?.[0]).toEqual(["Sunny.", [called("weather", '{"town":"Bern"}')]])
    expect(disagreement(said)).toBeUndefined()
    streamFor(rich, rich.events)
  })

  test("each member of whose answer is damaged is read alike, or has failed", () => {
    expect(shown(faultsOf(damaged(rich.whole), (body) => disagreement(wholeFor(rich, body))))).toEqual([])
  })

  test("each event of whose stream is damaged, missing, doubled or moved gives a stream of the format", () => {
    const faults = faultsOf(disordered(rich.events), (events) => {
      streamFor(rich, events)
      return undefined
    })
    expect(shown(faults)).toEqual([])
  })

  test.skipIf(rich.asEvents === undefined)("says the same, damaged, where all of it is one event of a stream", () => {
    const faults = faultsOf(damaged(rich.whole), (body) => {
      const [whole] = wholeFor(rich, body) ?? []
      const streamed = streamFor(rich, rich.asEvents?.(body) ?? [])
      if (whole === undefined) return undefined
      return streamed === undefined ? "failed as a stream" : disagreement([whole, streamed])
    })
    // A stream without an end has failed.
    const hasEnd = (fault: string) => !/^(?:done|candidates\.0\.finishReason) = .*: failed as a stream$/.test(fault)
    expect(shown(faults.filter(hasEnd))).toEqual([])
  })

  test("with several damages at once, whole and streamed", () => {
    const pick = picker(20_261_128)
    const changes = Array.from({ length: several }, (_unused, at): Changed<() => string | undefined> => {
      if (at % 2 === 0) {
        const first = oneDamaged(rich.whole, pick)
        const second = oneDamaged(first.value, pick)
        return { name: `${first.name}, ${second.name}`, value: () => disagreement(wholeFor(rich, second.value)) }
      }
      const first = oneDisordered(rich.events, pick)
      const second = oneDisordered(first.value, pick)
      const run = () => {
        streamFor(rich, second.value)
        return undefined
      }
      return { name: `${first.name}, ${second.name}`, value: run }
    })
    expect(shown(faultsOf(changes, (run) => run()))).toEqual([])
  })
})
