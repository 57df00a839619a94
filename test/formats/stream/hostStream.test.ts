import { describe, expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import type { ChatChunk } from "../../../src/domain/request/chat.ts"
import { chatDecoder } from "../../../src/formats/chat/chatStream.ts"
import type { Decoder } from "../../../src/formats/Protocol.ts"
import { HostStream } from "../../../src/formats/stream/HostStream.ts"
import { chunkText } from "../../support/clients/chunkText.ts"
import { contentOf, finishesOf, gather, readLines } from "../../support/clients/strictSse.ts"
import {
  bytesOfScript,
  cutAt,
  eventBy,
  hostsId,
  hostsModel,
  type Manner,
  plainManner,
  type Script,
  Scripts,
  ScriptWriter,
} from "../../support/hosts/hostScript.ts"
import { bytesOf, recordings, recordingsPresent, splits } from "../../support/recordings/recordings.ts"

const encode = (text: string) => new TextEncoder().encode(text)
const ours = { id: "gen-7-ours", provider: "Acme", model: "acme/small", object: "chat.completion.chunk", created: 7 }

/** Everything that comes of a stream: what the caller got, and what the gateway knows of it. */
const relayed = (
  pieces: Iterable<Uint8Array>,
  transparent: boolean,
  decoder: Decoder = chatDecoder({}, "m"),
  usageAfterError = false,
) => {
  const plain = chunkText(ours)
  let parsed = 0
  let spliced = 0
  const stream = new HostStream({
    framing: "sse",
    decoder,
    transparent,
    usageAfterError,
    excludeReasoning: false,
    choices: 1,
    writer: {
      chunk: (chunk) => {
        parsed += 1
        return plain.chunk(chunk)
      },
      spliceable: {
        json: plain.spliceable.json,
        text: (json) => {
          spliced += 1
          return plain.spliceable.text(json)
        },
      },
    },
  })
  let text = ""
  for (const piece of pieces) text += stream.push(piece)
  text += stream.end()
  const failed = stream.failure instanceof HostFailed ? stream.failure.reason : null
  if (stream.state === "ended") text += plain.finish(stream.finish())
  const { usage, hasContent, hasFinish, events, state } = stream
  const { outputBytes } = stream.output
  return {
    text,
    parsed,
    spliced,
    written: readLines(text),
    known: { usage, outputBytes, hasContent, hasFinish, events, state, failed },
  }
}

/** What the host meant to say, by choice, read off the script. */
const meant = ({ steps, choices }: Script) => {
  const all = Array.from({ length: choices }, () => ({
    content: "",
    reasoning: "",
    refusal: "",
    calls: new Map<number, string>(),
  }))
  for (const { utterance, choice } of steps) {
    const into = all[choice % choices]
    if (into === undefined) continue
    if (utterance.kind === "text" || utterance.kind === "logprobs" || utterance.kind === "thought")
      into.content += utterance.text
    if (utterance.kind === "reasoning" || utterance.kind === "reasoning_content" || utterance.kind === "thought")
      into.reasoning += utterance.text
    if (utterance.kind === "refusal") into.refusal += utterance.text
    if (utterance.kind === "call")
      into.calls.set(utterance.call, (into.calls.get(utterance.call) ?? "") + utterance.text)
  }
  return all.map(({ calls, ...rest }, index) => ({
    ...rest,
    calls: Array.from(calls, ([call, args]) => ({ id: `call_${index}_${call}`, name: "look", arguments: args })),
  }))
}

const Cuts = FastCheck.array(FastCheck.nat(), { maxLength: 12 })

describe("any stream of the chat form", () => {
  test("reaches the caller whole, under our names, with one finish at its end; the fast path changes nothing", () => {
    FastCheck.assert(
      FastCheck.property(Scripts, Cuts, (script, cuts) => {
        const bytes = bytesOfScript(script)
        const slow = relayed([bytes], false)
        const fast = relayed(cutAt(bytes, cuts), true)
        expect(fast.written).toEqual(slow.written)
        expect(fast.known).toEqual(slow.known)
        expect(fast.known.state).toBe("ended")
        expect(fast.written.done).toBe(true)

        const { events } = fast.written
        for (const event of events) {
          expect(event).toMatchObject(ours)
        }
        expect(finishesOf(events)).toEqual(events.slice(-1))
        const choices = gather(events)
        for (const [index, { calls, ...expected }] of meant(script).entries()) {
          const { finishes, calls: got, ...rest } = choices.get(index) ?? { finishes: [], calls: [] }
          expect(rest).toEqual(expected)
          expect(got).toEqual(calls)
          expect(finishes).toEqual([calls.length > 0 ? "tool_calls" : "stop"])
        }
        expect(fast.text).not.toContain(hostsId)
        expect(fast.text).not.toContain(hostsModel)
      }),
      { numRuns: 800 },
    )
  })

  test("gives the same with and without the fast path when bytes of it are broken", () => {
    const Damage = FastCheck.array(
      FastCheck.record({
        at: FastCheck.nat(),
        byte: FastCheck.oneof(FastCheck.nat(255), FastCheck.constantFrom(34, 92, 10, 13, 44, 58, 123, 125)),
        how: FastCheck.constantFrom("replace", "insert", "remove"),
      }),
      { minLength: 1, maxLength: 6 },
    )
    FastCheck.assert(
      FastCheck.property(Scripts, Damage, Cuts, (script, damage, cuts) => {
        const broken = Array.from(bytesOfScript(script))
        for (const { at, byte, how } of damage) {
          broken.splice(at % broken.length, how === "insert" ? 0 : 1, ...(how === "remove" ? [] : [byte]))
        }
        const bytes = Uint8Array.from(broken)
        const slow = relayed([bytes], false)
        const fast = relayed(cutAt(bytes, cuts), true)
        expect(withoutMadeUpIds(fast.written)).toEqual(withoutMadeUpIds(slow.written))
        expect(fast.known).toEqual(slow.known)
      }),
      { numRuns: 800 },
    )
  })

  test("never throws, whatever JSON the events are", () => {
    const Events = FastCheck.array(
      FastCheck.oneof(
        FastCheck.jsonValue(),
        FastCheck.record({ choices: FastCheck.array(FastCheck.jsonValue()), usage: FastCheck.jsonValue() }),
        FastCheck.record({
          choices: FastCheck.array(
            FastCheck.record({
              index: FastCheck.jsonValue(),
              delta: FastCheck.dictionary(
                FastCheck.constantFrom("role", "content", "tool_calls", "reasoning", "__proto__", "refusal"),
                FastCheck.jsonValue(),
              ),
              finish_reason: FastCheck.constantFrom(null, "stop", "error", 7, ""),
            }),
          ),
        }),
      ),
      { maxLength: 8 },
    )
    FastCheck.assert(
      FastCheck.property(Events, (events) => {
        const bytes = encode(events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(""))
        const slow = relayed([bytes], false)
        const fast = relayed([bytes], true)
        expect(fast.known.state).toBeOneOf(["ended", "failed"])
        expect(fast.known.state).toBe(slow.known.state)
      }),
      { numRuns: 500 },
    )
  })

  test.skipIf(!recordingsPresent())("recorded streams: the fast path changes nothing, at any split", () => {
    const streams = recordings("openai-chat").filter(({ stream, response }) => stream && response.status === 200)
    expect(streams.length).toBeGreaterThan(20)
    for (const recorded of streams) {
      const bytes = bytesOf(recorded)
      const slow = relayed([bytes], false)
      for (const { pieces } of splits(bytes, bytes.length)) {
        const fast = relayed(pieces, true)
        expect(withoutMadeUpIds(fast.written)).toEqual(withoutMadeUpIds(slow.written))
        expect(fast.known).toEqual(slow.known)
      }
    }
  })
})

describe("an error in a stream, with a usage after it", () => {
  const event = (members: object) => `data: ${JSON.stringify(members)}\n\n`
  const said = (content: string) => event({ choices: [{ index: 0, delta: { content }, finish_reason: null }] })
  const error = event({
    choices: [{ index: 0, delta: {}, finish_reason: "error" }],
    error: { code: 502, message: "Provider returned error" },
  })
  const usage = { prompt_tokens: 41, completion_tokens: 243 }
  const counted = event({ choices: [], usage })
  const read = (text: string, usageAfterError = true) =>
    splits(encode(text), 3).map(({ pieces }) => relayed(pieces, true, chatDecoder({}, "m"), usageAfterError).known)

  test.each([
    ["as the last event", said("Hel") + error + counted],
    ["before more", said("Hel") + error + counted + said("lo")],
    ["after events without one", `${said("Hel") + error + said("x")}: ping\n\n${counted}data: [DONE]\n\n`],
  ])("is counted, %s: the stream fails all the same, at any split", (_where, text) => {
    for (const known of read(text)) {
      expect(known).toMatchObject({ state: "failed", failed: "overloaded", usage, outputBytes: 3 })
    }
  })

  test("is not waited for at other hosts, before anything was said, or for long", () => {
    for (const known of read(said("Hel") + error + counted, false)) expect(known.usage).toBeUndefined()
    for (const known of read(error + counted)) expect(known).toMatchObject({ state: "failed", usage: undefined })
    for (const known of read(said("Hel") + error + said("x").repeat(9) + counted)) {
      expect(known).toMatchObject({ state: "failed", usage: undefined })
    }
    for (const known of read(`${said("Hel")}${error}data: [DONE]\n\n`)) expect(known.state).toBe("failed")
    for (const known of read(said("Hel") + error))
      expect(known).toMatchObject({ state: "failed", failed: "overloaded" })
  })

  test.skipIf(!recordingsPresent())("as it was recorded of a router", () => {
    const recorded = recordings("openai-chat").find(
      ({ provider, categories }) => provider === "openrouter" && categories.includes("error-midstream"),
    )
    if (recorded === undefined) throw new Error("no such recording")
    for (const { pieces } of splits(bytesOf(recorded), 5)) {
      const { known } = relayed(pieces, true, chatDecoder({}, "m"), true)
      expect(known.usage).toMatchObject({ prompt_tokens: 41, completion_tokens: 243 })
    }
  })
})

/** Calls that came without an id were given one by us, another one each time. */
const withoutMadeUpIds = (written: unknown): unknown =>
  JSON.parse(JSON.stringify(written).replace(/call_\w{24}"/g, 'call_"'))

describe("the fast path", () => {
  const streamOf = (manner: Manner, texts: ReadonlyArray<string>) => {
    const writer = new ScriptWriter()
    return texts.map((text) => eventBy(manner, writer.chunk(manner, 0, { kind: "text", text }))).join("")
  }
  const finish = (manner: Manner) => eventBy(manner, new ScriptWriter().chunk(manner, 0, "finish"))
  const words = ["Hel", "lo", ' "wor\\ld"\n', "你好", "😀", "."]

  test.each<readonly [string, Partial<Manner>]>([
    ["as most hosts write", {}],
    ["with Python's spaces", { spaced: true }],
    ["with escapes for all but ASCII", { ascii: true, spaced: true }],
    ["with the role in each", { role: true }],
    ["with usage null in each", { usage: "null", fingerprint: true }],
    ["with the finish reason first", { finishFirst: true, lineEnd: "\r\n" }],
  ])("is taken by every plain delta but the first: %s", (_, more) => {
    const manner = { ...plainManner, ...more }
    const { parsed, spliced, written, known } = relayed([encode(streamOf(manner, words) + finish(manner))], true)
    expect([parsed, spliced]).toEqual([1, words.length - 1])
    expect(contentOf(written.events)).toBe(words.join(""))
    expect(known.outputBytes).toBe(Buffer.byteLength(words.join("")))
  })

  test("is found again when the host changes its manner in the middle", () => {
    const other = { ...plainManner, spaced: true, fingerprint: true }
    const text = streamOf(plainManner, words) + streamOf(other, words) + finish(other)
    const { parsed, spliced, written } = relayed([encode(text)], true)
    expect([parsed, spliced]).toEqual([2, 2 * (words.length - 1)])
    expect(contentOf(written.events)).toBe(words.join("").repeat(2))
  })

  test.each<readonly [string, Partial<Manner>]>([
    ["a member that is different in each chunk", { obfuscation: true }],
    ["usage that grows", { usage: "running" }],
    ["another member called delta", { decoy: true }],
  ])("is not taken where chunks differ in more than their text: %s", (_, more) => {
    const manner = { ...plainManner, ...more }
    const { spliced, written } = relayed([encode(streamOf(manner, words) + finish(manner))], true)
    expect(spliced).toBe(0)
    expect(contentOf(written.events)).toBe(words.join(""))
  })

  test("a decoy whose own text changes while the delta's stays is not taken for it", () => {
    const chunk = (decoy: string) =>
      `data: {"other":{"delta":{"content":"${decoy}"}},"choices":[{"index":0,"delta":{"content":"same"}}]}\n\n`
    const { written } = relayed([encode(chunk("same") + chunk("leak") + chunk("leak") + finish(plainManner))], true)
    expect(contentOf(written.events)).toBe("samesamesame")
  })

  test("of a content that comes twice, the last counts, as for any JSON parser", () => {
    const chunk = (first: string, last: string) =>
      `data: {"choices":[{"index":0,"delta":{"content":"${first}","content":"${last}"}}]}\n\n`
    const { written } = relayed(
      [encode(chunk("a", "a") + chunk("x", "a") + chunk("y", "a") + finish(plainManner))],
      true,
    )
    expect(contentOf(written.events)).toBe("aaa")
  })

  test("an event of the name error is an error, though it looks like a text delta", () => {
    const text = streamOf(plainManner, ["a", "b"])
    const { written, known } = relayed([encode(`${text}event: error\n${streamOf(plainManner, ["c"])}`)], true)
    expect(contentOf(written.events)).toBe("ab")
    expect(known).toMatchObject({ state: "failed", failed: "overloaded" })
  })

  test("an empty text is written by neither path", () => {
    const { written } = relayed([encode(streamOf(plainManner, ["a", "b", "", "c"]) + finish(plainManner))], true)
    expect(written.events.length).toBe(4)
  })

  test("what a caller pays for without usage does not depend on how the host escapes", () => {
    const text = ["你好", "，世界", "é\n"]
    const bytes = [plainManner, { ...plainManner, ascii: true }].map(
      (manner) => relayed([encode(streamOf(manner, text) + finish(manner))], true).known.outputBytes,
    )
    expect(bytes).toEqual([18, 18])
  })
})

describe("the end of a stream", () => {
  const delta = (content: string) =>
    `data: {"choices":[{"index":0,"delta":{"content":${JSON.stringify(content)}}}]}\n\n`
  const role = 'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n'
  const finish = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
  const done = "data: [DONE]\n\n"

  test.each<readonly [string, string, string, string | null]>([
    ["nothing", "", "failed", "unreachable"],
    ["HTML", "<html>\n<body>oh</body>\n</html>\n", "failed", "malformed"],
    ["comments only", ": a\n\n: b\n\n", "failed", "malformed"],
    ["a role and no more", role, "failed", "unreachable"],
    ["[DONE] at once", done, "failed", "malformed"],
    ["no JSON at first", `data: oops\n\n${delta("a")}`, "failed", "malformed"],
    ["no JSON later, once", `${delta("a")}data: oops\n\n${delta("b")}${finish}`, "ended", null],
    ["no JSON later, twice", `${delta("a")}${"data: oops\n\n".repeat(2)}${finish}`, "ended", null],
    ["no JSON later, three times", `${delta("a")}${"data: oops\n\n".repeat(3)}${finish}`, "failed", "malformed"],
    ["text and no finish", delta("a"), "failed", "unreachable"],
    ["text, [DONE], no finish", delta("a") + done, "ended", null],
    ["a finish and no [DONE]", delta("a") + finish, "ended", null],
    ["a finish without its blank line", delta("a") + finish.trimEnd(), "ended", null],
    ["a finish and nothing before it", finish + done, "ended", null],
    ["an error first", 'data: {"error":{"code":429}}\n\n', "failed", "rate-limited"],
    ["an error after text", `${delta("a")}data: {"error":{"code":503}}\n\n`, "failed", "overloaded"],
    ["an error after the finish", `${delta("a")}${finish}data: {"error":{"code":503}}\n\n`, "ended", null],
    ["no JSON after the finish", `${delta("a")}${finish}${"data: oops\n\n".repeat(3)}`, "ended", null],
  ])("%s", (_, text, state, failed) => {
    for (const transparent of [true, false]) {
      expect(relayed([encode(text)], transparent).known).toMatchObject({ state, failed })
      expect(relayed(cutAt(encode(text), [3, 17, 40, 41]), transparent).known).toMatchObject({ state, failed })
    }
  })

  test("nothing is read after [DONE]", () => {
    const { written, known } = relayed(
      [encode(delta("a") + finish + done + delta("b") + done), encode(delta("c"))],
      true,
    )
    expect(contentOf(written.events)).toBe("a")
    expect(known.events).toBe(3)
  })

  test("[DONE] without a finish is a stop", () => {
    const { written } = relayed([encode(delta("a") + done)], true)
    expect(finishesOf(written.events)).toMatchObject([
      { choices: [{ finish_reason: "stop", native_finish_reason: "stop" }] },
    ])
  })

  test("a line longer than 32 MiB fails, at any split, and no more than it is kept", () => {
    for (const size of [34_000_000, 65_536]) {
      const line = encode(delta("a") + delta("x".repeat(33_600_000)) + delta("b"))
      const pieces = Array.from({ length: Math.ceil(line.length / size) }, (__, at) =>
        line.subarray(at * size, (at + 1) * size),
      )
      expect(relayed(pieces, true).known).toMatchObject({ state: "failed", failed: "limit", events: 1 })
    }
  })

  test("an image of 1.2 MB in one event failed its host: an event of nearly 32 MiB passes, also on the fast path", () => {
    const long = "x".repeat(33_000_000)
    const { written, spliced } = relayed([encode(delta("a") + delta(long) + finish)], true)
    expect(contentOf(written.events) === `a${long}`).toBe(true)
    expect(spliced).toBe(1)
  })

  test("bytes that are no UTF-8 become replacement characters", () => {
    const [before, after] = delta("a|b").split("|")
    const bytes = Buffer.concat([encode(delta("x") + before), Uint8Array.of(0xff, 0xc3), encode(after + finish)])
    for (const transparent of [true, false])
      expect(contentOf(relayed([bytes], transparent).written.events)).toBe("xa\ufffd\ufffdb")
  })

  test("an event nested 100,000 deep fails the host; it once ended the stream without an end and without a bill", () => {
    const deep = `${"[".repeat(100_000)}${"]".repeat(100_000)}`
    const chunk = `data: {"choices":[{"index":0,"delta":{"content":"b"}}],"x":${deep}}\n\n`
    const { written, known } = relayed([encode(delta("a") + chunk + finish)], true)
    expect(contentOf(written.events)).toBe("a")
    expect(known).toMatchObject({ state: "failed", failed: "limit" })
  })

  test("a throw in our own writer was a failure of the host: it is a defect of ours", () => {
    const stream = new HostStream({
      framing: "sse",
      decoder: chatDecoder({}, "m"),
      transparent: false,
      excludeReasoning: false,
      choices: 1,
      writer: {
        chunk: () => {
          throw new Error("ours")
        },
      },
    })
    stream.push(encode(delta("a")))
    expect(stream).toMatchObject({ state: "failed", failure: { reason: "defect", cause: { message: "ours" } } })
  })

  test("a decoder that throws fails its host, not the gateway", () => {
    const events: Decoder = {
      event: () => {
        throw new Error("a plugin's mistake")
      },
      end: () => [],
    }
    const end: Decoder = {
      event: () => [],
      end: () => {
        throw new Error("a plugin's mistake")
      },
    }
    for (const decoder of [events, end]) {
      expect(relayed([encode(delta("a"))], true, decoder).known).toMatchObject({ state: "failed", failed: "plugin" })
      // The other one was never asked, and the host said nothing.
      const failed = decoder === end ? "plugin" : "malformed"
      expect(relayed([encode(done)], true, decoder).known).toMatchObject({ state: "failed", failed })
    }
  })
})

describe("a stream that we cut", () => {
  const delta = `data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n`
  const finish = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\n`
  const streamAt = (text: string) => {
    const writer = chunkText(ours)
    const stream = new HostStream({
      framing: "sse",
      decoder: chatDecoder({}, "m"),
      writer,
      transparent: true,
      excludeReasoning: false,
      choices: 1,
    })
    stream.push(encode(text))
    stream.cut("stream_limit")
    return stream
  }

  test("ends as if its length were reached, and says why", () => {
    const stream = streamAt(delta)
    expect(stream.state).toBe("ended")
    expect(stream.finish().choices).toMatchObject([
      { index: 0, finish_reason: "length", native_finish_reason: "stream_limit" },
    ])
    expect(stream.push(encode(delta))).toBe("")
  })

  test("keeps the finish that the host gave", () => {
    expect(streamAt(delta + finish).finish().choices).toMatchObject([{ index: 0, finish_reason: "tool_calls" }])
  })
})

describe("what a protocol says of its streams", () => {
  const usage = (prompt: number, completion: number) => ({ prompt_tokens: prompt, completion_tokens: completion })
  const finish = { choices: [{ index: 0, delta: {}, finish_reason: "stop" as const }] }

  /** A stream whose events are canonical chunks already. */
  const read = (text: string, options: Partial<ConstructorParameters<typeof HostStream>[0]> = {}) => {
    const stream = new HostStream({
      framing: "sse",
      transparent: false,
      excludeReasoning: false,
      choices: 1,
      writer: chunkText(ours),
      decoder: { event: (_, data) => [data as ChatChunk], end: () => [] },
      ...options,
    })
    const written = stream.push(encode(text)) + stream.end()
    return { stream, written }
  }
  const lines = (...documents: ReadonlyArray<unknown>) => documents.map((each) => `${JSON.stringify(each)}\n`).join("")
  const events = (...documents: ReadonlyArray<unknown>) =>
    documents.map((each) => `data: ${JSON.stringify(each)}\n\n`).join("")

  test("of several usage reports the larger one counts: a smaller one repeated later once took its place", () => {
    const text = events({ choices: [], usage: usage(9, 7) }, { ...finish, usage: usage(9, 3) })
    expect(read(text).stream.usage).toEqual(usage(9, 7))
    expect(read(text, { usage: "largest" }).stream.usage).toEqual(usage(9, 7))
  })

  test("where the host repeats a running estimate, the last one counts, even if smaller", () => {
    const text = events({ choices: [], usage: usage(9, 7) }, { ...finish, usage: usage(9, 3) }, { choices: [] })
    expect(read(text, { usage: "last" }).stream.usage).toEqual(usage(9, 3))
  })

  test("lines of JSON are read as frames without names", () => {
    const names: Array<string> = []
    const decoder: Decoder = {
      event: (name, data) => {
        names.push(name)
        return [data as ChatChunk]
      },
      end: () => [],
    }
    const chunk = { choices: [{ index: 0, delta: { content: "a" }, finish_reason: null }] }
    const { stream, written } = read(lines(chunk, finish), { framing: "ndjson", decoder })
    expect([stream.state, stream.events, names]).toEqual(["ended", 2, ["", ""]])
    expect(contentOf(readLines(written).events)).toBe("a")
  })

  test("[DONE] ends server-sent events only", () => {
    const done = {
      ...finish,
      choices: [{ ...finish.choices[0], index: 0, delta: { content: "a" }, finish_reason: null }],
    }
    expect(read(`${events(done)}data: [DONE]\n\n`).stream.state).toBe("ended")
    const { stream } = read(`${lines(done)}[DONE]\n`, { framing: "ndjson" })
    expect([stream.state, stream.failure?.reason]).toEqual(["failed", "unreachable"])
  })

  // With a search among the choices, this many take half a minute, in which nothing else runs.
  test("a host that names ever more choices costs no more for each", () => {
    const decoder = chatDecoder({ thinkTags: true }, "m")
    const choicesFrom = (first: number) =>
      Array.from({ length: 1000 }, (_, at) => ({ index: first + at, delta: { content: "<thi" }, finish_reason: null }))
    for (let first = 0; first < 100_000; first += 1000) decoder.event("", { choices: choicesFrom(first) })
    const rest = decoder.end()
    const choices = rest instanceof HostFailed ? [] : rest.flatMap((chunk) => chunk.choices)
    expect(choices.map(({ index, delta }) => `${index} ${delta.content}`)).toEqual(
      Array.from({ length: 100_000 }, (_, at) => `${at} <thi`),
    )
  })

  test("a host that names more choices than can be asked for has failed", () => {
    const said = (index: number) => events({ choices: [{ index, delta: { content: "a" }, finish_reason: null }] })
    const many = Array.from({ length: 128 }, (_, index) => said(index)).join("")
    expect(read(many).stream.failure?.reason).not.toBe("malformed")
    expect(read(many + said(128)).stream.failure).toMatchObject({ reason: "malformed", cause: "more than 128 choices" })
  })

  test("a failure that the decoder finds at the end is the host's, unless the answer was complete", () => {
    const failure = new HostFailed({ reason: "overloaded" })
    const decoder: Decoder = { event: (_, data) => [data as ChatChunk], end: () => failure }
    const begun = events({ choices: [{ index: 0, delta: { content: "a" }, finish_reason: null }] })
    for (const text of [begun, `${begun}data: [DONE]\n\n`]) {
      const { stream } = read(text, { decoder })
      expect([stream.state, stream.failure]).toEqual(["failed", failure])
    }
    expect(read(begun + events(finish), { decoder }).stream.state).toBe("ended")
  })
})
