/** Answers cut and paused anywhere, answers that are wrong, and a second opinion on both. */
import { describe, expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import { ResponseParser } from "../../src/upstream/http1/ResponseParser.ts"
import { opinionOf } from "./llhttp.ts"
import { malformed, many, ok } from "./malformed.ts"

interface Reading {
  readonly status: number
  readonly headers: ReadonlyArray<string | null>
  readonly body: string
  readonly ends: number
  readonly surplus: boolean
  readonly problem: string
}

/** Reads an answer in pieces that end at `cuts`, paused by `pauses` after a call, and closes the connection then. */
const read = (bytes: Buffer, cuts: ReadonlyArray<number> = [], pauses: ReadonlyArray<boolean> = []): Reading => {
  let status = 0
  let headers: ReadonlyArray<string | null> = []
  let body = ""
  let ends = 0
  let surplus = false
  let calls = 0
  const pause = () => {
    if (parser.paused) throw new Error("called although paused")
    parser.paused = pauses.length > 0 && pauses[calls++ % pauses.length] === true
  }
  const parser = new ResponseParser({
    onHead: (head) => {
      status = head.status
      headers = ["x-a", "content-type"].map(head.headers.get, head.headers)
      pause()
    },
    onData: (bytes, start, end) => {
      body += bytes.toString("latin1", start, end)
      pause()
    },
    onEnd: (more) => {
      ends++
      surplus = more
    },
  })
  let at = 0
  for (const cut of [...new Set(cuts)].filter((cut) => cut < bytes.length).sort((a, b) => a - b)) {
    parser.read(Buffer.from(bytes.subarray(at, cut)))
    at = cut
    if (parser.paused && calls % 3 === 0) parser.resume()
  }
  parser.read(Buffer.from(bytes.subarray(at)))
  while (parser.paused) parser.resume()
  if (ends === 0 && parser.problem === "") parser.close()
  return { status, headers, body, ends, surplus, problem: parser.problem }
}

/** Text in Latin-1 without what ends a line. */
const value = FastCheck.string({ maxLength: 20 }).map((text) =>
  text.replace(/[^\t\x20-\x7e\u00a0-\u00ff]/g, "é").trim(),
)
const name = FastCheck.stringMatching(/^[a-z][a-z0-9!#$%&'*+.^_`|~-]{0,12}$/).map((text) => `y-${text}`)
const field = FastCheck.tuple(name, FastCheck.constantFrom("", " ", "\t "), value).map(
  ([key, blank, content]) => `${key}:${blank}${content}\r\n`,
)
const bodyText = FastCheck.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes).toString("latin1"))
const extension = FastCheck.constantFrom("", ";a", ";a=b", ';a="b;c"')

const framed = FastCheck.oneof(
  bodyText.map((body) => ({ fields: `Content-Length: ${body.length}\r\n`, wire: body, body })),
  FastCheck.tuple(
    FastCheck.array(FastCheck.tuple(bodyText, extension, FastCheck.boolean()), { maxLength: 6 }),
    FastCheck.array(field, { maxLength: 3 }),
  ).map(([chunks, trailers]) => ({
    fields: "transfer-encoding: Chunked\r\n",
    wire: `${chunks
      .filter(([data]) => data !== "")
      .map(([data, ext, upper]) => {
        const size = data.length.toString(16)
        return `${upper ? `0${size.toUpperCase()}` : size}${ext}\r\n${data}\r\n`
      })
      .join("")}0\r\n${trailers.join("")}\r\n`,
    body: chunks.map(([data]) => data).join(""),
  })),
  bodyText.map((body) => ({ fields: "", wire: body, body })),
)

const answer = FastCheck.record({
  interim: FastCheck.array(FastCheck.constantFrom("100 Continue", "103 Early Hints\r\nlink: </a>", "102 "), {
    maxLength: 3,
  }),
  status: FastCheck.constantFrom(200, 201, 299, 400, 429, 500, 529),
  reason: FastCheck.constantFrom(" OK", " ", "", " Zu viel \u00fc"),
  before: FastCheck.array(field, { maxLength: 4 }),
  framed,
  after: FastCheck.array(field, { maxLength: 4 }),
}).map(({ interim, status, reason, before, framed, after }) => ({
  status,
  body: framed.body,
  bytes: Buffer.from(
    `${interim.map((head) => `HTTP/1.1 ${head}\r\n\r\n`).join("")}HTTP/1.1 ${status}${reason}\r\nX-A: b\r\n${before.join("")}${framed.fields}${after.join("")}\r\n${framed.wire}`,
    "latin1",
  ),
}))

const cuts = FastCheck.array(FastCheck.nat(1_500), { maxLength: 40 })

describe("a proper answer", () => {
  test("reads the same however it is cut and paused", () => {
    FastCheck.assert(
      FastCheck.property(answer, cuts, FastCheck.array(FastCheck.boolean()), ({ bytes, status, body }, at, pauses) => {
        const whole = read(bytes)
        expect(whole).toMatchObject({ status, body, ends: 1, surplus: false, problem: "" })
        expect(whole.headers[0]).toBe("b")
        expect(read(bytes, at, pauses)).toEqual(whole)
        expect(read(bytes, [...bytes.keys()], pauses)).toEqual(whole)
      }),
      { numRuns: 500 },
    )
  })

  test("reads as Node's parser reads it", () => {
    FastCheck.assert(
      FastCheck.property(answer, ({ bytes, status, body }) => {
        expect(opinionOf(bytes)).toMatchObject({ accepted: true, status, body })
      }),
      { numRuns: 500 },
    )
  })

  test.each([
    [204, "HTTP/1.1 204 No\r\n\r\n"],
    [304, "HTTP/1.1 304 No\r\ncontent-length: 500\r\n\r\n"],
    [200, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"],
    [200, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n"],
  ])("of status %d has no body: %j", (status, text) => {
    expect(read(Buffer.from(text))).toMatchObject({ status, body: "", ends: 1, problem: "" })
  })
})

describe("a malformed answer", () => {
  test.each(malformed.map((row) => [...row]))("is refused, whole and byte by byte: %s", (_, text, problem) => {
    const bytes = Buffer.from(text, "latin1")
    const whole = read(bytes)
    expect(whole.problem).toContain(problem)
    expect(whole.ends).toBe(0)
    const bytewise = read(bytes, [...bytes.keys()])
    expect(bytewise.ends).toBe(0)
    // From its first byte alone one cannot say what came in place of HTTP/1.
    expect([whole.problem, "the answer is no HTTP/1"]).toContain(bytewise.problem)
  })

  test("may have 200 headers, 16 KiB of them, and 20 interim answers before it", () => {
    const last = "content-length: 0\r\n\r\n"
    const longest = 16_384 - ok.length - last.length - "x: \r\n".length
    for (const text of [
      `${ok}${many(199)}${last}`,
      `${ok}x: ${"y".repeat(longest)}\r\n${last}`,
      `${"HTTP/1.1 102 Wait\r\n\r\n".repeat(20)}${ok}${last}`,
    ])
      expect(read(Buffer.from(text))).toMatchObject({ ends: 1, problem: "" })
  })
})

describe("an answer with some bytes changed", () => {
  const tokens = [
    "\r",
    "\n",
    "\r\n",
    "\r\n\r\n",
    "\0",
    " ",
    "\t",
    ":",
    ";",
    ",",
    "0",
    "1",
    "a",
    "-",
    "+",
    "\x7f",
    "\xff",
    "content-length: 3\r\n",
    "Transfer-Encoding: chunked\r\n",
    "transfer-encoding : chunked\r\n",
    "0\r\n\r\n",
  ]
  const change = FastCheck.record({
    at: FastCheck.nat(),
    removed: FastCheck.nat(3),
    added: FastCheck.constantFrom("", ...tokens),
  })

  test("is never accepted where Node's parser refuses it, or read another way", () => {
    let accepted = 0
    FastCheck.assert(
      FastCheck.property(answer, FastCheck.array(change, { minLength: 1, maxLength: 3 }), ({ bytes }, changes) => {
        let text = bytes.toString("latin1")
        for (const { at, removed, added } of changes) {
          // Most of a change's places are in the head and the framing that follows it.
          const place = at % Math.min(text.length, 250)
          text = text.slice(0, place) + added + text.slice(place + removed)
        }
        const changed = Buffer.from(text, "latin1")
        const ours = read(changed)
        // Extensions of chunks are ignored, and so read more leniently than Node's parser does.
        if (ours.ends !== 1 || /\n[0-9a-f]+;/i.test(text)) return
        accepted++
        expect({ text, ...opinionOf(changed) }).toMatchObject({ accepted: true, status: ours.status, body: ours.body })
      }),
      { numRuns: 10_000 },
    )
    expect(accepted).toBeGreaterThan(500)
  })
})
