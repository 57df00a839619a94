/** Bodies: malformed on the wire, compressed unasked, and more than the receiver can take. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { brotliCompressSync, constants, createGzip, deflateRawSync, deflateSync, gzipSync } from "node:zlib"
import { makeHttpClient } from "../../src/upstream/http1/client.ts"
import { until } from "../support/clocks/until.ts"
import { answerOf, callTo, causeOf, record } from "./call.ts"
import { malformed } from "./malformed.ts"
import { type Peer, rawServer } from "./rawServer.ts"

// A wait that never ends is named within a minute.
setDefaultTimeout(1_800_000)

const client = makeHttpClient()
afterAll(client.close)

/** Answers with `bytes`, and with a proper answer the next time. */
const once = (bytes: string | Uint8Array) =>
  rawServer({
    onRequest: ({ peer }) => peer.write(peer.number === 1 ? bytes : "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"),
  })

describe("a malformed answer", () => {
  test.each(malformed.map(([name, text, problem]) => [name, text, problem]))(
    "is said to be that, and its connection closed: %s",
    async (_, text, problem) => {
      using server = once(Buffer.from(text, "latin1"))
      const answer = await answerOf(client.exchange, callTo(server.url))
      // More headers than we read are a limit of ours, and no host is blamed for it.
      expect(causeOf(answer)).toStartWith(
        /^(?:the headers are too long|there are too many headers)/.test(problem) ? "limit: " : "malformed: ",
      )
      expect(causeOf(answer)).toMatch(new RegExp(`${problem.replace(/[/.]/g, "\\$&")}|the answer is no HTTP`))
      await until(() => server.open() === 0, "the connection closed")
      expect((await answerOf(client.exchange, callTo(server.url))).body.toString()).toBe("ok")
    },
  )
})

const compressed = (coding: string, bytes: Uint8Array) =>
  Buffer.concat([
    Buffer.from(`HTTP/1.1 200 OK\r\ncontent-encoding: ${coding}\r\ncontent-length: ${bytes.length}\r\n\r\n`),
    bytes,
  ])

