/** Requests that begin in one turn of the event loop are sent together at its end: what may happen to them until then. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { makeHttpClient } from "../../src/upstream/http1/client.ts"
import { SendBatch } from "../../src/upstream/http1/SendBatch.ts"
import { heldClock } from "../support/clocks/heldClock.ts"
import { until, within } from "../support/clocks/until.ts"
import { answerOf, callTo, causeOf, record } from "./call.ts"
import { makeAuthority } from "./certificates.ts"
import { hello, type RawRequest, rawServer, saying } from "./rawServer.ts"

// A wait that never ends is named within a minute.
setDefaultTimeout(1_800_000)

const client = makeHttpClient()
afterAll(client.close)

/** What was to be done at the end of this turn is done then. */
const turn = () => new Promise((resolve) => setImmediate(resolve))

describe("a batch (SendBatch)", () => {
  const noting = () => {
    const seen: Array<string> = []
    const batch = new SendBatch()
    const unsent = (name: string, more = () => {}) => ({
      send: () => {
        seen.push(name)
        more()
      },
      shutdown: (cause: Error) => seen.push(`${name}: ${cause.message}`),
    })
    return { seen, batch, unsent }
  }

  test("sends all of one turn in their order at its end, each once", async () => {
    const { seen, batch, unsent } = noting()
    batch.add(unsent("a"))
    batch.add(unsent("b"))
    await Promise.resolve()
    batch.add(unsent("c"))
    expect(seen).toEqual([])
    await turn()
    expect(seen).toEqual(["a", "b", "c"])
    batch.add(unsent("d"))
    await turn()
    await turn()
    expect(seen).toEqual(["a", "b", "c", "d"])
  })

  test("sends what begins while it sends in the next turn", async () => {
    const { seen, batch, unsent } = noting()
    batch.add(unsent("a", () => batch.add(unsent("c"))))
    batch.add(unsent("b"))
    await turn()
    expect(seen).toEqual(["a", "b"])
    await turn()
    expect(seen).toEqual(["a", "b", "c"])
  })

  test("that is shut down sends nothing of what waits", async () => {
    const { seen, batch, unsent } = noting()
    batch.add(unsent("a"))
    batch.shutdown(new Error("closed"))
    await turn()
    expect(seen).toEqual(["a: closed"])
  })

  test("that is shut down by one that it sends went on to send the rest: it fails them", async () => {
    const { seen, batch, unsent } = noting()
    batch.add(unsent("a", () => batch.shutdown(new Error("closed"))))
    batch.add(unsent("b"))
    batch.add(unsent("c"))
    await turn()
    await turn()
    expect(seen).toEqual(["a", "b: closed", "c: closed"])
  })
})

