/** Numbers 77 to 83: bytes that are not valid HTTP. */
import { expect } from "bun:test"
import { streamOf, wholeBodyOf } from "../../support/clients/answers.ts"
import { fine, type Json } from "../../support/clients/badInputs.ts"
import { answersIn, answerTo, lastWords, rawCaller, requestOf } from "../../support/clients/rawCaller.ts"
import { until } from "../../support/clocks/until.ts"
import { chunkOf } from "../../support/hosts/host.ts"
import {
  badInput,
  chatPath,
  gateway,
  held,
  host,
  json,
  limitBytes,
  onlyOne,
  ordinary,
  refused,
  rowsOf,
} from "./harness.ts"

export const transportTests = (): void => {
  const post = (headers: Record<string, string>, body = json) =>
    requestOf(`POST ${chatPath}`, { ...ordinary(), ...headers }, body)
  const chunked = `${json.length.toString(16)}\r\n${json}\r\n0\r\n\r\n`
  const behind = () => requestOf("GET /api/v1/models", ordinary())

  /** Refused by the runtime before our code runs: one answer without a body, and the end of the connection. */
  const cutOff = (number: number, name: string, made: () => string | Uint8Array, statuses: ReadonlyArray<number>) =>
    badInput(number, name, async () => {
      const calls = host.calls.length
      const answer = onlyOne(await lastWords(gateway.url, made()))
      expect(statuses).toContain(answer.status)
      expect(await answer.text()).toBe("")
      expect(answer.headers.get("connection")).toBe("close")
      expect(host.calls.length).toBe(calls)
    })
  const framing = (name: string, made: () => string) => cutOff(77, name, () => made() + behind(), [400, 505])

  framing("Transfer-Encoding and Content-Length", () =>
    post({ "Content-Length": String(json.length), "Transfer-Encoding": "chunked" }, chunked),
  )
  framing("two Content-Lengths", () => post({ "Content-Length": String(json.length), "content-length": "3" }))
  framing("a list of Content-Lengths", () => post({ "Content-Length": `${json.length}, ${json.length}` }))
  framing("a Content-Length below zero", () => post({ "Content-Length": "-1" }))
  framing("a Content-Length in words", () => post({ "Content-Length": "many" }))
  framing("chunked, gzip", () => post({ "Transfer-Encoding": "chunked, gzip" }, chunked))
  framing("gzip, chunked", () => post({ "Transfer-Encoding": "gzip, chunked" }, chunked))
  framing("a chunk without a size", () => post({ "Transfer-Encoding": "chunked" }, `ZZ\r\n${json}\r\n0\r\n\r\n`))
  framing("bare LF", () => post({}).replaceAll("\r\n", "\n"))
  framing("a header that goes on in the next line", () => post({ "X-Title": "a\r\n b" }))
  framing("a space before the colon", () => post({ "X-Title ": "a" }))
  framing("NUL in a header", () => post({ "X-Title": "a\0b" }))
  badInput(77, "the same Content-Length twice is one", async () => {
    const length = String(json.length)
    const { status } = await answerTo(gateway.url, post({ "Content-Length": length, "content-length": length }))
    expect(status).toBe(200)
  })

  const hosts = ["", "a b", "[::1", "127.0.0.1:abc", "localhost@gateway.test"]
  const operations = ["GET /api/v1/auth/key", "GET /api/v1/models", "POST /api/v1/route/explain?seed=1"]
  for (const operation of operations) {
    const sent = (headers: Record<string, string>) =>
      requestOf(operation, { ...ordinary(), ...headers }, operation.startsWith("POST") ? json : "")
    badInput(78, `a Host that names none, or HTTP/1.0 without Host, at ${operation}`, async () => {
      for (const Host of hosts) expect((await answerTo(gateway.url, sent({ Host }))).status).toBe(200)
      const older = sent({}).replace("HTTP/1.1", "HTTP/1.0").replace("Host: gateway.test\r\n", "")
      expect((await answerTo(gateway.url, older)).status).toBe(200)
    })
  }
  cutOff(78, "HTTP/1.1 without Host", () => post({}).replace("Host: gateway.test\r\n", ""), [400])
  cutOff(78, "an HTTP/0.9 line", () => "GET /api/v1/models\r\n\r\n", [400, 505])
  const hello = Uint8Array.from([22, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3, ...Array(194).fill(171)])
  cutOff(78, "a TLS hello", () => hello, [400])
  badInput(78, "and the gateway is still there", async () => {
    expect((await gateway.call("/models")).status).toBe(200)
  })

  const many = (count: number, value: string) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`X-H${at}`, value]))
  cutOff(79, "300 headers", () => post(many(300, "v")), [431, 400])
  cutOff(79, "a header of 20 KiB", () => post({ "X-Big": "a".repeat(20_480) }), [431, 400])
  cutOff(79, "headers of 20 KiB together", () => post(many(100, "a".repeat(200))), [431, 400])

  badInput(80, "a title with a line break and another header", async () => {
    const key = await gateway.newKey()
    const response = await answerTo(
      gateway.url,
      post({ Authorization: `Bearer ${key}`, "X-Title": "\r\nSet-Cookie: a=b" }),
    )
    expect(response.headers.get("set-cookie")).toBeNull()
    await wholeBodyOf(response)
    expect((await rowsOf(key)).map(({ appTitle }) => appTitle)).toEqual([""])
    expect(host.calls.at(-1)?.request.headers.get("set-cookie")).toBeNull()
  })
  cutOff(80, "a bare CR in a title", () => post({ "X-Title": "a\rSet-Cookie: a=b" }), [400])
  badInput(80, "a title that is not ASCII is stored, cut to 200 characters", async () => {
    const key = await gateway.newKey()
    const sent = post({ Authorization: `Bearer ${key}`, "X-Title": "ü".repeat(300) })
    await wholeBodyOf(await answerTo(gateway.url, Buffer.from(sent, "latin1")))
    expect((await rowsOf(key)).map(({ appTitle }) => appTitle)).toEqual(["ü".repeat(200)])
    expect(host.calls.at(-1)?.request.headers.get("x-title")).toBeNull()
  })

  badInput(81, "a stream is not compressed", async () => {
    const body = JSON.stringify({ ...fine, stream: true })
    const response = await answerTo(gateway.url, post({ "Accept-Encoding": "gzip, deflate, br, zstd" }, body))
    expect(response.headers.get("content-encoding")).toBeNull()
    expect((await streamOf(response)).text).toBe("Hello there.")
  })

  badInput(82, "Expect: 100-continue with a body too large", async () => {
    const head = post({ "Content-Length": String(limitBytes + 1), Expect: "100-continue" }, "")
    await refused(async () => onlyOne(await lastWords(gateway.url, head)), {
      status: 413,
      says: `larger than ${limitBytes} bytes`,
    })
  })
  badInput(82, "Expect: 100-continue with one that is not", async () => {
    const caller = rawCaller(gateway.url)
    caller.send(post({ "Content-Length": String(json.length), Expect: "100-continue" }, ""))
    await caller.until((received) => received === "HTTP/1.1 100 Continue\r\n\r\n")
    caller.send(json)
    const [answer] = answersIn(await caller.until((received) => answersIn(received).length > 0))
    caller.hangUp()
    expect(answer?.status).toBe(200)
  })

  badInput(
    83,
    "a second request during a stream is never mixed into it: Bun 1.4.5 closes the connection, and the first is billed",
    async () => {
      const key = await gateway.newKey()
      const caller = rawCaller(gateway.url)
      const calls = host.calls.length
      const bearer = { Authorization: `Bearer ${key}` }
      caller.send(post(bearer, JSON.stringify({ ...fine, stream: true, user: "held" })))
      await until(() => held.length > 0)
      const stream = held.shift()
      stream?.send(chunkOf({ delta: { content: "first" }, finish_reason: null }))
      await caller.until((received) => received.includes("first"))
      caller.send(post(bearer))
      const received = await caller.closed
      expect(received.match(/HTTP\/1\.1/g)).toHaveLength(1)
      expect(received).not.toContain("Hello")
      await stream?.left
      const billed = async () => (await rowsOf(key)).map(({ outcome }) => outcome)
      await until(async () => (await billed()).length > 0)
      expect(await billed()).toEqual(["caller-gone"])
      expect(host.calls.length).toBe(calls + 1)
    },
  )
  badInput(83, "pipelined requests are answered in order", async () => {
    const caller = rawCaller(gateway.url)
    const count = (wanted: number) => caller.until((received) => answersIn(received).length === wanted)
    caller.send(post({}, JSON.stringify({ ...fine, stream: true })))
    await count(1)
    caller.send(behind())
    await count(2)
    caller.send(post({}))
    const [first, second, third] = answersIn(await count(3))
    caller.hangUp()
    if (first === undefined || second === undefined || third === undefined) throw new Error("an answer is missing")
    expect((await streamOf(first)).text).toBe("Hello there.")
    expect(Object.keys((await second.json()) as Json)).toContain("data")
    expect((await wholeBodyOf(third)).choices[0]?.message.content).toBe("Hello.")
  })
}
