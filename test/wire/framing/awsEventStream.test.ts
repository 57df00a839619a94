import { describe, expect, test } from "bun:test"
import { crc32 } from "node:zlib"
import { EventStreamCodec, Int64 } from "@smithy/eventstream-codec"
import * as FastCheck from "effect/FastCheck"
import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import { HostStream } from "../../../src/formats/stream/HostStream.ts"
import { eventStreamEvent, eventStreamMessage } from "../../../src/testing.ts"
import { awsEventStreamReader } from "../../../src/wire/framing/awsEventStream.ts"
import type { Frame } from "../../../src/wire/framing/FrameReader.ts"
import { cutAt } from "../../support/hosts/hostScript.ts"
import { bytesOf, recordings, recordingsPresent, splits } from "../../support/recordings/recordings.ts"

const encode = (text: string) => new TextEncoder().encode(text)
const joined = (pieces: ReadonlyArray<Uint8Array>): Uint8Array => Uint8Array.from(Buffer.concat(pieces))

/** AWS's own codec: written by others, so that ours is tested against it. */
const codec = new EventStreamCodec((bytes) => Buffer.from(bytes).toString("utf8"), encode)

const text = (value: string) => ({ type: "string" as const, value })

/** Writes an event as a host does, with headers of all kinds. */
const written = (name: string, data: string): Uint8Array =>
  codec.encode({
    headers: {
      ":event-type": text(name),
      yes: { type: "boolean", value: true },
      no: { type: "boolean", value: false },
      byte: { type: "byte", value: -3 },
      short: { type: "short", value: 500 },
      integer: { type: "integer", value: 70_000 },
      long: { type: "long", value: Int64.fromNumber(-9_000_000_000) },
      binary: { type: "binary", value: Uint8Array.of(7, 0, 255) },
      time: { type: "timestamp", value: new Date(1_760_000_000_000) },
      uuid: { type: "uuid", value: "12345678-1234-1234-1234-123456789abc" },
      ":message-type": text("event"),
    },
    body: encode(data),
  })

interface Read {
  readonly frames: ReadonlyArray<Frame>
  readonly overlong: boolean
  readonly fault: string | undefined
}

const readAll = (pieces: Iterable<Uint8Array>, longest?: number): Read => {
  const reader = awsEventStreamReader(longest)
  const frames = [...Array.from(pieces).flatMap((piece) => reader.push(piece)), ...reader.end()]
  return { frames, overlong: reader.overlong(), fault: reader.fault?.() }
}

const fine = (frames: ReadonlyArray<Frame>): Read => ({ frames, overlong: false, fault: undefined })

const Events = FastCheck.array(
  FastCheck.tuple(FastCheck.stringMatching(/^[a-zA-Z]{1,30}$/), FastCheck.string({ unit: "binary", maxLength: 300 })),
  { maxLength: 8 },
)
const Cuts = FastCheck.array(FastCheck.nat(), { maxLength: 12 })

/** Bytes of a message; a wrong CRC is made right again where the prelude says so. */
const event = eventStreamEvent("messageStop", '{"stopReason":"end_turn"}')
const changed = (at: number, value: number): Uint8Array => {
  const bytes = Uint8Array.from(event)
  bytes[at] = value
  return bytes
}

