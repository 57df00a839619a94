/** The first start of an installation: makes two keys, and shows them with a working command line in the terminal or a file, never in the log. */
import * as HttpServer from "@effect/platform/HttpServer"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { ProviderRegistry } from "../../catalogue/ProviderRegistry.ts"
import type { LoadedConfig } from "../../config/loadConfig.ts"
import { localUrl } from "../../config/localUrl.ts"
import { KeyStore } from "../../services/keys/KeyStore.ts"
import { Storage } from "../../services/storage/Storage.ts"
import { placeOfFirstKeys, warnOfFirstKeys } from "./firstKeys.ts"

/**
 * Shows the address of the gateway, and what `summary` says of it, given its port. At the first start, unless the operator
 * configured a key, makes two keys and shows them.
 */
export const firstStart = (
  { managementKey, config }: Pick<LoadedConfig, "managementKey" | "config">,
  summary: (port: number) => Effect.Effect<string>,
): Layer.Layer<never, never, HttpServer.HttpServer | KeyStore | ProviderRegistry | Storage> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { address } = yield* HttpServer.HttpServer
      const storage = yield* Storage
      const keys = yield* KeyStore
      const registry = yield* ProviderRegistry
      const port = address._tag === "TcpAddress" ? address.port : config.server.port
      const base = `${localUrl({ hostname: config.server.hostname, port })}/api/v1`
      say(`headgate listens at ${base}`)
      process.stdout.write(yield* summary(port))
      yield* warnOfFirstKeys(config)
      if (managementKey !== null || (yield* Effect.orDie(storage.keys.countManagement())) > 0) return
      const place = yield* placeOfFirstKeys(config)
      if (place === undefined) return
      // Of several gateways that start on one new database, one makes the keys.
      const management = yield* Effect.orDie(keys.createFirst("first management key")).pipe(
        Effect.onError(() => place.discard),
      )
      if (management === undefined) return yield* place.discard
      const managementLine = `  management key   ${Redacted.value(management.secret)}\n`
      const ordinary = yield* Effect.orDie(keys.create({ kind: "ordinary", name: "first key" })).pipe(
        // The management key exists nowhere else, and the next start makes no other.
        Effect.onError(() => place.tell(managementLine)),
      )
      const { models } = registry.current()
      const model =
        models.find(({ hosts }) => hosts.some(({ provider }) => provider === "echo")) ??
        models.find(({ hosts }) => hosts.some((host) => registry.endpoint(host) !== undefined))
      yield* place.tell(`${managementLine}  ordinary key     ${Redacted.value(ordinary.secret)}

Try it:

  curl ${base}/chat/completions -H "Authorization: Bearer ${Redacted.value(ordinary.secret)}" -H "Content-Type: application/json" -d '{"model": "${model?.id ?? "headgate/echo"}", "messages": [{"role": "user", "content": "Hello, gateway!"}]}'
`)
    }),
  )

const say = (text: string): void => {
  process.stdout.write(`${text}\n`)
}
