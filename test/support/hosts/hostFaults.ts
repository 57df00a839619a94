/** The faults of docs/guarantees.md#g10 as a host would send them, whole and streamed. */
import { chunkOf } from "./host.ts"
import { delta, tail, whole } from "./rawAnswers.ts"
import { deadUrl, event, lastPart, type Peer, part, streamHead } from "./rawHost.ts"

/** What a host sends in answer to a request; `stream`: the caller wants a stream. */
type Script = (peer: Peer, stream: boolean) => void

export interface Fault {
  readonly name: string
  /** `undefined`: the host cannot be reached at `url`. */
  readonly script: Script | undefined
  readonly url?: () => string
  /** The status for the caller when there is no other host. */
  readonly alone: number
  /** The kind of answer that it concerns. Default: both. */
  readonly only?: "whole" | "stream"
  /** The hosts of the model that follow are not called, and the status is `alone` for all. */
  readonly isFinal?: boolean
  /** The code in `previous_errors`: the host's own, else the reason of its failure. */
  readonly code: string
  readonly limits?: Record<string, unknown>
  /** Milliseconds of the clock that pass once the host was called. */
  readonly silentMs?: number
}

type More = Partial<Pick<Fault, "only" | "isFinal" | "limits" | "silentMs">>

const fault = (name: string, alone: number, code: string, script: Script, more: More = {}): Fault => ({
  name,
  script,
  alone,
  code,
  ...more,
})

const address = (name: string, url: () => string): Fault => ({
  name,
  script: undefined,
  url,
  alone: 502,
  code: "unreachable",
})

const json = (body: string, status = "200 OK", headers = ""): string =>
  `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n${headers}\r\n${body}`

const body = (text: string, type = "application/json"): Script => {
  const sized = `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\ncontent-length: ${Buffer.byteLength(text)}\r\n\r\n${text}`
  return (peer) => peer.write(sized)
}

const status = (code: number, headers = ""): Script => {
  const text = json('{"error":{"message":"the host says no"}}', `${code} Oh`, headers)
  return (peer) => peer.write(text)
}

const streamed = (...parts: ReadonlyArray<string | Uint8Array>): Script => {
  const bytes = Buffer.concat([Buffer.from(streamHead), ...parts.map((one) => Buffer.from(one))])
  return (peer) => peer.write(bytes)
}

const role = event(chunkOf({ delta: { role: "assistant", content: "" }, finish_reason: null }))
const stream = { only: "stream" } as const
const unary = { only: "whole" } as const
const nested = `{"choices":${"[".repeat(100)}${"]".repeat(100)}}`
const choicesOf = (count: number): string =>
  JSON.stringify({
    choices: Array.from({ length: count }, (_, index) => ({ index, delta: { content: "a" }, finish_reason: null })),
  })
const lines = (count: number, length: number) => `x: ${"y".repeat(length)}\r\n`.repeat(count)
const headed =
  (headers: string): Script =>
  (peer, isStream) =>
    isStream
      ? streamed(delta("fine"), tail)({ ...peer, write: (bytes) => peer.write(withHeaders(bytes, headers)) }, true)
      : peer.write(withHeaders(whole, headers))
const withHeaders = (answer: string | Uint8Array, headers: string): Buffer => {
  const text = Buffer.from(answer)
  const at = text.indexOf("\r\n") + 2
  return Buffer.concat([text.subarray(0, at), Buffer.from(headers), text.subarray(at)])
}