describe("awsEventStreamReader", () => {
  test("gives the events that another implementation wrote, at any split of the bytes", () => {
    FastCheck.assert(
      FastCheck.property(Events, Cuts, (events, cuts) => {
        const bytes = joined(events.map(([name, data]) => written(name, data)))
        const frames = events.map(([name, data]) => ({ name, data: Buffer.from(data).toString("utf8") }))
        expect(readAll(cutAt(bytes, cuts))).toEqual(fine(frames))
        for (const { pieces } of splits(bytes, cuts.length)) expect(readAll(pieces)).toEqual(fine(frames))
      }),
      { numRuns: 300 },
    )
  })

  test("the kit writes what another implementation reads", () => {
    const message = codec.decode(eventStreamEvent("metadata", '{"ä":1}'))
    expect(message.headers[":event-type"]).toEqual({ type: "string", value: "metadata" })
    expect(Buffer.from(message.body).toString()).toBe('{"ä":1}')
  })

  test.skipIf(!recordingsPresent())("recorded streams are read to their last byte", () => {
    const streams = recordings("bedrock-converse").filter(({ stream }) => stream)
    expect(streams.length).toBeGreaterThanOrEqual(11)
    for (const stream of streams) {
      const bytes = bytesOf(stream)
      const whole = readAll([bytes])
      expect([stream.id, whole.fault, whole.frames.length > 2]).toEqual([stream.id, undefined, true])
      for (const { pieces } of splits(bytes, 3)) expect(readAll(pieces)).toEqual(whole)
    }
  })

  test("an event is given as soon as its last byte is there", () => {
    const reader = awsEventStreamReader()
    expect(reader.push(event.subarray(0, -1))).toEqual([])
    expect(reader.push(event.subarray(-1)).map(({ name }) => name)).toEqual(["messageStop"])
  })

  test("failures of the host have names of their own", () => {
    const headers = { ":message-type": "exception", ":exception-type": "throttlingException" }
    const error = { ":message-type": "error", ":error-code": "InternalError", ":error-message": 'It "broke"' }
    const bytes = joined([
      eventStreamMessage(headers, '{"message":"slow down"}'),
      eventStreamMessage(headers, ""),
      eventStreamMessage(error, ""),
    ])
    expect(readAll([bytes])).toEqual(
      fine([
        { name: "exception:throttlingException", data: '{"message":"slow down"}' },
        { name: "exception:throttlingException", data: "{}" },
        { name: "error:InternalError", data: '{"message":"It \\"broke\\""}' },
      ]),
    )
  })

  test("any changed byte is noticed, and nothing after it is read", () => {
    for (let at = 0; at < event.length; at++) {
      const bytes = joined([event, changed(at, (event[at] ?? 0) ^ 0x10), event])
      const whole = readAll([bytes])
      expect([at, whole.frames.length]).toEqual([at, 1])
      expect([at, whole.fault === undefined && !whole.overlong]).toEqual([at, false])
      for (const { pieces } of splits(bytes, at)) expect(readAll(pieces)).toEqual(whole)
    }
  })

  test("a stream that ends within a message is cut", () => {
    for (let length = 1; length < event.length; length++) {
      const cut = readAll([joined([event, event.subarray(0, length)])])
      expect([cut.frames.length, cut.fault]).toEqual([1, "the stream ended within a message"])
    }
  })

  test.each([
    ["no kind of message", { ":event-type": "a" }],
    ["an unknown kind of message", { ":message-type": "gossip" }],
  ])("%s is no frame", (_, headers) => {
    expect(readAll([eventStreamMessage(headers, "{}")]).fault).toBe("the headers of a message are wrong")
  })

  test("headers that go beyond their own length, or have unknown kinds, are no frame", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.uint8Array({ maxLength: 40 }), (headers) => {
        const prelude = Buffer.alloc(12)
        prelude.writeUInt32BE(headers.length + 16, 0)
        prelude.writeUInt32BE(headers.length, 4)
        prelude.writeUInt32BE(crc32(prelude.subarray(0, 8)), 8)
        const message = Buffer.concat([prelude, headers])
        const crc = Buffer.alloc(4)
        crc.writeUInt32BE(crc32(message))
        const read = readAll([Buffer.concat([message, crc])])
        expect([read.frames.length, read.fault]).toEqual([0, "the headers of a message are wrong"])
      }),
      { numRuns: 500 },
    )
  })

  test("a message is as long as a frame may be, at most, and no more of it is kept", () => {
    const bound = 1_048_576
    const size = eventStreamEvent("a", "").length
    const longest = eventStreamEvent("a", "x".repeat(bound - size))
    for (const { pieces } of [{ pieces: [longest] }, { pieces: cutAt(longest, [5, 13, 70_000]) }]) {
      expect(readAll(pieces, bound)).toMatchObject({ overlong: false, fault: undefined, frames: [{ name: "a" }] })
    }
    const longer = eventStreamEvent("a", "x".repeat(bound - size + 1))
    const reader = awsEventStreamReader(bound)
    expect(reader.push(longer.subarray(0, bound))).toEqual([])
    expect(reader.overlong()).toBe(false)
    expect(reader.push(longer.subarray(bound))).toEqual([])
    expect(reader.overlong()).toBe(true)
    // What has come tells what it is.
    expect(reader.partial()).toMatchObject({ name: "a", data: expect.stringMatching(/^x+/) })
    expect(reader.push(event)).toEqual([])
  })

  test("a message that comes byte by byte costs no more than its length", () => {
    // With a copy for each byte this would be half a terabyte.
    const bytes = eventStreamEvent("a", "x".repeat(1_000_000))
    expect(readAll(Array.from({ length: bytes.length }, (_, at) => bytes.subarray(at, at + 1))).frames).toHaveLength(1)
  })
})

describe("a host's stream of this framing", () => {
  const failureOf = (bytes: Uint8Array): HostFailed | undefined => {
    const stream = new HostStream({
      framing: "aws-eventstream",
      transparent: false,
      decoder: { event: () => [], end: () => [] },
      writer: { chunk: () => "" },
      excludeReasoning: false,
      choices: 1,
    })
    stream.push(bytes)
    stream.end()
    return stream.failure
  }

  test.each([
    ["a wrong checksum", changed(30, 0)],
    ["a cut message", event.subarray(0, 40)],
    ["text", encode("<html>Bad gateway</html>")],
  ])("%s is malformed", (_, bytes) => {
    const failure = failureOf(bytes)
    expect(failure).toBeInstanceOf(HostFailed)
    expect(failure?.reason).toBe("malformed")
  })
})
