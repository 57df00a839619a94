/** Whether the gateway of this configuration runs, takes requests, and is of the version of this program. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { probeGateway } from "../../app/start/probeGateway.ts"
import type { GatewayConfig } from "../../config/GatewayConfig.ts"
import { localUrl } from "../../config/localUrl.ts"
import { version as own } from "../../process/version.ts"
import { plain } from "../output.ts"
import type { Finding } from "./Finding.ts"

const Refusal = Schema.parseJson(Schema.Struct({ error: Schema.Struct({ message: Schema.String }) }))
const Version = Schema.parseJson(Schema.Struct({ data: Schema.Struct({ version: Schema.String }) }))

export const examineGateway = ({ server }: GatewayConfig): Effect.Effect<ReadonlyArray<Finding>> =>
  Effect.gen(function* () {
    const base = localUrl(server)
    const finding = (state: Finding["state"], what: string): ReadonlyArray<Finding> => [
      { of: "gateway", state, what: plain(what) },
    ]
    const get = (path: string, headers: Readonly<Record<string, string>> = {}) =>
      Effect.promise(() => probeGateway(base, path, headers))
    const alive = yield* get("/healthz")
    if (alive === undefined) return finding("warning", `none answers at ${base}`)
    if (!alive.isGateway) return finding("wrong", `another program answers at ${base}`)
    const ready = yield* get("/readyz")
    if (ready?.status !== 200) {
      const said = Schema.decodeOption(Refusal)(ready?.text ?? "")
      const why = said._tag === "Some" ? said.value.error.message : "it does not say why"
      return finding("wrong", `runs at ${base} and takes no requests: ${why}`)
    }
    const key = (process.env["HEADGATE_MANAGEMENT_KEY"] ?? "").trim()
    if (key === "") return finding("ok", `runs at ${base}; its version is told only with HEADGATE_MANAGEMENT_KEY`)
    const told = yield* get("/api/v1/version", { authorization: `Bearer ${key}` })
    if (told?.status === 401 || told?.status === 403)
      return finding("wrong", `runs at ${base}, and HEADGATE_MANAGEMENT_KEY is no management key of it`)
    const version = Schema.decodeOption(Version)(told?.text ?? "")
    if (version._tag === "None")
      return finding("warning", `runs at ${base}, in a version that is older than this program`)
    const running = version.value.data.version
    return running === own
      ? finding("ok", `runs at ${base}, version ${own}`)
      : finding("warning", `runs at ${base} in version ${running}; this program is ${own}`)
  })