describe("a request before the end of its turn", () => {
  test.each(["cancel", "drain"] as const)("that is ended by %s is never sent, and dials nothing", async (end) => {
    using server = saying(hello)
    const { exchange, events } = record(client.exchange, callTo(server.url))
    exchange[end]()
    await turn()
    await turn()
    await answerOf(client.exchange, callTo(server.url))
    expect([events, server.requests(), server.connections()]).toEqual([[], 1, 1])
  })

  test.each(["cancel", "drain"] as const)("that is ended by %s leaves the kept connection to others", async (end) => {
    const bodies: Array<string> = []
    using server = saying(hello, ({ body }) => bodies.push(body.toString()))
    await answerOf(client.exchange, callTo(server.url, { body: "first" }))
    const dropped = record(client.exchange, callTo(server.url, { body: "dropped" }))
    const kept = record(client.exchange, callTo(server.url, { body: "kept" }))
    dropped.exchange[end]()
    expect((await kept.answer).body.toString()).toBe("hello")
    await answerOf(client.exchange, callTo(server.url, { body: "last" }))
    expect([bodies, dropped.events, server.connections()]).toEqual([["first", "kept", "last"], [], 1])
  })

  test("that is ended in a microtask, as by a deadline, is never sent", async () => {
    using server = saying(hello)
    const { exchange, events } = record(client.exchange, callTo(server.url))
    await Promise.resolve()
    exchange.cancel()
    await turn()
    await answerOf(client.exchange, callTo(server.url))
    expect([events, server.requests()]).toEqual([[], 1])
  })

  test.each([false, true])(
    "gets a new connection where the host closes the kept one meanwhile, with a reset: %p",
    async (isReset) => {
      using _held = heldClock()
      const peers: Array<RawRequest["peer"]> = []
      using server = saying(hello, ({ peer }) => peers.push(peer))
      await answerOf(client.exchange, callTo(server.url))
      const { answer } = record(client.exchange, callTo(server.url))
      peers[0]?.[isReset ? "reset" : "end"]()
      expect((await answer).body.toString()).toBe("hello")
      expect([server.connections(), server.requests()]).toEqual([2, 2])
    },
  )

  test("that may be sent once only goes out on a new connection where the kept one is gone before it is written", async () => {
    const peers: Array<RawRequest["peer"]> = []
    using server = saying(hello, ({ peer }) => peers.push(peer))
    await answerOf(client.exchange, callTo(server.url))
    peers[0]?.end()
    await until(() => server.open() === 0, "the connection closed")
    await turn()
    const answer = await answerOf(client.exchange, callTo(server.url, { isOnce: true }))
    expect([causeOf(answer), server.connections(), server.requests()]).toEqual(["no failure", 2, 2])
  })

  test("that is paused then gets nothing until it is resumed", async () => {
    using server = saying(hello)
    await answerOf(client.exchange, callTo(server.url))
    const { exchange, answer, events } = record(client.exchange, callTo(server.url))
    exchange.pause()
    await until(() => server.requests() === 2, "the request")
    await turn()
    expect(events).toEqual([])
    exchange.resume()
    expect((await answer).body.toString()).toBe("hello")
  })

  test("that is paused and resumed then is answered as any other", async () => {
    using server = saying(hello)
    const { exchange, answer } = record(client.exchange, callTo(server.url))
    exchange.pause()
    exchange.resume()
    expect((await answer).body.toString()).toBe("hello")
  })

  test("fails where the client is closed, and is not sent", async () => {
    const own = makeHttpClient()
    using server = saying(hello)
    await answerOf(own.exchange, callTo(server.url))
    const waiting = record(own.exchange, callTo(server.url))
    own.close()
    const answer = await waiting.answer
    expect(causeOf(answer)).toBe("unreachable: the client is closed")
    expect(answer.failure?.isAfterSending).not.toBe(true)
    await until(() => server.open() === 0, "all connections closed")
    await turn()
    expect([server.requests(), server.connections(), waiting.events]).toEqual([1, 1, ["failed"]])
  })

  test("is sent although another client of the process is closed", async () => {
    const other = makeHttpClient()
    using server = saying(hello)
    const [failing, going] = [record(other.exchange, callTo(server.url)), record(client.exchange, callTo(server.url))]
    other.close()
    expect([causeOf(await failing.answer), causeOf(await going.answer)]).toEqual([
      "unreachable: the client is closed",
      "no failure",
    ])
    expect(server.requests()).toBe(1)
  })
})

test("long bodies of one turn arrive whole, beside one that its host never reads", async () => {
  const sizes = [5_000_000, 65_537, 1, 3_000_000]
  const bodies: Array<number> = []
  using server = saying(hello, ({ body }) => bodies.push(body.length))
  using deaf = rawServer({ deaf: true })
  const stuck = record(client.exchange, callTo(deaf.url, { body: new Uint8Array(10_000_000) }))
  const all = sizes.map((size) => record(client.exchange, callTo(server.url, { body: "x".repeat(size) })).answer)
  expect((await Promise.all(all)).map(causeOf)).toEqual(sizes.map(() => "no failure"))
  expect(bodies.toSorted((a, b) => a - b)).toEqual(sizes.toSorted((a, b) => a - b))
  stuck.exchange.cancel()
  await until(() => deaf.open() === 0, "the connection closed")
  expect(stuck.events).toEqual([])
})

