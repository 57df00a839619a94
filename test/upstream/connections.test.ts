/** Connections that break, that are kept, and that are closed. */
import { afterAll, describe, expect, test } from "bun:test"
import { makeHttpClient } from "../../src/upstream/http1/client.ts"
import { heldClock } from "../support/clocks/heldClock.ts"
import { until } from "../support/clocks/until.ts"
import { answerOf, callTo, causeOf, record } from "./call.ts"
import { chunkedHead, hello, type RawRequest, rawServer, saying } from "./rawServer.ts"

const client = makeHttpClient()
afterAll(client.close)

describe("a connection that breaks", () => {
  test.each([
    ["before the head", ""],
    ["within the head", "HTTP/1.1 200 OK\r\ncontent-le"],
    ["within a body with a length", "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhello"],
    ["within a chunk", `${chunkedHead}9\r\nhello`],
    ["before the last chunk", `${chunkedHead}5\r\nhello\r\n`],
    ["before the end of the trailers", `${chunkedHead}5\r\nhello\r\n0\r\nx: y\r\n`],
  ])("%s is a failure", async (_, bytes) => {
    for (const close of ["end", "reset"] as const) {
      using server = saying(bytes, ({ peer }) => peer[close]())
      const answer = await answerOf(client.exchange, callTo(server.url))
      expect(answer.failure?.reason).toBe("unreachable")
      expect(server.connections()).toBe(1)
    }
  })

  test("ends a body without a length, unless it was reset", async () => {
    for (const [close, ending] of [
      ["end", "end"],
      ["reset", "failed"],
    ] as const) {
      const peers: Array<RawRequest["peer"]> = []
      using server = saying("HTTP/1.1 200 OK\r\n\r\nall of it", ({ peer }) => peers.push(peer))
      const { answer } = record(client.exchange, callTo(server.url), (event) => {
        if (event === "data") peers[0]?.[close]()
      })
      const { body, events } = await answer
      expect([body.toString(), events]).toEqual(["all of it", ["head", "data", ending]])
    }
  })

  test("and was kept, before any byte of the answer, is replaced once and nobody notices", async () => {
    using _held = heldClock()
    const bodies: Array<string> = []
    using server = rawServer({
      onRequest: ({ peer, nth, body }) => {
        bodies.push(body.toString())
        if (nth === 2) peer.reset()
        else peer.write(hello)
      },
    })
    await answerOf(client.exchange, callTo(server.url, { body: "first" }))
    const { events } = await answerOf(client.exchange, callTo(server.url, { body: "second" }))
    expect(events).toEqual(["head", "data", "end"])
    expect([bodies, server.connections()]).toEqual([["first", "second", "second"], 2])
  })

  test("and was kept, after the host had the request for a while, was sent again: it is a failure", async () => {
    using clock = heldClock()
    using server = rawServer({
      onRequest: ({ peer, nth }) => {
        if (nth === 1) return peer.write(hello)
        clock.advance(400)
        peer.reset()
      },
    })
    await answerOf(client.exchange, callTo(server.url))
    const answer = await answerOf(client.exchange, callTo(server.url))
    expect(answer.failure).toMatchObject({ reason: "unreachable", isAfterSending: true })
    expect([server.requests(), server.connections()]).toEqual([2, 1])
  })

  test("and was kept: what may be carried out once only is not sent again, and every repeat is told", async () => {
    using _held = heldClock()
    using server = rawServer({
      onRequest: ({ peer, nth }) => {
        if (nth === 1) peer.write(hello)
        else peer.reset()
      },
    })
    const resends: Array<string> = []
    const failures: Array<string | undefined> = []
    for (const isOnce of [false, true]) {
      await answerOf(client.exchange, callTo(server.url))
      await new Promise<void>((resolve) => {
        client.exchange(callTo(server.url, { isOnce }), {
          head: () => {},
          data: () => {},
          end: () => {
            failures.push(undefined)
            resolve()
          },
          failed: ({ reason }) => {
            failures.push(reason)
            resolve()
          },
          resent: () => resends.push(`once: ${isOnce}`),
        })
      })
    }
    expect([failures, resends]).toEqual([[undefined, "unreachable"], ["once: false"]])
  })

  test("twice for one request is a failure", async () => {
    using _held = heldClock()
    using server = rawServer({
      onRequest: ({ peer, nth }) => (nth === 1 && peer.number === 1 ? peer.write(hello) : peer.end()),
    })
    await answerOf(client.exchange, callTo(server.url))
    const answer = await answerOf(client.exchange, callTo(server.url))
    expect(causeOf(answer)).toBe("unreachable: the host closed the connection")
    expect([server.connections(), server.requests()]).toEqual([2, 3])
  })

  test("after an interim answer is not replaced: the host has the request", async () => {
    using server = rawServer({
      onRequest: ({ peer, nth }) => {
        peer.write(nth === 1 ? hello : "HTTP/1.1 100 Continue\r\n\r\n")
        if (nth > 1) peer.end()
      },
    })
    await answerOf(client.exchange, callTo(server.url))
    const answer = await answerOf(client.exchange, callTo(server.url))
    expect([answer.failure?.reason, server.requests()]).toEqual(["unreachable", 2])
  })

  test("at random moments while it is kept costs none of 1,000 requests", async () => {
    using _held = heldClock()
    using server = rawServer({
      onRequest: async ({ peer }) => {
        peer.write(hello)
        const moment = Math.random()
        if (moment < 0.3) peer.end()
        else if (moment < 0.5) {
          await Bun.sleep(Math.random() * 3)
          peer.end()
        } else if (moment < 0.6) queueMicrotask(peer.end)
      },
    })
    const failures: Array<string> = []
    for (let index = 0; index < 1_000; index++) {
      const answer = await answerOf(client.exchange, callTo(server.url))
      if (answer.body.toString() !== "hello") failures.push(causeOf(answer))
    }
    expect(failures).toEqual([])
    expect(server.connections()).toBeGreaterThan(100)
    expect(server.connections()).toBeLessThan(1_000)
  })
})

