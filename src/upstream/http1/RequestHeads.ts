/** The heads of requests to one URL. They are usually the same but for the length of the body, so the last few are kept. */
import { isLowerCaseHeaderName } from "../../wire/head.ts"
import type { UpstreamCall } from "../Exchange.ts"

type Method = UpstreamCall["method"]
type Headers = UpstreamCall["headers"]

/** Keys of one provider that are used in turns have a head each. Signed requests have a new one each time. */
const mostKept = 8

export class RequestHeads {
  /** Request target, protocol and the headers that are ours: what follows the method. */
  readonly #start: string
  /** The one made last at the end. */
  readonly #kept: Array<RequestHead> = []

  constructor(start: string) {
    this.#start = start
  }

  /** Throws where a header cannot be sent. */
  of(method: Method, headers: Headers): RequestHead {
    for (const head of this.#kept) if (head.isOf(method, headers)) return head
    const made = new RequestHead(method, headers, this.#start)
    if (this.#kept.length === mostKept) this.#kept.shift()
    this.#kept.push(made)
    return made
  }
}

export class RequestHead {
  /** The request line and all lines but that of the length, each with its CRLF. */
  readonly text: string
  /** Whether it is the same in UTF-8 as in Latin-1. */
  readonly isAscii: boolean
  readonly #method: Method
  readonly #names: ReadonlyArray<string>
  readonly #values: ReadonlyArray<string | undefined>

  constructor(method: Method, headers: Headers, start: string) {
    this.text = method + start + linesOf(headers)
    this.isAscii = isAscii.test(this.text)
    this.#method = method
    this.#names = Object.keys(headers)
    this.#values = Object.values(headers)
  }

  /** Whether it is the head of requests with this method and these headers, in this order. */
  isOf(method: Method, headers: Headers): boolean {
    if (method !== this.#method) return false
    let at = 0
    for (const name in headers) {
      if (name !== this.#names[at] || headers[name] !== this.#values[at]) return false
      at++
    }
    return at === this.#names.length
  }
}

const linesOf = (headers: Headers): string => {
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
