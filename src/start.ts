/** What the terminal is told when the gateway starts, or does not. Exit codes are those of sysexits.h. G20 to G22. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { GatewayConfig } from "./config/GatewayConfig.ts"
import { ConfigInvalid } from "./domain/Problem.ts"
import { InFlight } from "./services/InFlight.ts"
import { StorageNotOpened } from "./sql/SqliteStorage.ts"

export const exitCodeOf = (refusal: unknown): number => {
  if (refusal instanceof ConfigInvalid) return 78
  if (refusal instanceof StorageNotOpened)
    return refusal.reason === "in-use" || refusal.reason === "unwritable" ? 73 : 65
  return notServed(refusal) === undefined ? 70 : 69
}

/** Why the port could not be had, in a line; `undefined`: it is something else that went wrong. */
export const notServed = (defect: unknown): string | undefined =>
  defect instanceof Error && "code" in defect && typeof defect.code === "string" && /^EADDR|^EACCES/.test(defect.code)
    ? `server: cannot listen: ${defect.message}`
    : undefined

/** The first signal drains, the second ends what still runs: it settles all the same. G19. */
export const hurryAtSecondSignal = Layer.effectDiscard(
  Effect.map(InFlight, ({ cut }) => {
    let signals = 0
    const count = () => {
      signals += 1
      if (signals > 1) cut()
    }
    for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, count)
  }),
)

/** A promise that a plugin forgot must not stop the gateway: it is reported, and the others go on. G33. */
export const outliveRejections = (): void => {
  process.on("unhandledRejection", (reason) => {
    process.stderr.write(
      `unhandled rejection: ${reason instanceof Error ? (reason.stack ?? reason.message) : String(reason)}\n`,
    )
  })
}

const poolVariable = "BUN_CONFIG_MAX_HTTP_REQUESTS"

/** What the operator should know of the runtime, a sentence each. */
export const runtimeWarnings = ({ limits }: GatewayConfig): ReadonlyArray<string> => {
  const pool = Number(process.env[poolVariable] ?? 256)
  const proxy =
    process.env["HTTPS_PROXY"] ?? process.env["https_proxy"] ?? process.env["HTTP_PROXY"] ?? process.env["http_proxy"]
  return [
    ...(pool < limits.maxInFlight
      ? [
          `Bun calls at most ${pool} hosts at once, limits.max_in_flight is ${limits.maxInFlight}: ` +
            `set ${poolVariable}=${Math.max(4096, limits.maxInFlight)} before the process starts, as \`bun start\` does.`,
        ]
      : []),
    ...(proxy === undefined ? [] : ["HTTP_PROXY or HTTPS_PROXY is set: hosts are called through that proxy."]),
  ]
}