describe("a body that came compressed unasked", () => {
  const text = "data: hello\n\n".repeat(5_000)

  test.each([
    ["gzip", gzipSync(text)],
    ["X-GZIP", gzipSync(text)],
    ["gzip", Buffer.concat([gzipSync(text.slice(0, 1_000)), gzipSync(text.slice(1_000))])],
    ["deflate", deflateSync(text)],
    ["deflate", deflateRawSync(text)],
    ["br", brotliCompressSync(text)],
    ["identity", Buffer.from(text)],
  ])("is inflated, and the connection kept: %s", async (coding, bytes) => {
    using server = rawServer({ onRequest: ({ peer }) => peer.write(compressed(coding, bytes)) })
    for (let calls = 0; calls < 2; calls++) {
      const answer = await answerOf(client.exchange, callTo(server.url))
      expect([causeOf(answer), answer.events, answer.body.toString() === text]).toEqual([
        "no failure",
        ["head", "data", "end"],
        true,
      ])
    }
    expect(server.connections()).toBe(1)
  })

  test("may be empty", async () => {
    using server = once(compressed("gzip", new Uint8Array()))
    const answer = await answerOf(client.exchange, callTo(server.url))
    expect([causeOf(answer), answer.body.length]).toEqual(["no failure", 0])
  })

  test("as a stream comes event by event", async () => {
    const gzip = createGzip({ flush: constants.Z_SYNC_FLUSH })
    const peers: Array<Peer> = []
    using server = rawServer({ onRequest: ({ peer }) => peers.push(peer) })
    const { bytes, answer } = record(client.exchange, callTo(server.url))
    await until(() => peers.length === 1, "the request")
    gzip.on("data", (piece: Buffer) => {
      peers[0]?.write(`${piece.length.toString(16)}\r\n`)
      peers[0]?.write(piece)
      peers[0]?.write("\r\n")
    })
    peers[0]?.write("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n")
    for (let events = 1; events <= 3; events++) {
      gzip.write("data: hello\n\n")
      gzip.flush()
      await until(() => bytes() === events * 13, "the event")
    }
    gzip.once("end", () => peers[0]?.write("0\r\n\r\n"))
    gzip.end()
    expect(causeOf(await answer)).toBe("no failure")
  })

  test.each([["lzma"], ["gzip, br"], ["gzip, gzip"], ["x"], ["compress"]])(
    "in a coding that we do not know is malformed: %s",
    async (coding) => {
      using server = once(compressed(coding, gzipSync(text)))
      const answer = await answerOf(client.exchange, callTo(server.url))
      expect([answer.events, causeOf(answer)]).toEqual([
        ["failed"],
        "malformed: the body has a Content-Encoding that is not understood",
      ])
      await until(() => server.open() === 0, "the connection closed")
    },
  )

  test.each([
    ["garbage", Buffer.from("no gzip at all")],
    ["cut short", gzipSync(text).subarray(0, 60)],
  ])("and is broken is malformed: %s", async (_, bytes) => {
    using server = once(compressed("gzip", bytes))
    expect(causeOf(await answerOf(client.exchange, callTo(server.url)))).toBe(
      "malformed: the compressed body is broken",
    )
  })

  test.each([
    ["gzip", gzipSync(Buffer.alloc(200_000_000), { level: 9 })],
    ["deflate", deflateSync(Buffer.alloc(200_000_000), { level: 9 })],
    ["br", brotliCompressSync(Buffer.alloc(200_000_000), { params: { [constants.BROTLI_PARAM_QUALITY]: 3 } })],
  ])("and stands for 1,000 times its size is refused after a megabyte: %s", async (coding, bytes) => {
    using server = once(compressed(coding, bytes))
    const { answer, bytes: received } = record(client.exchange, callTo(server.url))
    expect(causeOf(await answer)).toBe("limit: the compressed body is too large")
    expect(received()).toBeLessThan(40 * 1_048_576)
    expect(received()).toBeLessThan(Math.max(200 * bytes.length, 1_048_576) + 1)
    // The whole answer of the smallest one has been read by then, and its connection is in order.
    if (bytes.length > 100_000) await until(() => server.open() === 0, "the connection closed")
  })

  test("and is large although it hardly shrinks is read whole: it once failed above 32 MiB, whatever was configured", async () => {
    const hex = Buffer.from(crypto.getRandomValues(new Uint8Array(65_536))).toString("hex")
    using server = once(compressed("gzip", gzipSync(hex.repeat(300))))
    const { answer, bytes: received } = record(client.exchange, callTo(server.url))
    expect(causeOf(await answer)).toBe("no failure")
    expect(received()).toBe(300 * hex.length)
  })

  test("waits while it is paused, and so does the host", async () => {
    const random = Buffer.from(crypto.getRandomValues(new Uint8Array(30_000_000)))
    const bytes = gzipSync(random, { level: 1 })
    let peer: Peer | undefined
    using server = rawServer({
      onRequest: (request) => {
        peer = request.peer
        peer.write(compressed("gzip", bytes))
      },
    })
    const {
      exchange,
      answer,
      bytes: received,
    } = record(client.exchange, callTo(server.url), (event, running) => {
      if (event === "head") running.pause()
    })
    await until(() => peer !== undefined && peer.waiting() > 0, "the answer")
    await settled(() => peer?.waiting() ?? 0)
    expect([received(), (peer?.waiting() ?? 0) > 0]).toEqual([0, true])
    exchange.resume()
    const { body } = await answer
    expect(body.equals(random)).toBe(true)
  })

  test("is no more heard of once it is cancelled", async () => {
    using server = once(compressed("gzip", gzipSync(crypto.getRandomValues(new Uint8Array(2_000_000)))))
    const { events } = record(client.exchange, callTo(server.url), (event, exchange) => {
      if (event === "data") exchange.cancel()
    })
    await until(() => events.includes("data") && server.open() === 0, "the connection closed")
    expect(events).toEqual(["head", "data"])
  })
})

/** Waits until a figure stays the same for a while. */
const settled = async (figure: () => number): Promise<void> => {
  for (let last = -1; last !== figure(); await Bun.sleep(100)) last = figure()
}

