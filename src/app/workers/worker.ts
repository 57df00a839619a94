/** What a worker process knows of its supervisor (`processes.ts` is the other side). */
import * as HttpServer from "@effect/platform/HttpServer"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { onProcess } from "./processEvents.ts"

/** Set by the supervisor for the processes that it starts: their number. */
export const numberVariable = "HEADGATE_WORKER"

/** What a worker sends once it serves. */
export const Serving = Schema.Struct({ port: Schema.Number })

/** What a worker sends when it has stopped: how many requests ran at the stop, and how many of them the gateway cut off. */
export const Stopped = Schema.Struct({ running: Schema.Number, cut: Schema.Number })

/** What a worker sends every second, while its event loop runs. */
export const Beat = Schema.Struct({ beat: Schema.Literal(true) })

/** Sends a heartbeat to the supervisor, if there is one. */
export const sendBeat = (): void => {
  if (process.connected) process.send?.({ beat: true } satisfies typeof Beat.Type)
}

/** The number of this worker; `undefined` in a process that no supervisor has started. */
export const workerNumber = (): number | undefined =>
  process.send === undefined ? undefined : Number(process.env[numberVariable] ?? Number.NaN) || undefined

/** Ends this worker as SIGTERM does when its supervisor has gone, until the scope closes. */
export const endWithSupervisor: Effect.Effect<void, never, Scope.Scope> = Effect.suspend(() => {
  const end = () => {
    process.kill(process.pid, "SIGTERM")
  }
  return process.connected ? onProcess("disconnect", end) : Effect.sync(end)
})

/** Tells the supervisor that this worker serves. */
export const reportServing: Layer.Layer<never, never, HttpServer.HttpServer> = Layer.effectDiscard(
  Effect.map(HttpServer.HttpServer, ({ address }) => {
    if (address._tag === "TcpAddress") process.send?.({ port: address.port } satisfies typeof Serving.Type)
  }),
)

/** Tells the supervisor what became of the requests. */
export const reportStopped = (stopped: typeof Stopped.Type): Effect.Effect<void> =>
  Effect.async<void>((resume) => {
    if (process.send === undefined || !process.connected) resume(Effect.void)
    else process.send(stopped, undefined, undefined, () => resume(Effect.void))
  }).pipe(Effect.timeoutOption("1 second"), Effect.asVoid)
