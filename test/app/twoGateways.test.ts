/** The gateway has no global state, so two of them in one program are independent. */
import { expect, test } from "bun:test"
import * as HttpServer from "@effect/platform/HttpServer"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import * as Gateway from "../../src/app/Gateway.ts"
import { decodeConfig } from "../../src/config/loadConfig.ts"
import { KeyId } from "../../src/domain/ids.ts"
import { KeyStore } from "../../src/services/keys/KeyStore.ts"
import { Storage } from "../../src/services/storage/Storage.ts"
import { layer as memoryStorage } from "../../src/sql/sqlite/MemoryStorage.ts"
import { Upstream } from "../../src/upstream/Upstream.ts"
import { ownPlugins } from "../support/gateways/gateway.ts"

/** One gateway as a service of the program, so that two of them can stand side by side in one layer. */
class First extends Context.Tag("test/First")<First, Context.Context<KeyStore | Storage | HttpServer.HttpServer>>() {}
class Second extends Context.Tag("test/Second")<
  Second,
  Context.Context<KeyStore | Storage | HttpServer.HttpServer>
>() {}

test("two gateways of one program share neither ledger nor keys", async () => {
  const plugins = await Effect.runPromise(ownPlugins)
  const config = await Effect.runPromise(decodeConfig({ server: { port: 0, drain_s: 0 } }))
  const gateway = <I>(tag: Context.Tag<I, Context.Context<KeyStore | Storage | HttpServer.HttpServer>>) =>
    Layer.effect(tag, Effect.context<KeyStore | Storage | HttpServer.HttpServer>()).pipe(
      Layer.provide(Gateway.serve(config)),
      Layer.provide(Gateway.servicesOf({ plugins, config })),
      Layer.provide(Layer.fresh(KeyStore.layer())),
      Layer.provide(Layer.fresh(memoryStorage)),
    )
  const program = Layer.mergeAll(gateway(First), gateway(Second)).pipe(
    Layer.provide([Upstream.layer, Logger.remove(Logger.defaultLogger)]),
  )
  const scope = Effect.runSync(Scope.make())
  const built = await Effect.runPromise(Layer.buildWithScope(program, scope))

  const ask = async (context: Context.Context<KeyStore | Storage | HttpServer.HttpServer>) => {
    const { secret, record } = await Effect.runPromise(
      Context.get(context, KeyStore).create({ kind: "ordinary", name: "test" }),
    )
    const { address } = Context.get(context, HttpServer.HttpServer)
    const url = `http://127.0.0.1:${address._tag === "TcpAddress" ? address.port : 0}/api/v1`
    const headers = { authorization: `Bearer ${Redacted.value(secret)}`, "content-type": "application/json" }
    const body = JSON.stringify({ model: "headgate/echo", messages: [{ role: "user", content: "hello" }] })
    const chat = await fetch(`${url}/chat/completions`, { method: "POST", headers, body })
    const status = await fetch(`${url}/auth/key`, { headers })
    const rows = await Effect.runPromise(Context.get(context, Storage).ledger.rows(KeyId.make(record.id), 10))
    return { chat: chat.status, status: status.status, rows: rows.length }
  }
  expect(await ask(Context.get(built, First))).toEqual({ chat: 200, status: 200, rows: 1 })
  expect(await ask(Context.get(built, Second))).toEqual({ chat: 200, status: 200, rows: 1 })
  await Effect.runPromise(Scope.close(scope, Exit.void))
})
