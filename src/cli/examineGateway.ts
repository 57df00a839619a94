/** Whether the gateway of this configuration runs, takes requests, and is of the version of this program. */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type { GatewayConfig } from "../config/GatewayConfig.ts"
import { localUrl } from "../config/localUrl.ts"
import { version as own } from "../version.ts"
import type { Finding } from "./doctor.ts"
import { withoutProxy } from "./gatewayClient.ts"
import { plain } from "./output.ts"

const patienceMs = 5000

const Healthy = Schema.parseJson(Schema.Struct({ status: Schema.Literal("ok") }))
const Refusal = Schema.parseJson(Schema.Struct({ error: Schema.Struct({ message: Schema.String }) }))
const Version = Schema.parseJson(Schema.Struct({ data: Schema.Struct({ version: Schema.String }) }))

export const examineGateway = ({ server }: GatewayConfig): Effect.Effect<ReadonlyArray<Finding>> =>
  Effect.gen(function* () {
    const base = localUrl(server)
    withoutProxy(base)
    const finding = (state: Finding["state"], what: string): ReadonlyArray<Finding> => [
      { of: "gateway", state, what: plain(what) },
    ]
    const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
      Effect.option(
        Effect.tryPromise(async () => {
          const signal = AbortSignal.timeout(patienceMs)
          const response = await fetch(base + path, { headers, redirect: "error", signal })
          return { status: response.status, text: await response.text() }
        }),
      )
    const alive = yield* get("/healthz")
    if (alive._tag === "None") return finding("warning", `none answers at ${base}`)
    const isOurs = alive.value.status === 200 && Either.isRight(Schema.decodeEither(Healthy)(alive.value.text))
    if (!isOurs) return finding("wrong", `another program answers at ${base}`)
    const ready = yield* get("/readyz")
    if (ready._tag === "None" || ready.value.status !== 200) {
      const said = ready._tag === "None" ? undefined : Schema.decodeOption(Refusal)(ready.value.text)
      const why = said?._tag === "Some" ? said.value.error.message : "it does not say why"
      return finding("wrong", `runs at ${base} and takes no requests: ${why}`)
    }
    const key = process.env["HEADGATE_MANAGEMENT_KEY"] ?? ""
    if (key === "") return finding("ok", `runs at ${base}; its version is told only with HEADGATE_MANAGEMENT_KEY`)
    const told = yield* get("/api/v1/version", { authorization: `Bearer ${key}` })
    if (told._tag === "Some" && (told.value.status === 401 || told.value.status === 403))
      return finding("wrong", `runs at ${base}, and HEADGATE_MANAGEMENT_KEY is no management key of it`)
    const version = told._tag === "Some" ? Schema.decodeOption(Version)(told.value.text) : told
    if (version._tag === "None")
      return finding("warning", `runs at ${base}, in a version that is older than this program`)
    const running = version.value.data.version
    return running === own
      ? finding("ok", `runs at ${base}, version ${own}`)
      : finding("warning", `runs at ${base} in version ${running}; this program is ${own}`)
  })
