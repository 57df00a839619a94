import { isLowerCaseHeaderName } from "../../wire/head.ts"
import type { UpstreamCall } from "../Exchange.ts"
import type { Target } from "./Targets.ts"

/** Longer texts are encoded at once: a socket takes only a part of them. */
const longText = 65_536

/** Bytes of a request, or its text where that fits into one write. Throws where a header cannot be sent. */
export const requestOf = (call: UpstreamCall, target: Target, lines: HeaderLines): string | Buffer => {
  const { body, method } = call
  let head = method + target.head + lines.of(call.headers)
  if (body === null) return withLatin1(method === "GET" ? `${head}\r\n` : `${head}content-length: 0\r\n\r\n`)
  const length = typeof body === "string" ? Buffer.byteLength(body) : body.byteLength
  head += `content-length: ${length}\r\n\r\n`
  if (typeof body === "string" && length <= longText && isAscii.test(head)) return head + body
  const all = Buffer.allocUnsafe(head.length + length)
  all.write(head, "latin1")
  if (typeof body === "string") all.write(body, head.length)
  else all.set(body, head.length)
  return all
}

/** Header lines of one client. The headers of a host are usually one object for all of its requests, so its lines are written once. */
export class HeaderLines {
  readonly #known = new WeakMap<UpstreamCall["headers"], string>()

  of(headers: UpstreamCall["headers"]): string {
    const known = this.#known.get(headers)
    if (known !== undefined) return known
    const lines = linesOf(headers)
    this.#known.set(headers, lines)
    return lines
  }
}

const linesOf = (headers: UpstreamCall["headers"]): string => {
  let lines = ""
  let coding = "accept-encoding: identity\r\n"
  for (const name in headers) {
    if (ours.has(name)) continue
    const value = headers[name]
    if (value === undefined) continue
    // The message names the header and not its value, which may be a credential.
    if (!isLowerCaseHeaderName(name)) throw new Error("the name of a header cannot be sent")
    if (!properValue.test(value)) throw new Error(`the value of the header ${name} cannot be sent`)
    if (name === "accept-encoding") coding = ""
    lines += `${name}: ${value}\r\n`
  }
  return lines + coding
}

/** A socket writes text as UTF-8; a head with other than ASCII characters is sent in Latin-1, as `fetch` does. */
const withLatin1 = (head: string): string | Buffer => (isAscii.test(head) ? head : Buffer.from(head, "latin1"))

/** Set here, or meaningless between us and the host. */
const ours = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
])

const properValue = /^[\t\x20-\x7e\x80-\xff]*$/
// biome-ignore lint/suspicious/noControlCharactersInRegex: CR, LF and tab are part of a head
const isAscii = /^[\x00-\x7f]*$/
