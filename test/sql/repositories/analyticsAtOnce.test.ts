/** What is told while others write: each answer is of one moment. */
import { expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import { hourMs } from "../../../src/domain/money/activity.ts"
import type { AnalyticsQuestion } from "../../../src/domain/money/analytics.ts"
import { firstTokenFigures } from "../../../src/domain/money/firstTokens.ts"
import type { RequestRecord } from "../../../src/services/storage/requests.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { describePostgres, makeDatabase, postgresAt } from "../../support/storage/postgres.ts"
import { alice, sampleRow } from "../samples.ts"

const monday = Date.UTC(2026, 10, 23)
const host = { host: "acme/eu", provider: "acme" }
const question: AnalyticsQuestion = {
  ...{ from: monday, to: monday + 50 * hourMs, interval: "hour", by: "host", filter: {}, limit: 10 },
}
const record = (n: number): RequestRecord => ({
  ...{
    requestId: `failed${n}`,
    generationId: null,
    callerRequestId: "",
    createdAt: monday + (n % 50) * hourMs,
    key: alice,
  },
  ...{ appTitle: "", appUrl: "", userHash: "", route: "POST /api/v1/chat/completions", form: "chat" },
  ...{ model: "acme/small", host: "acme/eu", status: 502, outcome: "host_unavailable", why: "", streamed: false },
  ...{ attempts: [], times: {}, durationMs: 1, bytesIn: 1, bytesOut: 1, address: null, requests: 1 },
  ...{ strategy: "", seed: 0, routed: "" },
})
const requestsIn = (points: ReadonlyArray<{ readonly requests: number }>) =>
  points.reduce((all, { requests }) => all + requests, 0)

describePostgres("in PostgreSQL, while rows and records are written and added up", () => {
  test("failures of a group are no more than those of all, and no first token is missing for a moment", async () => {
    const database = await makeDatabase()
    await Effect.gen(function* () {
      const { ledger, requests, analytics } = yield* Storage
      let [rows, records, reads] = [0, 0, 0]
      const untilRead = { while: () => reads < 150 }
      const writing = Effect.suspend(() => {
        const batch = Array.from({ length: 256 }, (_, n) =>
          sampleRow(`r${rows + n}`, { admittedAt: monday + (n % 50) * hourMs, settledAt: monday }),
        )
        rows += batch.length
        return ledger.append(batch)
      })
      const recording = Effect.suspend(() => requests.add([record(records++), record(records++)]))
      const adding = Effect.zipRight(analytics.addUp(monday), Effect.sleep("5 millis"))
      let before = 0
      const reading = Effect.gen(function* () {
        const { points, groups } = yield* analytics.failures(question, [host])
        expect(requestsIn(groups.flat())).toBe(requestsIn(points))
        const { all } = yield* analytics.firstTokens(question, [])
        const count = firstTokenFigures(all.counts)?.count ?? 0
        expect(count).toBeGreaterThanOrEqual(before)
        before = count
        reads += 1
      })
      const all = [writing, recording, adding, reading].map((one) => Effect.repeat(one, untilRead))
      yield* Effect.all(all, { concurrency: "unbounded", discard: true })
    }).pipe(Effect.provide(postgresAt(database)), Effect.runPromise)
  }, 1_800_000)
})
