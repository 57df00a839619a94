/** What makes this process read its configuration again, besides `POST /config/reload`: SIGHUP, and its supervisor. */
import { isatty } from "node:tty"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import type { Actor } from "../../domain/keys/audit.ts"
import { ConfigReload } from "../../services/hosts/ConfigReload.ts"
import { onProcess } from "./processEvents.ts"

/**
 * What a supervisor sends to a worker. `isFirst`: SIGHUP came; once this worker has reloaded, it asks for the others. Otherwise one of
 * those has reloaded.
 */
export const ReloadOrder = Schema.Struct({ reload: Schema.Struct({ isFirst: Schema.Boolean }) })

/** What a worker sends that has reloaded: the others are to do the same. */
export const OthersToReload = Schema.Struct({ othersReload: Schema.Literal(true) })

/** Asks the supervisor, where there is one. */
export const tellOthers = (): void => {
  if (process.connected) process.send?.({ othersReload: true } satisfies typeof OthersToReload.Type)
}

/** SIGHUP, which asks this process to read its configuration again. */
export class Hangup extends Context.Tag("headgate/Hangup")<
  Hangup,
  {
    /** Calls `reload` at each SIGHUP from now on, in place of an earlier one, and now if it came before. */
    readonly onHangup: (reload: () => void) => void
  }
>() {
  /**
   * Until the scope closes SIGHUP does not end the process: until `onHangup` is called, it is remembered. A terminal that is closed
   * sends it too: then the process ends as with SIGTERM.
   */
  static readonly layer: Layer.Layer<Hangup> = Layer.scoped(
    Hangup,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const hadTerminal = isatty(0)
  let reloadNow: (() => void) | undefined
  let isAsked = false
  yield* onProcess("SIGHUP", () => {
    if (hadTerminal && !isatty(0)) process.kill(process.pid, "SIGTERM")
    else if (reloadNow === undefined) isAsked = true
    else reloadNow()
  })
  return Hangup.of({
    onHangup: (reload) => {
      reloadNow = reload
      if (isAsked) reload()
    },
  })
})

const isOrder = Schema.is(ReloadOrder)

/** Failures are logged by the reload itself, and change nothing. */
export const reloads: Layer.Layer<never, never, ConfigReload | Hangup> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const { reload } = yield* ConfigReload
    const { onHangup } = yield* Hangup
    const asked = yield* Queue.unbounded<Actor | null>()
    onHangup(() => asked.unsafeOffer("signal"))
    yield* onProcess("message", (message) => {
      if (isOrder(message)) asked.unsafeOffer(message.reload.isFirst ? "signal" : null)
    })
    const next = Effect.flatMap(Queue.take(asked), (actor) => Effect.exit(reload(actor)))
    yield* Effect.forkScoped(Effect.forever(next))
  }),
)
