/** What makes this process read its configuration again, besides `POST /config/reload`: SIGHUP, and its supervisor. */
import { isatty } from "node:tty"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import type { Actor } from "../../domain/keys/Audit.ts"
import { ConfigReload } from "../../services/hosts/ConfigReload.ts"

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

let reloadNow: (() => void) | undefined
let isAsked = false

/**
 * From now on SIGHUP does not end the process: until `onHangup` is called, it is remembered. A terminal that is closed sends it too:
 * then the process ends as with SIGTERM.
 */
export const awaitHangup = (): void => {
  const hadTerminal = isatty(0)
  process.on("SIGHUP", () => {
    if (hadTerminal && !isatty(0)) process.kill(process.pid, "SIGTERM")
    else if (reloadNow === undefined) isAsked = true
    else reloadNow()
  })
}

/** Calls `reload` at SIGHUP, and now if it came before. */
export const onHangup = (reload: () => void): void => {
  reloadNow = reload
  if (isAsked) reload()
}

const isOrder = Schema.is(ReloadOrder)

/** Failures are logged by the reload itself, and change nothing. */
export const reloads: Layer.Layer<never, never, ConfigReload> = Layer.scopedDiscard(
  Effect.gen(function* () {
    const { reload } = yield* ConfigReload
    const asked = yield* Queue.unbounded<Actor | null>()
    onHangup(() => asked.unsafeOffer("signal"))
    process.on("message", (message) => {
      if (isOrder(message)) asked.unsafeOffer(message.reload.isFirst ? "signal" : null)
    })
    const next = Effect.flatMap(Queue.take(asked), (actor) => Effect.exit(reload(actor)))
    yield* Effect.forkScoped(Effect.forever(next))
  }),
)