describe.each([
  ["http", 1000],
  // A handshake costs far more than a request.
  ["https", 200],
] as const)("over %s, %p requests of one turn", (scheme, count) => {
  test("are each answered with their own body, but for those that are ended before or while others are answered", async () => {
    // All connections begin at once, and a busy machine takes its time for the last handshake.
    using _ = heldClock()
    const authority = makeAuthority()
    const own = makeHttpClient({ ca: authority.ca })
    const seen: Array<string> = []
    using server = rawServer({
      ...(scheme === "https" ? { tls: authority.identity({ name: "127.0.0.1" }) } : {}),
      onRequest: ({ peer, body }) => {
        const said = body.toString()
        seen.push(said)
        peer.write(`HTTP/1.1 200 OK\r\ncontent-length: ${said.length}\r\n\r\n${said}`)
      },
    })
    // A tenth of them find a kept connection.
    await Promise.all(
      Array.from({ length: count / 10 }, () => answerOf(own.exchange, callTo(server.url, { body: "warm" }))),
    )
    seen.length = 0
    const all = Array.from({ length: count }, (_, at) =>
      record(own.exchange, callTo(server.url, { body: `body ${at}` })),
    )
    const dropped = all.filter((_, at) => at % 10 === 3)
    for (const [at, { exchange }] of dropped.entries()) exchange[at % 2 === 0 ? "cancel" : "drain"]()
    const kept = all.filter((one) => !dropped.includes(one))
    const answers = await within(Promise.all(kept.map(({ answer }) => answer)), "all answers")
    const wanted = Array.from({ length: count }, (_, at) => `body ${at}`).filter((_, at) => at % 10 !== 3)
    expect(answers.map(({ body }) => body.toString())).toEqual(wanted)
    expect(seen.toSorted()).toEqual(wanted.toSorted())
    expect(dropped.flatMap(({ events }) => events)).toEqual([])
    own.close()
    await until(() => server.open() === 0, "all connections closed")
  })

  test("all fail where the client is closed by the answer to one of them, and no connection stays", async () => {
    const authority = makeAuthority()
    const own = makeHttpClient({ ca: authority.ca })
    using server = rawServer({
      ...(scheme === "https" ? { tls: authority.identity({ name: "127.0.0.1" }) } : {}),
      onRequest: ({ peer }) => peer.write(hello),
    })
    let ends = 0
    const all = Array.from({ length: count / 5 }, () =>
      record(own.exchange, callTo(server.url), (event) => {
        if (event === "end" && ++ends === 1) own.close()
      }),
    )
    const answers = await within(Promise.all(all.map(({ answer }) => answer)), "an end of each")
    expect(ends + answers.filter(({ failure }) => failure !== undefined).length).toBe(count / 5)
    expect(
      all.every(({ events }) => events.filter((event) => event === "end" || event === "failed").length === 1),
    ).toBe(true)
    await until(() => server.open() === 0, "all connections closed")
  })
})

test("over TLS those of one turn are sent on the kept connections, but for one that is cancelled", async () => {
  const authority = makeAuthority()
  const own = makeHttpClient({ ca: authority.ca })
  const bodies: Array<string> = []
  using server = rawServer({
    tls: authority.identity({ name: "127.0.0.1" }),
    onRequest: ({ peer, body }) => {
      bodies.push(body.toString())
      peer.write(hello)
    },
  })
  const ask = (names: ReadonlyArray<string>) => names.map((body) => record(own.exchange, callTo(server.url, { body })))
  await Promise.all(ask(["a", "b"]).map(({ answer }) => answer))
  const [first, dropped, last] = ask(["c", "dropped", "d"])
  dropped?.exchange.cancel()
  await Promise.all([first?.answer, last?.answer])
  expect([bodies.toSorted(), server.connections()]).toEqual([["a", "b", "c", "d"], 2])
  own.close()
})