describe("what is drained", () => {
  /** A stream of which the receiver wants only the first chunk. */
  const drained = (url: string) =>
    record(client.exchange, callTo(url), (event, exchange) => {
      if (event === "data") exchange.drain()
    })

  test.each([1, 300])("keeps its connection where the end is there, %d chunks later", async (chunks) => {
    using server = saying(`${chunkedHead}5\r\nhello\r\n${"3\r\nend\r\n".repeat(chunks)}0\r\n\r\n`)
    using _held = heldClock()
    const first = drained(server.url)
    await until(() => first.bytes() > 0, "the first chunk")
    await answerOf(client.exchange, callTo(server.url))
    expect([server.connections(), first.events, first.bytes()]).toEqual([1, ["head", "data"], 5])
  })

  test("keeps its connection where the end comes soon", async () => {
    using _held = heldClock()
    const peers: Array<RawRequest["peer"]> = []
    let reused = false
    using server = rawServer({
      onRequest: ({ peer, nth }) => {
        peers.push(peer)
        reused ||= nth === 2
        const isFirst = peer.number === 1 && nth === 1
        peer.write(isFirst ? `${chunkedHead}5\r\nhello\r\n` : hello.replace("OK", "OK\r\nconnection: close"))
      },
    })
    const first = drained(server.url)
    await until(() => first.bytes() > 0, "the first chunk")
    peers[0]?.write("0\r\nx-usage: 5\r\n\r\n")
    // The client may not have read the end yet, and dials anew meanwhile.
    for (let calls = 0; !reused && calls < 1_000; calls++) await answerOf(client.exchange, callTo(server.url))
    expect([reused, first.events]).toEqual([true, ["head", "data"]])
  })

  test.each([
    ["the end does not come", `${chunkedHead}5\r\nhello\r\n`],
    ["much more comes", `${chunkedHead}5\r\nhello\r\n${`4000\r\n${"x".repeat(16_384)}\r\n`.repeat(8)}0\r\n\r\n`],
    ["the body ends with the connection", "HTTP/1.1 200 OK\r\n\r\nhello"],
    ["the rest is malformed", `${chunkedHead}5\r\nhello\r\nnonsense\r\n`],
  ])("loses its connection where %s", async (_, bytes) => {
    using server = saying(bytes)
    const { events } = drained(server.url)
    await until(() => events.length === 2 && server.open() === 0, "the connection closed")
    expect(events).toEqual(["head", "data"])
  })

  test.each([
    ["length", "HTTP/1.1 200 OK\r\ncontent-length: 70000\r\n\r\nhello"],
    ["chunk", `${chunkedHead}11170\r\nhello`],
  ])("loses its connection at once where too much is due: it once waited for it, by %s", async (_, bytes) => {
    using clock = heldClock()
    const closed: Array<string> = []
    const noting = (name: string) => (request: RawRequest) => request.peer.closed.then(() => closed.push(name))
    using short = saying(`${chunkedHead}5\r\nhello\r\n`, noting("of unknown length"))
    using long = saying(bytes, noting("too long"))
    const waiting = drained(short.url)
    await until(() => waiting.bytes() > 0, "the first chunk")
    drained(long.url)
    await until(() => closed.length === 1, "the connection closed")
    expect(closed).toEqual(["too long"])
    clock.advance(1001)
    await until(() => closed.length === 2, "both connections closed")
  })
})

