import { expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import { eventStreamEvent } from "../../../src/testing.ts"
import { type Framing, frameReader } from "../../../src/wire/Framing.ts"
import type { Frame } from "../../../src/wire/framing/FrameReader.ts"

const data = ['{"a":"é\u{1f600}"}', '{"b":[1,2]}', `{"c":"${"x".repeat(300)}"}`]
const streams: Readonly<Record<Framing, Buffer>> = {
  sse: Buffer.from(data.map((json) => `event: e\r\ndata: ${json}\n\n`).join("")),
  ndjson: Buffer.from(data.join("\n")),
  "json-array": Buffer.from(`[${data.join(",\n")}]`),
  "aws-eventstream": Buffer.concat(data.map((json) => eventStreamEvent("e", json))),
}
const names: Readonly<Record<Framing, string>> = { sse: "e", ndjson: "", "json-array": "", "aws-eventstream": "e" }

/** What stands around a piece in its read: bytes that would change the frames. */
const before = Buffer.from('data: {"no":1}\n\n[,')
const after = Buffer.from('\n\n{"no":2}\n]')

for (const framing of ["sse", "ndjson", "json-array", "aws-eventstream"] as const) {
  test(`${framing} reads a piece from start to end, and nothing around it`, () => {
    const stream = streams[framing]
    const cuts = FastCheck.array(FastCheck.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 5 })
    FastCheck.assert(
      FastCheck.property(cuts, (sizes) => {
        const reader = frameReader(framing)
        const frames: Array<Frame> = []
        let at = 0
        for (let piece = 0; at < stream.length; piece++) {
          const end = Math.min(stream.length, at + (sizes[piece % sizes.length] ?? 1))
          const read = Buffer.concat([before, stream.subarray(at, end), after])
          frames.push(...reader.push(read, before.length, read.length - after.length))
          at = end
        }
        frames.push(...reader.end())
        expect(frames).toEqual(data.map((json) => ({ name: names[framing], data: json })))
      }),
      { numRuns: 100 },
    )
  })
}
