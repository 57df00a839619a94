/** A caller that sends and reads raw bytes, so that tests can send what no HTTP client would. */
import { connect, type Socket } from "node:net"

export interface RawCaller {
  readonly send: (bytes: string | Uint8Array) => void
  /**
   * Everything received (one character for each byte) as soon as `enough` accepts it. Throws when the gateway closes
   * before.
   */
  readonly until: (enough: (received: string) => boolean) => Promise<string>
  /** Settles when the connection is there and what was sent before is on it. */
  readonly connected: Promise<void>
  /** Everything received until the gateway closed the connection. */
  readonly closed: Promise<string>
  readonly hangUp: () => void
}

/** Told of what each caller receives, where a test wants to see all answers. */
export const listening: { onCaller: ((received: () => string) => void) | undefined } = { onCaller: undefined }

/** Calls the gateway at `url`. */
export const rawCaller = (url: string): RawCaller => {
  const { hostname, port } = new URL(url)
  const closed = Promise.withResolvers<string>()
  const connected = Promise.withResolvers<void>()
  const waiting = new Set<() => void>()
  let received = ""
  let open = true
  listening.onCaller?.(() => received)
  const socket: Socket = connect(Number(port), hostname)
  socket.on("connect", () => connected.resolve())
  socket.on("data", (bytes) => {
    received += bytes.toString("latin1")
    for (const look of waiting) look()
  })
  // A gateway that closes while we still send resets the connection.
  socket.on("error", () => {})
  socket.on("close", () => {
    open = false
    closed.resolve(received)
    for (const look of waiting) look()
  })
  return {
    send: (bytes) => {
      socket.write(bytes)
    },
    until: (enough) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (!enough(received) && open) return
          waiting.delete(look)
          if (enough(received)) resolve(received)
          else reject(new Error(`hung up after ${JSON.stringify(received.slice(0, 500))}`))
        }
        waiting.add(look)
        look()
      }),
    connected: connected.promise,
    closed: closed.promise,
    hangUp: () => socket.destroy(),
  }
}

/** The bytes of a request, with a `Content-Length` unless the headers frame the body in another way. */
export const requestOf = (line: string, headers: Readonly<Record<string, string>>, body = ""): string => {
  const framed = Object.keys(headers).some((name) => /^(content-length|transfer-encoding)$/i.test(name))
  const all = { Host: "gateway.test", ...headers, ...(framed ? {} : { "Content-Length": Buffer.byteLength(body) }) }
  const written = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return `${line} HTTP/1.1\r\n${written.join("")}\r\n${body}`
}

/** The whole answers in what was received, without interim ones (1xx). Throws at bytes that are no answer. */
export const answersIn = (received: string): ReadonlyArray<Response> => {
  const answers: Array<Response> = []
  let rest = received
  while (rest !== "") {
    const end = rest.indexOf("\r\n\r\n")
    if (end === -1) break
    const [line = "", ...fields] = rest.slice(0, end).split("\r\n")
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(line)?.[1])
    if (Number.isNaN(status)) throw new Error(`no answer: ${JSON.stringify(line)}`)
    rest = rest.slice(end + 4)
    if (status < 200) continue
    const headers = new Headers(
      fields.map((field): [string, string] => {
        const colon = field.indexOf(":")
        return [field.slice(0, colon), field.slice(colon + 1).trim()]
      }),
    )
    const body = bodyIn(rest, headers)
    if (body === undefined) break
    rest = rest.slice(body.taken)
    answers.push(new Response(status === 204 ? null : Buffer.from(body.text, "latin1"), { status, headers }))
  }
  return answers
}

/** A body by its framing; `undefined` while some of it is missing. */
const bodyIn = (text: string, headers: Headers): { readonly text: string; readonly taken: number } | undefined => {
  if (headers.get("transfer-encoding") !== "chunked") {
    const length = Number(headers.get("content-length") ?? 0)
    return text.length < length ? undefined : { text: text.slice(0, length), taken: length }
  }
  let body = ""
  let at = 0
  for (;;) {
    const line = text.indexOf("\r\n", at)
    if (line === -1) return undefined
    const size = Number.parseInt(text.slice(at, line), 16)
    const end = line + 2 + size
    if (text.length < end + 2) return undefined
    if (text.slice(end, end + 2) !== "\r\n") throw new Error(`a chunk without an end: ${JSON.stringify(text)}`)
    body += text.slice(line + 2, end)
    at = end + 2
    if (size === 0) return { text: body, taken: at }
  }
}

const isWhole = (received: string): boolean => answersIn(received).length > 0

/** One request on a connection of its own, and its answer. */
export const answerTo = async (url: string, bytes: string | Uint8Array): Promise<Response> => {
  const caller = rawCaller(url)
  caller.send(bytes)
  const [answer] = answersIn(await caller.until(isWhole))
  caller.hangUp()
  if (answer === undefined) throw new Error("no answer")
  return answer
}

/** The answers that the gateway sends before it closes the connection. */
export const lastWords = async (url: string, bytes: string | Uint8Array): Promise<ReadonlyArray<Response>> => {
  const caller = rawCaller(url)
  caller.send(bytes)
  return answersIn(await caller.closed)
}
