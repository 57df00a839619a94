/** What an exchange sends, says and does. */
import { afterAll, describe, expect, test } from "bun:test"
import type { StartExchange } from "../../src/upstream/Exchange.ts"
import { makeHttpClient } from "../../src/upstream/http1/client.ts"
import { callFunction } from "../../src/upstream/Upstream.ts"
import { until } from "../support/clocks/until.ts"
import { answerOf, callTo, causeOf, record } from "./call.ts"
import { chunkedHead, hello, type RawRequest, rawServer, saying } from "./rawServer.ts"

const client = makeHttpClient()
afterAll(client.close)

describe("the request", () => {
  test("has its head and body, with our host, connection, length and coding", async () => {
    const seen: Array<string> = []
    using server = saying(hello, ({ head, body }) => seen.push(`${head}\r\n\r\n${body}`))
    await answerOf(client.exchange, callTo(`${server.url}/v1/chat?a=b c`, { body: '{"text":"é€"}' }))
    expect(seen).toEqual([
      [
        "POST /v1/chat?a=b%20c HTTP/1.1",
        `host: 127.0.0.1:${server.port}`,
        "connection: keep-alive",
        "content-type: application/json",
        "accept-encoding: identity",
        "content-length: 16",
        "",
        '{"text":"é€"}',
      ].join("\r\n"),
    ])
  })

  test("cannot be given a framing or a connection of its own by its headers", async () => {
    const heads: Array<string> = []
    using server = saying(hello, ({ head }) => heads.push(head))
    const headers = {
      host: "evil.example",
      "content-length": "1",
      "transfer-encoding": "chunked",
      connection: "close, x",
      "keep-alive": "1",
      te: "trailers",
      upgrade: "h2c",
      expect: "100-continue",
      "accept-encoding": "identity;q=1",
      "x-kept": "yes",
    }
    await answerOf(client.exchange, callTo(server.url, { headers, body: "abc" }))
    expect(heads[0]?.split("\r\n").slice(1)).toEqual([
      `host: 127.0.0.1:${server.port}`,
      "connection: keep-alive",
      "accept-encoding: identity;q=1",
      "x-kept: yes",
      "content-length: 3",
    ])
  })

  test("without a body has no length for GET, and the length 0 for POST", async () => {
    const heads: Array<string> = []
    using server = saying(hello, ({ head }) => heads.push(head))
    await answerOf(client.exchange, callTo(server.url, { method: "GET", headers: {}, body: null }))
    await answerOf(client.exchange, callTo(server.url, { headers: {}, body: null }))
    expect(heads.map((head) => head.includes("content-length"))).toEqual([false, true])
    expect(heads[0]).toStartWith("GET / HTTP/1.1\r\n")
    expect(heads[1]).toEndWith("\r\ncontent-length: 0")
  })

  test.each([
    ["text", 10_000_000],
    ["bytes", 10_000_000],
    ["text", 65_537],
    ["bytes", 1],
  ] as const)("arrives whole: %s, %d characters", async (kind, size) => {
    const text = "0123456789é".repeat(Math.ceil(size / 11)).slice(0, size)
    const bodies: Array<Buffer> = []
    using server = saying(hello, ({ body }) => bodies.push(body))
    const body = kind === "text" ? text : Buffer.from(text)
    const answer = await answerOf(client.exchange, callTo(server.url, { body }))
    expect(causeOf(answer)).toBe("no failure")
    expect(bodies[0]?.equals(Buffer.from(text))).toBe(true)
  })

  test.each([
    ["a line feed", { "x-a": "b\nc" }],
    ["a carriage return", { "x-a": "b\r\nevil: 1" }],
    ["a NUL", { "x-a": "b\0" }],
    ["a character beyond Latin-1", { "x-a": "€" }],
    ["a line feed in the name", { "x\na": "b" }],
    ["a space in the name", { "x a": "b" }],
    ["an upper-case name", { "Content-Length": "3" }],
    ["no name", { "": "b" }],
  ])("is not sent where a header has %s", async (_, headers) => {
    using server = saying(hello)
    const answer = await answerOf(client.exchange, callTo(server.url, { headers }))
    expect(causeOf(answer)).toMatch(/^unsendable: the (name of a header|value of the header x-a) cannot be sent$/)
    expect(server.connections()).toBe(0)
  })

  test("has header values in Latin-1", async () => {
    const heads: Array<string> = []
    using server = saying(hello, ({ head, body }) => heads.push(head, body.toString()))
    await answerOf(client.exchange, callTo(server.url, { headers: { "x-title": "Müller" }, body: "ü" }))
    expect(heads[0]).toContain("\r\nx-title: Müller\r\n")
    expect(heads[1]).toBe("ü")
  })

  test.each([["ftp://127.0.0.1/"], ["/v1"], ["http://user:word@127.0.0.1/"], ["http://:80/"]])(
    "is not sent to %s",
    async (url) => {
      const answer = await answerOf(client.exchange, callTo(url))
      expect(answer.failure?.reason).toBe("unsendable")
    },
  )

  test("does not go round a proxy", async () => {
    using server = saying(hello)
    const answer = await answerOf(client.exchange, callTo(server.url, { proxy: "http://127.0.0.1:1" }))
    expect(causeOf(answer)).toBe("unsendable: this client calls hosts directly, not through a proxy")
    expect(server.connections()).toBe(0)
  })
})

