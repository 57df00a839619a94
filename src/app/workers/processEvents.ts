/** Events of this process: signals, messages of a supervisor, what was thrown and not caught. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

export type ProcessEvent = "SIGHUP" | "disconnect" | "exit" | "message" | "uncaughtException" | "unhandledRejection"

/** Calls `listener` at each event, until the scope closes. */
export const onProcess = (
  event: ProcessEvent,
  listener: (value: unknown) => void,
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.sync(() => process.on(event, listener)),
      () => Effect.sync(() => process.off(event, listener)),
    ),
  )

const stopSignals = ["SIGTERM", "SIGINT"] as const

/**
 * Calls `listener` at each SIGTERM and SIGINT, until the scope closes. A process that has received one keeps the listener until it exits: the
 * same signal often comes twice, and without a listener the second one would end the process with another exit code. So would SIGHUP, which
 * service managers send after SIGTERM.
 */
export const onStopSignal = (
  listener: (signal: (typeof stopSignals)[number]) => void,
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.sync(() => {
        const state = { isStopping: false }
        const received = (signal: (typeof stopSignals)[number]): void => {
          if (!state.isStopping) process.on("SIGHUP", () => {})
          state.isStopping = true
          listener(signal)
        }
        for (const signal of stopSignals) process.on(signal, received)
        return { state, received }
      }),
      ({ state, received }) =>
        Effect.sync(() => {
          if (state.isStopping) return
          for (const signal of stopSignals) process.off(signal, received)
        }),
    ),
  )
