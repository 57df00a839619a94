/** Names, addresses and the way to a connection. */
import { afterEach, describe, expect, test } from "bun:test"
import type { Network } from "../../src/domain/hosts/networkReach.ts"
import { type HttpClient, makeHttpClient } from "../../src/upstream/http1/client.ts"
import { makeResolve } from "../../src/upstream/http1/Resolve.ts"
import { heldTimers } from "../support/clocks/heldClock.ts"
import { until } from "../support/clocks/until.ts"
import { answerOf, callTo, causeOf, record } from "./call.ts"
import { rawServer } from "./rawServer.ts"

const clients: Array<HttpClient> = []
/** A client whose resolver answers with `addresses`, and the names that it was asked for. */
const resolving = (addresses: (asked: number) => ReadonlyArray<string> | Promise<never>) => {
  const asked: Array<string> = []
  const client = makeHttpClient({
    lookup: async (name) => {
      asked.push(name)
      return (await addresses(asked.length)).map((address) => ({ address }))
    },
  })
  clients.push(client)
  return { exchange: client.exchange, asked }
}
afterEach(() => {
  for (const client of clients.splice(0)) client.close()
})

const hello = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 5\r\n\r\nhello"
const greeting = (hostname = "127.0.0.1", port = 0) =>
  rawServer({ hostname, port, onRequest: ({ peer }) => peer.write(hello) })

describe("a name", () => {
  test("is dialled at the very address that was checked", async () => {
    using server = greeting()
    const { exchange, asked } = resolving(() => ["127.0.0.1"])
    const answer = await answerOf(exchange, callTo(`http://models.acme.example:${server.port}/`))
    expect([answer.body.toString(), asked]).toEqual(["hello", ["models.acme.example"]])
  })

  test.each([
    ["169.254.169.254", "private"],
    ["::ffff:169.254.169.254", "private"],
    ["fd00:ec2::254", "private"],
    ["fe80::1", "private"],
    ["0.0.0.0", "private"],
    ["127.0.0.1", "public"],
    ["10.0.0.1", "public"],
    ["::1", "public"],
    ["fd12::1", "public"],
  ] as const)("that leads to %s is not called in a %s network", async (address, network) => {
    const { exchange } = resolving(() => [address])
    const answer = await answerOf(exchange, callTo("https://models.acme.example/", { network }))
    expect(causeOf(answer)).toBe(
      `unreachable: models.acme.example leads to an address that may not be called: ${address}`,
    )
  })

  test.each([
    ["http://metadata.google.internal/", "private"],
    ["http://169.254.169.254/", "private"],
    ["http://[::ffff:a9fe:a9fe]/", "private"],
    ["http://0x7f.1/", "public"],
    ["http://localhost/", "public"],
    ["http://[::1]/", "public"],
  ] as const)("or address that may not be called is not even asked for: %s, %s", async (url, network) => {
    const { exchange, asked } = resolving(() => ["1.1.1.1"])
    const answer = await answerOf(exchange, callTo(url, { network }))
    expect(causeOf(answer)).toMatch(/may not be called/)
    expect(asked).toEqual([])
  })

  test("whose answer changes between two calls is checked again", async () => {
    using server = greeting()
    const { exchange } = resolving((asked) => (asked === 1 ? Promise.reject(new Error("no such name")) : ["10.0.0.1"]))
    const call = callTo(`http://models.acme.example:${server.port}/`, { network: "public" })
    expect(causeOf(await answerOf(exchange, call))).toBe("unreachable: no such name")
    expect(causeOf(await answerOf(exchange, call))).toMatch(/may not be called/)
  })

  test("is dialled only at those of its addresses that may be called", async () => {
    // What is dialled at 0.0.0.0 reaches a server at 127.0.0.1.
    using refused = rawServer({ hostname: "127.0.0.1" })
    using server = greeting("127.0.0.2", refused.port)
    const { exchange } = resolving(() => ["0.0.0.0", "127.0.0.2"])
    const answer = await answerOf(exchange, callTo(`http://models.acme.example:${refused.port}/`))
    expect([answer.body.toString(), server.connections(), refused.connections()]).toEqual(["hello", 1, 0])
  })

  test("leads to those of its addresses that may be called, and to no other", async () => {
    const all = ["169.254.169.254", "fe80::1", "127.0.0.1", "10.0.0.1", "1.1.1.1", "2606:4700::1111", "fd12::1"]
    const resolve = makeResolve(async () => all.map((address) => ({ address })))
    const allowed = async (network: Network) => (await resolve("models.acme.example", network)).toSorted()
    expect(await allowed("public")).toEqual(["1.1.1.1", "2606:4700::1111"])
    expect(await allowed("private")).toEqual(["1.1.1.1", "10.0.0.1", "127.0.0.1", "2606:4700::1111", "fd12::1"])
  })

  test("without addresses is a failure", async () => {
    const { exchange } = resolving(() => [])
    const answer = await answerOf(exchange, callTo("http://models.acme.example/"))
    expect(causeOf(answer)).toBe("unreachable: models.acme.example has no address")
  })

  test("is asked for once by many calls at once, and again after a failure", async () => {
    using server = greeting()
    const { exchange, asked } = resolving((asked) => (asked === 1 ? Promise.reject(new Error("again")) : ["127.0.0.1"]))
    const call = callTo(`http://models.acme.example:${server.port}/`)
    const all = () => Promise.all(Array.from({ length: 5 }, () => answerOf(exchange, call)))
    expect((await all()).map(causeOf)).toEqual(new Array(5).fill("unreachable: again"))
    expect((await all()).map(causeOf)).toEqual(new Array(5).fill("no failure"))
    expect(asked.length).toBe(2)
  })

  test("of the system's resolver works", async () => {
    using server = greeting()
    const client = makeHttpClient()
    clients.push(client)
    const answer = await answerOf(client.exchange, callTo(`http://localhost:${server.port}/`))
    expect(answer.body.toString()).toBe("hello")
  })
})