describe("the client", () => {
  test("fails what is under way and closes every connection when it is closed", async () => {
    const own = makeHttpClient()
    using silent = rawServer({})
    using server = saying(hello)
    await answerOf(own.exchange, callTo(server.url))
    const pending = record(own.exchange, callTo(silent.url))
    await until(() => silent.requests() === 1, "the request")
    const dialling = record(own.exchange, callTo(server.url.replace("127.0.0.1", "localhost")))
    // It dials at the end of its turn.
    await new Promise((resolve) => setImmediate(resolve))
    own.close()
    expect(causeOf(await pending.answer)).toBe("unreachable: the client is closed")
    expect((await dialling.answer).failure?.reason).toBe("unreachable")
    await until(() => server.open() + silent.open() === 0, "all connections closed")
    expect(causeOf(await answerOf(own.exchange, callTo(server.url)))).toBe("unsendable: the client is closed")
  })

  test("closes an idle connection a second before the host does", async () => {
    using clock = heldClock()
    using server = saying("HTTP/1.1 200 OK\r\nkeep-alive: max=5, timeout=2\r\ncontent-length: 0\r\n\r\n")
    for (const calls of [1, 2]) {
      await answerOf(client.exchange, callTo(server.url))
      expect([server.requests(), server.connections(), server.open()]).toEqual([calls, 1, 1])
      clock.advance(999)
    }
    clock.advance(2)
    await until(() => server.open() === 0, "the idle connection closed")
  })

  test("keeps 256 idle connections to one host at most", async () => {
    const peers: Array<RawRequest["peer"]> = []
    using server = rawServer({ onRequest: ({ peer }) => peers.push(peer) })
    const answers = Array.from({ length: 300 }, () => answerOf(client.exchange, callTo(server.url)))
    await until(() => peers.length === 300, "300 requests at once")
    for (const peer of peers) peer.write(hello)
    await Promise.all(answers)
    await until(() => server.open() === 256, "44 connections closed")
  })
})

test("a pause within the data that was kept while the host reset the connection: the rest still comes", async () => {
  using server = saying(`${chunkedHead}1\r\na\r\n1\r\nb\r\n1\r\nc\r\n0\r\n\r\n`, ({ peer }) =>
    setTimeout(() => peer.reset(), 20),
  )
  let resumed = false
  const recorded = record(client.exchange, callTo(server.url), (event, exchange, bytes) => {
    if (event !== "data") return
    exchange.pause()
    if (resumed) exchange.resume()
    else if (bytes[0] === 97) {
      setTimeout(() => {
        resumed = true
        exchange.resume()
      }, 100)
    }
  })
  const answer = await recorded.answer
  expect([answer.failure, answer.body.toString()]).toEqual([undefined, "abc"])
})
