import type { UpstreamCall } from "../Exchange.ts"
import type { RequestHeads } from "./RequestHeads.ts"

/** Longer texts are encoded at once: a socket takes only a part of them. */
const longText = 65_536

/** Bytes of a request, or its text where that fits into one write. Throws where a header cannot be sent. */
export const requestOf = (
  { body, method, headers, traceparent }: UpstreamCall,
  heads: RequestHeads,
): string | Buffer => {
  const { text: remembered, isAscii } = heads.of(method, headers)
  const text = traceparent === undefined ? remembered : `${remembered}traceparent: ${traceparent}\r\n`
  // A socket writes text as UTF-8; a head with other than ASCII characters is sent in Latin-1, as `fetch` does.
  if (body === null) {
    const head = method === "GET" ? `${text}\r\n` : `${text}content-length: 0\r\n\r\n`
    return isAscii ? head : Buffer.from(head, "latin1")
  }
  const length = typeof body === "string" ? Buffer.byteLength(body) : body.byteLength
  const head = `${text}content-length: ${length}\r\n\r\n`
  if (typeof body === "string" && length <= longText && isAscii) return head + body
  const all = Buffer.allocUnsafe(head.length + length)
  all.write(head, "latin1")
  if (typeof body === "string") all.write(body, head.length)
  else all.set(body, head.length)
  return all
}
