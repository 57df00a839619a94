/** What a host is called with, and what of its refusal may be seen. docs/guarantees.md#g27 and #g29 */
import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Endpoint } from "../../../src/catalogue/endpoints.ts"
import { ProviderRegistry } from "../../../src/catalogue/ProviderRegistry.ts"
import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import { PluginFault } from "../../../src/plugin/checks/PluginFault.ts"
import {
  answerBody,
  callTo,
  makeUpstreamClient,
  parsedBody,
  refusedBy,
  withoutSecrets,
} from "../../../src/services/calls/upstreamCall.ts"
import type { Sink } from "../../../src/upstream/Exchange.ts"
import { Upstream } from "../../../src/upstream/Upstream.ts"
import { closeServices, hostsConfig, servicesOf } from "../../support/clocks/services.ts"

closeServices()

const services = await servicesOf(ProviderRegistry.layer(await hostsConfig({ a: {} })))
const registry = services.get(ProviderRegistry)
const [host] = registry.current().models[0]?.hosts ?? []
const found = host && registry.endpoint(host)
if (found === undefined) throw new Error("no host")
const endpoint: Endpoint = found

describe("a call", () => {
  test("goes to the host's address with its credentials, which no header of a protocol replaces", () => {
    const headers = { authorization: "Bearer other", "accept-encoding": "gzip", "x-own": "1", accept: "text/own" }
    expect(callTo(endpoint, { path: "/chat?x=1", body: "{}", headers })).toMatchObject({
      ...{ url: "http://a.test/v1/chat?x=1", method: "POST", body: "{}", isOnce: false, network: "private" },
      headers: { authorization: "Bearer secret-of-a", "accept-encoding": "identity", "x-own": "1", accept: "text/own" },
    })
  })

  test("by GET has no body", () => {
    expect(callTo(endpoint, { method: "GET", path: "/models", body: "x" })).toMatchObject({ method: "GET", body: null })
  })

  test("that cannot be begun ends as a defect of ours, since its attempt holds money", async () => {
    const failures: Array<HostFailed> = []
    const broken = Layer.succeed(Upstream, {
      exchange: () => {
        throw new Error("a bug")
      },
    })
    const client = await Effect.runPromise(Effect.provide(makeUpstreamClient, broken))
    const sink: Sink = { head: () => {}, data: () => {}, end: () => {}, failed: (why) => failures.push(why) }
    const exchange = client.send(endpoint, { path: "/chat", body: "{}" }, sink, false)
    expect(failures).toMatchObject([{ reason: "defect" }])
    exchange.cancel()
  })

  test("of a provider that does not sign is not changed", async () => {
    const client = await Effect.runPromise(
      Effect.provide(
        makeUpstreamClient,
        Upstream.layerFrom(() => new Response()),
      ),
    )
    const encoded = { path: "/chat", body: "{}" }
    expect(await Effect.runPromise(client.signed(endpoint, encoded))).toBe(encoded)
  })
})

describe("a body", () => {
  const deep = "[".repeat(100_000)

  test("is JSON where it can be, else text", () => {
    expect([parsedBody('{"a":1}'), parsedBody("<html>"), answerBody("[1]"), answerBody("")]).toEqual([
      ...[{ a: 1 }, "<html>", [1], ""],
    ])
  })

  test("that is nested too deep is not parsed: text of a refusal, and a limit of ours in an answer", () => {
    expect(parsedBody(deep)).toBe(deep)
    expect(answerBody(deep)).toMatchObject({ reason: "limit" })
  })

  test("of a refusal is the provider's to judge, with its status and headers", () => {
    const head = { status: 429, headers: new Headers({ "retry-after": "9" }) }
    expect(refusedBy(endpoint, head, '{"error":{"message":"slow down"}}')).toMatchObject({
      ...{ reason: "rate-limited", status: 429, retryAfterSeconds: 9, detail: "slow down" },
    })
  })
})

describe("a failure is shown without our secrets", () => {
  const shown = (members: object, added: ReadonlyArray<string> = []) =>
    withoutSecrets(new HostFailed({ reason: "request", ...members }), endpoint, added)

  test("in what the host said, its code, and the cause with its stack", () => {
    const cause = new Error("at https://a.test/?key=secret-of-a")
    const failure = shown({ detail: "no key secret-of-a", code: "secret-of-a", cause })
    expect(failure.reason).toBe("request")
    expect(failure.detail).toStartWith("no key ")
    expect(JSON.stringify([failure.detail, failure.code])).not.toContain("secret-of-a")
    const hidden = failure.cause
    if (!(hidden instanceof Error)) throw new Error("the cause is lost")
    expect(`${hidden.message} ${hidden.stack}`).not.toContain("secret-of-a")
    expect(cause.message).toContain("secret-of-a")
  })

  test("in a cause that is a text, or a fault of a plugin, which stays one", () => {
    expect(shown({ cause: "secret-of-a" }).cause).not.toContain("secret-of-a")
    const fault = new PluginFault({ plugin: "p", member: "m", hook: "sign", problem: "secret-of-a", cause: undefined })
    const hidden = shown({ cause: fault }).cause
    if (!(hidden instanceof PluginFault)) throw new Error("no fault any more")
    expect([hidden.plugin, hidden.hook, hidden.problem.includes("secret-of-a")]).toEqual(["p", "sign", false])
  })

  test("and without what a signature added", () => {
    expect(shown({ detail: "bad signature-0123456789abcdef" }, ["signature-0123456789abcdef"]).detail).not.toContain(
      "0123456789abcdef",
    )
  })

  test("one that says nothing is the same one", () => {
    const failure = new HostFailed({ reason: "timeout" })
    expect(withoutSecrets(failure, endpoint)).toBe(failure)
  })
})
