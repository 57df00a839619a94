/** Asks once a second for what was written since, until the command is interrupted. */
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import type { CommandFailed } from "../CommandFailed.ts"
import type { Gateway } from "../gatewayClient.ts"
import { Page } from "./requestRecords.ts"

const everySecond = Schedule.spaced("1 second")

/** Ids of requests that were shown: one that got a record after its row was shown comes again. */
const mostRemembered = 10_000

/** Ends when the terminal's user presses Ctrl-C, or the process is asked to end. */
const interrupted = Effect.async<void>((resume) => {
  const end = () => resume(Effect.void)
  process.once("SIGINT", end)
  process.once("SIGTERM", end)
  return Effect.sync(() => {
    process.off("SIGINT", end)
    process.off("SIGTERM", end)
  })
})

export interface Following {
  /** The filters, as a query string: "" or `&status=4xx…`. */
  readonly filters: string
  /** Of the answer before. */
  readonly position: string
  /** Called with requests that were not shown before, in the order in which they were written. */
  readonly show: (data: ReadonlyArray<unknown>) => Effect.Effect<void, CommandFailed>
  /** Requests that were shown before. */
  readonly shown: ReadonlyArray<unknown>
}

const idOf = (one: unknown): string =>
  typeof one === "object" && one !== null && "request_id" in one ? String(one.request_id) : ""

export const follow = (
  gateway: Gateway,
  { filters, position, show, shown }: Following,
): Effect.Effect<void, CommandFailed> => {
  const seen = new Set(shown.map(idOf))
  let at = position
  const round = Effect.gen(function* () {
    const path = `/requests?position=${at}&limit=1000${filters}`
    const page = yield* gateway.call({ method: "GET", path }, Page)
    at = page.position
    const fresh = page.data.filter((one) => !seen.has(idOf(one)))
    for (const one of fresh) seen.add(idOf(one))
    for (const id of seen) {
      if (seen.size <= mostRemembered) break
      seen.delete(id)
    }
    if (fresh.length > 0) yield* show(fresh)
  })
  // It listens before the first question is sent.
  return Effect.raceFirst(interrupted, Effect.asVoid(Effect.repeat(round, everySecond)))
}
