/** Calls through an HTTP proxy, and those that NO_PROXY exempts from it. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import type { StartExchange } from "../../src/upstream/Exchange.ts"
import { Upstream } from "../../src/upstream/Upstream.ts"
import { answerOf, callTo, causeOf } from "./call.ts"
import { hello, saying } from "./rawServer.ts"

const variables = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"] as const
const before = variables.map((name) => [name, process.env[name]] as const)
const setTo = (values: ReadonlyArray<readonly [string, string | undefined]>) => {
  for (const [name, value] of values) {
    if (value === undefined) delete process.env[name]
    else process.env[name] = value
  }
}
beforeEach(() => setTo(variables.map((name) => [name, undefined])))
afterEach(() => setTo(before))

/** Upstream as the gateway has it, in an environment; every name leads to this machine. */
const withUpstream = <A>(environment: Record<string, string>, use: (exchange: StartExchange) => Promise<A>) => {
  setTo(Object.entries(environment))
  return Effect.runPromise(
    Effect.flatMap(Upstream, ({ exchange }) => Effect.promise(() => use(exchange))).pipe(
      Effect.provide(Upstream.layerWith({ lookup: async () => [{ address: "127.0.0.1" }] })),
    ),
  )
}

const throughProxy = hello.replace("hello", "proxy")

describe("a provider's own proxy", () => {
  test.each([
    { NO_PROXY: "*" },
    { no_proxy: "127.0.0.1" },
    { NO_PROXY: "127.0.0.0/8" },
    { NO_PROXY: "other.example" },
    {},
  ])("is used with %j: the runtime once dialled the host itself, unchecked", async (environment) => {
    using host = saying(hello)
    using proxy = saying(throughProxy)
    const call = callTo(host.url, { network: "public", proxy: proxy.url })
    const { body } = await withUpstream(environment, (exchange) => answerOf(exchange, call))
    expect([body.toString(), host.connections()]).toEqual(["proxy", 0])
    for (const [name, value] of Object.entries(environment)) expect(process.env[name]).toBe(value)
  })

  test("is used for https, too", async () => {
    const heads: Array<string> = []
    using host = saying(hello)
    using proxy = saying("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n", ({ head }) => heads.push(head))
    const call = callTo(`https://127.0.0.1:${host.port}/`, { network: "public", proxy: proxy.url })
    await withUpstream({ NO_PROXY: "*" }, (exchange) => answerOf(exchange, call))
    expect(heads[0]).toStartWith(`CONNECT 127.0.0.1:${host.port} HTTP/1.1`)
    expect(host.connections()).toBe(0)
  })
})

describe("the environment's proxy", () => {
  test.each([
    ["other.example", "proxy"],
    // The runtime understands ranges, the gateway does not: no call may fall between the two.
    ["127.0.0.0/8", "proxy"],
  ])("is used with NO_PROXY=%s", async (exempt, said) => {
    using host = saying(hello)
    using proxy = saying(throughProxy)
    const call = callTo(host.url, { network: "public" })
    const { body } = await withUpstream({ HTTP_PROXY: proxy.url, NO_PROXY: exempt }, (exchange) =>
      answerOf(exchange, call),
    )
    expect([body.toString(), host.connections()]).toEqual([said, 0])
  })

  test("is not used for hosts of NO_PROXY, whose addresses are checked", async () => {
    using host = saying(hello)
    using proxy = saying(throughProxy)
    const call = callTo(`http://models.acme.example:${host.port}/`, { network: "public" })
    const answer = await withUpstream({ HTTP_PROXY: proxy.url, NO_PROXY: "acme.example" }, (exchange) =>
      answerOf(exchange, call),
    )
    expect(causeOf(answer)).toBe(
      "unreachable: models.acme.example leads to an address that may not be called: 127.0.0.1",
    )
    expect([proxy.connections(), host.connections()]).toEqual([0, 0])
  })

  test("is not used for private hosts", async () => {
    using host = saying(hello)
    using proxy = saying(throughProxy)
    const { body } = await withUpstream({ HTTP_PROXY: proxy.url }, (exchange) => answerOf(exchange, callTo(host.url)))
    expect([body.toString(), proxy.connections()]).toEqual(["hello", 0])
  })
})