describe("the answer", () => {
  test("has its status, its headers in any case and its body", async () => {
    using server = saying(
      "HTTP/1.1 429 Too Many\r\nRetry-After:  7 \r\nX-Two: a\r\nContent-Length: 2\r\nx-two:b\r\nx-empty:\r\n\r\nhi",
    )
    const { head, body, events } = await answerOf(client.exchange, callTo(server.url))
    const get = (name: string) => head?.headers.get(name)
    expect([head?.status, body.toString(), events]).toEqual([429, "hi", ["head", "data", "end"]])
    expect(["retry-after", "RETRY-AFTER", "x-two", "x-empty", "absent", "OK"].map(get)).toEqual([
      "7",
      "7",
      "a, b",
      "",
      null,
      null,
    ])
  })

  test("that is a redirect is an answer like any other", async () => {
    using elsewhere = saying(hello)
    using server = saying(`HTTP/1.1 307 Go\r\nlocation: ${elsewhere.url}/\r\ncontent-length: 0\r\n\r\n`)
    const { head } = await answerOf(client.exchange, callTo(server.url))
    expect([head?.status, head?.headers.get("location")]).toEqual([307, `${elsewhere.url}/`])
    expect(elsewhere.connections()).toBe(0)
  })

  test("to two calls in turn comes over one connection, to two at once over two", async () => {
    using server = saying(hello)
    await answerOf(client.exchange, callTo(server.url))
    await answerOf(client.exchange, callTo(`${server.url}/another`))
    expect(server.connections()).toBe(1)
    await Promise.all([answerOf(client.exchange, callTo(server.url)), answerOf(client.exchange, callTo(server.url))])
    expect(server.connections()).toBe(2)
  })

  test.each([
    ["the host says close", "HTTP/1.1 200 OK\r\nconnection: Close\r\ncontent-length: 2\r\n\r\nhi"],
    ["close is one of several options", "HTTP/1.1 200 OK\r\nconnection: x, close\r\ncontent-length: 2\r\n\r\nhi"],
    ["it is HTTP/1.0", "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nhi"],
    ["bytes come behind it", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi!"],
    ["a second answer comes behind it", `HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi${hello}`],
    ["bytes come behind its last chunk", `${chunkedHead}2\r\nhi\r\n0\r\n\r\n0\r\n\r\n`],
    ["the host keeps it for a second only", "HTTP/1.1 200 OK\r\nkeep-alive: timeout=1\r\ncontent-length: 2\r\n\r\nhi"],
    ["there should be no body", "HTTP/1.1 204 No\r\ncontent-length: 2\r\n\r\nhi"],
  ])("ends its connection where %s", async (_, bytes) => {
    using server = saying(bytes)
    const first = await answerOf(client.exchange, callTo(server.url))
    const second = await answerOf(client.exchange, callTo(server.url))
    expect([causeOf(first), causeOf(second)]).toEqual(["no failure", "no failure"])
    expect(server.connections()).toBe(2)
    await until(() => server.open() === 0, "both connections closed")
  })

  test("keeps an HTTP/1.0 connection that the host keeps", async () => {
    using server = saying("HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\ncontent-length: 2\r\n\r\nhi")
    await answerOf(client.exchange, callTo(server.url))
    await answerOf(client.exchange, callTo(server.url))
    expect(server.connections()).toBe(1)
  })

  test("ends its connection where it came before the request was sent", async () => {
    using server = rawServer({ deaf: true, onConnection: (peer) => peer.write(hello) })
    const answer = await answerOf(client.exchange, callTo(server.url, { body: new Uint8Array(30_000_000) }))
    expect([causeOf(answer), answer.body.toString()]).toEqual(["no failure", "hello"])
    const next = record(client.exchange, callTo(server.url))
    await until(() => server.connections() === 2, "a second connection")
    next.exchange.cancel()
  })

  test("that nobody asked for ends its connection, and is not taken for the next one", async () => {
    const peers: Array<RawRequest["peer"]> = []
    using server = saying(hello, ({ peer }) => peers.push(peer))
    await answerOf(client.exchange, callTo(server.url))
    peers[0]?.write("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil")
    await until(() => server.open() === 0, "the connection closed")
    const next = await answerOf(client.exchange, callTo(server.url))
    expect(next.body.toString()).toBe("hello")
  })
})

describe("an exchange", () => {
  test("that is cancelled closes its connection, and nothing more is said", async () => {
    for (const bytes of ["", "HTTP/1.1 200 OK\r\n", `${chunkedHead}5\r\nhello\r\n`]) {
      const peers: Array<RawRequest["peer"]> = []
      using server = saying(bytes, ({ peer }) => peers.push(peer))
      const { exchange, events } = record(client.exchange, callTo(server.url))
      await until(() => peers.length === 1 && (!bytes.includes("hello") || events.length === 2), "the answer's start")
      const before = [...events]
      exchange.cancel()
      exchange.cancel()
      await peers[0]?.closed
      expect(events).toEqual(before)
    }
  })

  test("that is cancelled while it dials leaves nothing behind", async () => {
    using server = saying(hello)
    const { exchange, events } = record(client.exchange, callTo(server.url))
    // It dials at the end of its turn.
    await new Promise((resolve) => setImmediate(resolve))
    exchange.cancel()
    await until(() => server.open() === 0, "no connection")
    await answerOf(client.exchange, callTo(server.url))
    expect([events, server.requests()]).toEqual([[], 1])
  })

  test("that is cancelled from within its sink says nothing more, whatever has come already", async () => {
    using server = saying(`${chunkedHead}${"5\r\nhello\r\n".repeat(100)}0\r\n\r\n`)
    for (const at of ["head", "data"] as const) {
      let pieces = 0
      const { events } = record(client.exchange, callTo(server.url), (event, exchange) => {
        if (event === "data") pieces++
        if (event === at) exchange.cancel()
      })
      await until(() => server.open() === 0 && events.includes(at), "the connection closed")
      expect([events.at(-1), pieces]).toEqual([at, at === "data" ? 1 : 0])
    }
  })

  test("reads a function's stream that gives an ArrayBuffer", async () => {
    const stream = new ReadableStream({
      start: (controller) => {
        controller.enqueue(new TextEncoder().encode("hel"))
        controller.enqueue(new TextEncoder().encode("lo").buffer)
        controller.close()
      },
    })
    const start: StartExchange = (call, sink) => callFunction(() => new Response(stream), call, sink)
    expect((await answerOf(start, callTo("http://127.0.0.1:9"))).body.toString()).toBe("hello")
  })

  describe.each<[string, StartExchange]>([
    ["our client", client.exchange],
    [
      "the runtime's fetch",
      (call, sink) =>
        callFunction(
          ({ url, method, headers, body, signal }) => fetch(url, { method, headers, body, signal }),
          call,
          sink,
        ),
    ],
  ])("whose sink throws fails and closes its connection: %s", (_, start) => {
    test.each(["head", "data"] as const)("at %s", async (at) => {
      using server = saying(`${chunkedHead}5\r\nhello\r\n`)
      const { answer, events } = record(start, callTo(server.url), (event) => {
        if (event === at) throw new Error("a fault of the receiver")
      })
      expect(causeOf(await answer)).toBe("defect: a fault of the receiver")
      expect(events).toEqual(at === "head" ? ["head", "failed"] : ["head", "data", "failed"])
      await until(() => server.connections() === 1 && server.open() === 0, "the connection closed")
    })

    test("at the end, when the connection is in order", async () => {
      using server = saying(hello)
      const { answer, events } = record(start, callTo(server.url), (event) => {
        if (event === "end") throw new Error("a fault of the receiver")
      })
      expect(causeOf(await answer)).toBe("defect: a fault of the receiver")
      expect(events).toEqual(["head", "data", "end", "failed"])
      expect((await answerOf(start, callTo(server.url))).body.toString()).toBe("hello")
    })

    test("and throws again when it is told so", async () => {
      using server = saying(`${chunkedHead}5\r\nhello\r\n`)
      const { events } = record(start, callTo(server.url), (event) => {
        if (event !== "data") throw new Error("a fault of the receiver")
      })
      await until(() => server.connections() === 1 && server.open() === 0, "the connection closed")
      expect(events).toEqual(["head", "failed"])
    })
  })

  test("can begin another one from within its sink's end, on the same connection", async () => {
    using server = saying(hello)
    const second = Promise.withResolvers<string>()
    record(client.exchange, callTo(server.url), (event) => {
      if (event !== "end") return
      answerOf(client.exchange, callTo(server.url)).then((answer) => second.resolve(answer.body.toString()))
    })
    expect(await second.promise).toBe("hello")
    expect([server.connections(), server.requests()]).toEqual([1, 2])
  })

  test("has functions that can be passed on by themselves", async () => {
    using server = saying(`${chunkedHead}5\r\nhello\r\n`)
    const { exchange, bytes } = record(client.exchange, callTo(server.url))
    await until(() => bytes() === 5, "the first chunk")
    const { pause, resume, drain, cancel } = exchange
    for (const act of [pause, resume, drain, cancel]) act()
    await until(() => server.open() === 0, "the connection closed")
  })
})
