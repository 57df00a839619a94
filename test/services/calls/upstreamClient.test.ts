/** What a host is called with. docs/guarantees.md#g29 */
import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { HostFailed } from "../../../src/domain/failures/Failure.ts"
import { callTo, makeUpstreamClient } from "../../../src/services/calls/UpstreamClient.ts"
import type { Sink } from "../../../src/upstream/Exchange.ts"
import { Upstream } from "../../../src/upstream/Upstream.ts"
import { closeServices } from "../../support/clocks/services.ts"
import { oneEndpoint } from "../../support/hosts/oneEndpoint.ts"

closeServices()

const endpoint = await oneEndpoint()

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

  test("that cannot be begun ends as a defect of ours, since its attempt has a reservation", async () => {
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