describe("a receiver that pauses", () => {
  const total = 100_000_000
  const piece = Buffer.alloc(1_000_000, "x")

  /** A host that sends 100 MB as fast as it can. */
  const blasting = (framing: "length" | "chunked" | "close") => {
    const peers: Array<Peer> = []
    const server = rawServer({
      onRequest: ({ peer }) => {
        peers.push(peer)
        const all = Buffer.alloc(total, piece)
        if (framing === "length") peer.write(`HTTP/1.1 200 OK\r\ncontent-length: ${total}\r\n\r\n`)
        else if (framing === "close") peer.write("HTTP/1.1 200 OK\r\n\r\n")
        else peer.write(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${total.toString(16)}\r\n`)
        peer.write(all)
        if (framing === "chunked") peer.write("\r\n0\r\n\r\n")
        if (framing === "close") peer.end()
      },
    })
    return { server, peers }
  }

  test.each([["length"], ["chunked"], ["close"]] as const)(
    "gets nothing, and its host gets stuck, until it resumes: %s",
    async (framing) => {
      const { server, peers } = blasting(framing)
      using _ = server
      let pauses = 0
      const { exchange, answer, bytes } = record(client.exchange, callTo(server.url), (event, running) => {
        if (event === "data" && pauses++ < 20) running.pause()
      })
      for (let pause = 0; pause < 20; pause++) {
        await until(() => pauses > pause, "a pause")
        const before = bytes()
        if (pause === 5) await settled(() => peers[0]?.waiting() ?? 0)
        expect(bytes()).toBe(before)
        if (pause === 5) expect(peers[0]?.waiting()).toBeGreaterThan(total / 2)
        exchange.resume()
      }
      const { body, failure } = await answer
      expect([body.length, failure]).toEqual([total, undefined])
    },
  )

  test("holds a few hundred KiB at most", async () => {
    const { server, peers } = blasting("length")
    using _ = server
    let largest = 0
    let burst = 0
    let paused = false
    const { exchange, answer } = record(client.exchange, callTo(server.url), (event, running, bytes) => {
      if (event !== "data") return
      burst += bytes.length
      largest = Math.max(largest, bytes.length)
      if (!paused) running.pause()
      paused = true
    })
    await until(() => paused, "the pause")
    await settled(() => peers[0]?.waiting() ?? 0)
    // What one pause after another lets through is one piece each time.
    for (let rounds = 0; rounds < 20; rounds++) {
      burst = 0
      paused = false
      exchange.resume()
      await until(() => burst > 0, "a piece")
      expect(burst).toBeLessThanOrEqual(65_536)
    }
    expect(largest).toBeLessThanOrEqual(65_536)
    exchange.cancel()
    await peers[0]?.closed
    expect(await Promise.race([answer, Promise.resolve("silence")])).toBe("silence")
  })

  test("from within its sink and resumes there goes on", async () => {
    using server = once("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n1\r\nc\r\n0\r\n\r\n")
    const { answer } = record(client.exchange, callTo(server.url), (event, exchange) => {
      if (event === "end") return
      exchange.pause()
      exchange.resume()
    })
    expect((await answer).body.toString()).toBe("abc")
  })

  test("and resumes with its last bytes still leaves no connection with bytes behind the answer", async () => {
    using server = once(
      "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhiHTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nevil",
    )
    const { answer } = record(client.exchange, callTo(server.url), (event, exchange) => {
      if (event !== "data") return
      exchange.pause()
      exchange.resume()
    })
    expect((await answer).body.toString()).toBe("hi")
    expect((await answerOf(client.exchange, callTo(server.url))).body.toString()).toBe("ok")
  })

  test("before there is an answer gets all of it later", async () => {
    using server = once("HTTP/1.1 200 OK\r\n\r\nall of it")
    const { exchange, answer, events } = record(client.exchange, callTo(server.url))
    exchange.pause()
    await until(() => server.requests() === 1, "the request")
    expect(events).toEqual([])
    exchange.cancel()
    using closing = rawServer({
      onRequest: ({ peer }) => {
        peer.write("HTTP/1.1 200 OK\r\n\r\nall of it")
        peer.end()
      },
    })
    const second = record(client.exchange, callTo(closing.url))
    second.exchange.pause()
    await until(() => closing.requests() === 1, "the request")
    second.exchange.resume()
    expect((await second.answer).body.toString()).toBe("all of it")
    expect(await Promise.race([answer, Promise.resolve("silence")])).toBe("silence")
  })

  test("and whose host closes meanwhile gets the rest, and then the failure", async () => {
    const peers: Array<Peer> = []
    using server = rawServer({
      onRequest: ({ peer }) => {
        peers.push(peer)
        peer.write(`HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${"5\r\nhello\r\n".repeat(10)}`)
        peer.end()
      },
    })
    let pauses = 0
    const { exchange, answer } = record(client.exchange, callTo(server.url), (event, running) => {
      if (event === "data" && pauses++ === 0) running.pause()
    })
    await until(() => pauses === 1, "the pause")
    await settled(() => server.open())
    exchange.resume()
    const { body, failure } = await answer
    expect([body.length, failure?.reason]).toEqual([50, "unreachable"])
  })
})