/** How long an address is waited for before the next one is tried as well. src/upstream/http1/Dial.ts */
const nextAddressMs = 250

describe("several addresses", () => {
  test("are tried one after the other where one refuses", async () => {
    using server = greeting()
    const { exchange } = resolving(() => ["127.0.0.3", "127.0.0.2", "127.0.0.1"])
    const answer = await answerOf(exchange, callTo(`http://models.acme.example:${server.port}/`))
    expect(answer.body.toString()).toBe("hello")
  })

  test("that all refuse are a failure", async () => {
    const { exchange } = resolving(() => ["127.0.0.2", "::1"])
    const answer = await answerOf(exchange, callTo("http://models.acme.example:1/"))
    expect(causeOf(answer)).toBe("unreachable: Failed to connect")
  })

  test("are tried IPv6 first, and the next one where one is silent", async () => {
    using timers = heldTimers(nextAddressMs)
    // Speaks no TLS, so that a handshake with it never ends.
    using silent = rawServer({ hostname: "::1", deaf: true })
    using server = greeting("127.0.0.1", silent.port)
    const { exchange } = resolving(() => ["127.0.0.1", "::1"])
    const answer = answerOf(exchange, callTo(`https://models.acme.example:${silent.port}/`))
    await until(() => silent.connections() === 1, "the first address")
    expect([server.connections(), timers.waiting()]).toEqual([0, 1])
    timers.fire()
    await until(() => server.connections() === 1, "the second address")
    server.stop()
    silent.stop()
    expect((await answer).failure?.reason).toBe("unreachable")
  })

  test("are left alone once one of them answers", async () => {
    using timers = heldTimers(nextAddressMs)
    using second = greeting("127.0.0.2")
    using first = greeting("127.0.0.1", second.port)
    const { exchange } = resolving(() => ["127.0.0.1", "127.0.0.2"])
    await answerOf(exchange, callTo(`http://models.acme.example:${first.port}/`))
    expect([second.connections(), timers.waiting()]).toEqual([0, 0])
  })
})

describe("a connection that does not come about", () => {
  test("within 5 seconds fails, be it for its name or its handshake, and nothing stays open", async () => {
    using silent = rawServer({ deaf: true })
    const nameless = resolving(() => new Promise<never>(() => {}))
    const named = resolving(() => ["127.0.0.1"])
    const answers = await Promise.all([
      answerOf(nameless.exchange, callTo("http://models.acme.example/")),
      answerOf(named.exchange, callTo(`https://models.acme.example:${silent.port}/`)),
    ])
    expect(answers.map(causeOf)).toEqual(new Array(2).fill("unreachable: no connection after 5 seconds"))
    silent.stop()
  })

  test("because the call was cancelled leaves none open", async () => {
    using silent = rawServer({})
    const { exchange } = resolving(() => ["127.0.0.1"])
    const { exchange: running, events } = record(exchange, callTo(`https://models.acme.example:${silent.port}/`))
    await until(() => silent.connections() === 1, "the connection")
    running.cancel()
    await until(() => silent.open() === 0, "the connection closed")
    expect(events).toEqual([])
  })
})
