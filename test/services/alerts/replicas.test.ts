/** Several gateways on one database tell each alert once. docs/alerts.md */
import { afterEach, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import type { DataAtRest } from "../../../src/services/storage/Storage.ts"
import { openDatabase } from "../../../src/sql/postgres/postgresDatabase.ts"
import { ManualClock } from "../../support/clocks/manualClock.ts"
import { startAlerts } from "../../support/gateways/alertRig.ts"
import { startReceiver } from "../../support/hosts/webhookReceiver.ts"
import { describePostgres, makeDatabase, redactedUrlOf } from "../../support/storage/postgres.ts"

const closing: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const opened = async (database: string): Promise<DataAtRest> => {
  const scope = Effect.runSync(Scope.make())
  closing.push(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  return Effect.runPromise(
    openDatabase({ url: redactedUrlOf(database), durability: "process" }).pipe(
      Scope.extend(scope),
      Effect.provide(Logger.remove(Logger.defaultLogger)),
    ),
  )
}

const breaker = { host: "acme/eu", model: "acme/small", reason: "unreachable", openMs: 300_000 } as const

describePostgres("two gateways on one database of PostgreSQL", () => {
  test("send one webhook when both see it, and one when neither does any more", async () => {
    const hears = await startReceiver()
    closing.push(hears.close)
    const database = await makeDatabase()
    const clock = new ManualClock()
    const alerts = { webhooks: [{ url: hears.url, format: "slack", network: "private" }] }
    const rigs = [
      await startAlerts(alerts, await opened(database), { clock }),
      await startAlerts(alerts, await opened(database), { clock }),
    ] as const
    for (const { stop } of rigs) closing.push(stop)
    const [one, other] = rigs
    /** Both clocks are one. */
    const rounds = async (count: number) => {
      for (let round = 0; round < count; round++) {
        await one.rounds(1)
        await other.settle()
      }
    }
    one.seen.breakers = [breaker]
    other.seen.breakers = [breaker]
    // Both know of it, and send at the same moment.
    await rounds(4)
    await hears.called(1)
    expect(hears.calls).toHaveLength(1)
    one.seen.breakers = []
    await rounds(10)
    expect(hears.calls).toHaveLength(1)
    other.seen.breakers = []
    await rounds(8)
    await hears.called(2)
    await rounds(4)
    expect(hears.calls.map(({ json }) => /^\w+/.exec(String(json["text"]))?.[0])).toEqual(["Warning", "Resolved"])
    const told = rigs.flatMap(({ log }) => log.filter((line) => line.includes('"event":"alert_')))
    expect(told).toHaveLength(2)
  })
})