/** Faults before anything was sent to the caller. */
export const faultsBefore: ReadonlyArray<Fault> = [
  address("a name that is not known", () => "http://no-such-host.invalid/v1"),
  address("a refused connection", deadUrl),
  fault("a reset before the status", 502, "unreachable", (peer) => peer.reset()),
  fault("an end before the status", 502, "unreachable", (peer) => peer.end()),
  fault("another protocol's noise", 502, "malformed", (peer) => {
    peer.write(Uint8Array.of(0, 0, 18, 4, 0, 0, 0, 0, 0))
    peer.end()
  }),
  fault("a status line that is none", 502, "malformed", (peer) => peer.write("SSH-2.0-OpenSSH_9.6\r\n\r\n")),
  fault("an end within the body", 502, "unreachable", (peer, isStream) => {
    peer.write(isStream ? streamHead : whole.slice(0, -20))
    peer.end()
  }),
  fault("a reset within the body", 502, "unreachable", (peer, isStream) => {
    peer.write(isStream ? Buffer.concat([Buffer.from(streamHead), role]) : whole.slice(0, -20))
    peer.reset()
  }),
  fault("bad chunked framing", 502, "malformed", streamed("zz\r\nhello\r\n")),
  fault(
    "Content-Length and chunked framing",
    502,
    "malformed",
    headed("transfer-encoding: chunked\r\ncontent-length: 9\r\n"),
  ),
  fault("a header of 17 KiB", 502, "limit", headed(lines(1, 17_000))),
  fault("201 headers", 502, "limit", headed(lines(201, 1))),
  fault("21 interim answers", 502, "malformed", (peer, isStream) => {
    peer.write("HTTP/1.1 103 Early Hints\r\n\r\n".repeat(21))
    if (!isStream) peer.write(whole)
  }),
  fault("204", 502, "malformed", (peer) => peer.write("HTTP/1.1 204 No Content\r\n\r\n")),
  fault("a redirect", 502, "malformed", (peer) =>
    peer.write(json("", "302 Found", "location: http://127.0.0.1:1/v1\r\n")),
  ),
  fault("HTML", 502, "malformed", body("<html><body>Bad gateway</body></html>", "text/html")),
  fault("an empty body", 502, "malformed", body(""), unary),
  fault("an empty body in place of a stream", 502, "unreachable", body(""), stream),
  fault("null", 502, "malformed", body("null")),
  fault("a list", 502, "malformed", body("[]")),
  fault("no JSON", 502, "malformed", body('{"choices":[')),
  fault("no choices", 502, "malformed", body('{"choices":[]}')),
  fault("choices that are none", 502, "malformed", body('{"choices":[null]}')),
  fault("JSON nested above 64 levels", 502, "malformed", body(nested)),
  fault("an answer above its bound", 502, "malformed", body(`{"x":"${"y".repeat(30_000)}"}`), {
    limits: { body_bytes: 20_000 },
  }),
  fault("a compressed answer that is none", 502, "malformed", headed("content-encoding: gzip\r\n")),
  fault("a compression that nobody asked for", 502, "malformed", headed("content-encoding: zstd\r\n")),
  fault("an error in a 200", 502, "overloaded", body('{"error":{"message":"no"}}')),
  fault("an error in a 200: rate limit", 429, "429", body('{"error":{"message":"no","code":429}}')),
  fault(
    "an error in a 200: account",
    502,
    "insufficient_quota",
    body('{"error":{"message":"no","code":"insufficient_quota"}}'),
  ),
  fault("an error in a 200: time-out", 408, "timeout", body('{"error":{"message":"no","code":"timeout"}}')),
  fault("400", 400, "request", status(400), { isFinal: true }),
  fault("413", 400, "request", status(413), { isFinal: true }),
  fault("422", 400, "request", status(422), { isFinal: true }),
  fault("401", 502, "account", status(401)),
  fault("402", 502, "account", status(402)),
  fault("403", 403, "forbidden", status(403)),
  fault("404", 404, "not-found", status(404)),
  fault("408", 408, "timeout", status(408)),
  fault("429", 429, "rate-limited", status(429)),
  fault("429 with a time", 429, "rate-limited", status(429, "retry-after: 7\r\n")),
  fault("500", 502, "overloaded", status(500)),
  fault("503 with a time", 502, "overloaded", status(503, "retry-after: 7\r\n")),
  fault("529", 502, "overloaded", status(529)),
  fault("599", 502, "overloaded", status(599)),
  fault("500 with a page above 64 KiB", 502, "overloaded", (peer) => peer.write(json("x".repeat(100_000), "500 Oh"))),
  fault("429 with a page above 64 KiB", 429, "rate-limited", (peer) =>
    peer.write(json("x".repeat(100_000), "429 Slow")),
  ),
  fault("no head before the deadline", 408, "timeout", () => {}, {
    ...unary,
    isFinal: true,
    limits: { deadline_ms: 1000 },
    silentMs: 1200,
  }),
  fault("no end before the deadline", 408, "timeout", (peer) => peer.write(whole.slice(0, -20)), {
    ...unary,
    isFinal: true,
    limits: { deadline_ms: 1000 },
    silentMs: 1200,
  }),
  fault("no head in time", 408, "timeout", () => {}, { ...stream, limits: { ttfb_ms: 500 }, silentMs: 600 }),
  fault("comments and a role, but no event in time", 408, "timeout", streamed(part(": still here\n\n"), role), {
    ...stream,
    limits: { ttfb_ms: 500 },
    silentMs: 600,
  }),
  fault("comments and an end", 502, "malformed", streamed(part(": hello\n\n"), lastPart), stream),
  fault("a role and an end", 502, "unreachable", streamed(role, lastPart), stream),
  fault("[DONE] at once", 502, "malformed", streamed(event("[DONE]"), lastPart), stream),
  fault("a first event that is no JSON", 502, "malformed", streamed(event("oops"), delta("a"), tail), stream),
  fault("an event that is null", 502, "malformed", streamed(event("null"), delta("a"), tail), stream),
  fault(
    "text and an error in one read",
    502,
    "503",
    streamed(part(`data: ${chunkOf({ delta: { content: "a" } })}\n\ndata: {"error":{"code":503}}\n\n`), lastPart),
    stream,
  ),
  fault("an event without choices", 502, "unreachable", streamed(event('{"hello":1}'), lastPart), stream),
  fault("129 choices", 502, "malformed", streamed(event(choicesOf(129)), delta("a"), tail), stream),
  fault("an error event", 502, "503", streamed(event('{"error":{"code":503}}'), lastPart), stream),
  fault("an error event: rate limit", 429, "429", streamed(event('{"error":{"code":429}}'), lastPart), stream),
  fault("an error event: request", 400, "400", streamed(event('{"error":{"code":400}}'), lastPart), {
    ...stream,
    isFinal: true,
  }),
  fault("a line above its bound", 502, "malformed", streamed(part(`data: ${"x".repeat(1_200_000)}`)), {
    ...stream,
    limits: { body_bytes: 1_048_576 },
  }),
]
