/** The gateway's routes in an app of somebody else, on a socket: streams, callers who leave, other methods. */
import { describe, expect, test } from "bun:test"
import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as HttpServer from "@effect/platform/HttpServer"
import * as BunHttpServer from "@effect/platform-bun/BunHttpServer"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as Gateway from "../../src/app/Gateway.ts"
import { decodeConfig } from "../../src/config/loadConfig.ts"
import { KeyStore } from "../../src/services/keys/KeyStore.ts"
import { Meter } from "../../src/services/money/Meter.ts"
import { Storage } from "../../src/services/storage/Storage.ts"
import { Upstream } from "../../src/upstream/Upstream.ts"
import { rawCaller, requestOf } from "../support/clients/rawCaller.ts"
import { until } from "../support/clocks/until.ts"
import { ownPlugins } from "../support/gateways/gateway.ts"
import { closeAfterEach, opened } from "../support/gateways/watched.ts"
import { configFor } from "../support/hosts/host.ts"
import { delta, tail, whole } from "../support/hosts/rawAnswers.ts"
import { type Peer, rawHost, streamHead } from "../support/hosts/rawHost.ts"
import { lastingStorage } from "../support/storage/lastingStorage.ts"

closeAfterEach()

const start = async (script: (peer: Peer) => void, limits: Record<string, unknown> = {}) => {
  const host = opened(rawHost(script))
  const config = await Effect.runPromise(
    decodeConfig(configFor({ a: host }, { limits: { max_in_flight: 50, ...limits } })),
  )
  const plugins = await Effect.runPromise(ownPlugins)
  const services = Gateway.servicesOf({ plugins, config }).pipe(
    Layer.provideMerge(KeyStore.layer()),
    Layer.provideMerge(lastingStorage),
    Layer.provide(Upstream.layer),
  )
  const server = HttpLayerRouter.serve(Gateway.routes, { disableLogger: true, disableListenLog: true }).pipe(
    Layer.provideMerge(BunHttpServer.layer({ hostname: "127.0.0.1", port: 0, idleTimeout: 0 })),
  )
  const app = Gateway.drained(server).pipe(
    Layer.provideMerge(services),
    Layer.provide(Logger.remove(Logger.defaultLogger)),
  )
  const scope = await Effect.runPromise(Scope.make())
  const stop = () => Effect.runPromise(Scope.close(scope, Exit.void))
  opened({ stop })
  const context = await Effect.runPromise(Layer.buildWithScope(app, scope))
  const { address } = Context.get(context, HttpServer.HttpServer)
  const url = `http://127.0.0.1:${address._tag === "TcpAddress" ? address.port : 0}/api/v1`
  const made = await Effect.runPromise(
    Effect.provide(
      Effect.flatMap(KeyStore, (keys) => keys.create({ kind: "ordinary", name: "t", limit: 10_000_000_000_000n })),
      context,
    ),
  )
  const secret = Redacted.value(made.secret)
  const run = <A, E>(effect: Effect.Effect<A, E, Meter | Storage>) => Effect.runPromise(Effect.provide(effect, context))
  return {
    host,
    url,
    stop,
    headers: { Authorization: `Bearer ${secret}`, "Content-Type": "application/json" },
    reserved: async () => (await run(Effect.flatMap(Meter, (meter) => meter.spent(made.record.id)))).reserved,
    rows: () => run(Effect.flatMap(Storage, ({ ledger }) => ledger.rows(made.record.id, 100))),
  }
}

const body = (stream: boolean) =>
  JSON.stringify({ model: "acme/small", messages: [{ role: "user", content: "hi" }], stream, max_tokens: 50 })

describe("embedded on a socket", () => {
  test("a stream arrives whole", async () => {
    const { url, headers } = await start((peer) => {
      peer.write(streamHead)
      for (let at = 0; at < 200; at++) peer.write(delta(`w${at} `))
      peer.write(tail)
    })
    const text = await (await fetch(`${url}/chat/completions`, { method: "POST", headers, body: body(true) })).text()
    const said = [...text.matchAll(/^data: (\{.*\})$/gm)].map(
      ([, json]) => JSON.parse(json ?? "").choices[0].delta.content,
    )
    expect(said.join("")).toBe(Array.from({ length: 200 }, (_, at) => `w${at} `).join(""))
    expect(text).toContain("[DONE]")
  })

  for (const [name, stream, speaks] of [
    ["unary, while the host is silent", false, false],
    ["stream, while the host is silent", true, false],
    ["stream, in the middle", true, true],
  ] as const)
    test(`a caller leaves: ${name}`, async () => {
      const { url, headers, host, reserved, rows } = await start((peer) => {
        if (speaks) {
          peer.write(streamHead)
          peer.write(delta("one"))
        }
      })
      const caller = rawCaller(url)
      caller.send(requestOf("POST /api/v1/chat/completions", headers, body(stream)))
      if (speaks) await caller.until((got) => got.includes("one"))
      else await until(() => host.requests() === 1, "the call")
      caller.hangUp()
      await until(() => host.open() === 0, "the host's connection")
      await until(async () => (await reserved()) === 0n, "the release")
      expect((await rows()).map(({ outcome }) => outcome)).toEqual(["caller-gone"])
    })

  for (const stream of [false, true])
    test(`a request that runs when the app stops gets its answer: ${stream ? "a stream without a head yet" : "unary"}`, async () => {
      const peers: Array<Peer> = []
      const { url, headers, host, stop } = await start((peer) => void peers.push(peer))
      const answer = fetch(`${url}/chat/completions`, { method: "POST", headers, body: body(stream) })
      await until(() => host.requests() === 1, "the call")
      const stopped = stop()
      const refused = await fetch(`${url}/chat/completions`, { method: "POST", headers, body: body(false) })
      expect(refused.status).toBe(503)
      for (const peer of peers) {
        if (!stream) peer.write(whole)
        else for (const part of [streamHead, delta("one"), tail]) peer.write(part)
      }
      const response = await answer
      expect([response.status, await response.text()]).toEqual([
        200,
        expect.stringContaining(stream ? "[DONE]" : '"cost"'),
      ])
      await stopped
    })

  test("a caller who takes nothing is cut, and the host is not read on", async () => {
    const pad = "x".repeat(60_000)
    const { url, headers, host, reserved } = await start(
      (peer) => {
        peer.write(streamHead)
        for (let at = 0; at < 500; at++) peer.write(delta(pad))
      },
      { client_stall_ms: 300 },
    )
    const socket = await Bun.connect({
      hostname: "127.0.0.1",
      port: Number(new URL(url).port),
      socket: { data: (socket) => socket.pause(), error: () => {} },
    })
    socket.write(requestOf("POST /api/v1/chat/completions", headers, body(true)))
    await until(() => host.requests() === 1, "the call")
    await until(() => host.open() === 0, "the cut")
    await until(async () => (await reserved()) === 0n, "the release")
    socket.terminate()
  })

  test("other methods have documented answers", async () => {
    const { url, headers } = await start(() => {})
    for (const method of ["HEAD", "GET", "PUT", "DELETE"])
      expect((await fetch(`${url}/chat/completions`, { method, headers })).status).toBe(404)
    expect((await fetch(`${url}/chat/completions`, { method: "OPTIONS" })).status).toBe(204)
  })
})
