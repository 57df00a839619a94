/** What the journal keeps of requests that end without a charge. docs/guarantees.md#g2 */
import { expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { ManualClock } from "../../support/clocks/manualClock.ts"
import { until } from "../../support/clocks/until.ts"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import { configFor, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"
import { lastingStorage } from "../../support/storage/lastingStorage.ts"

closeAfterEach()

test("a request that was released leaves no entry, which a crash would have made an orphan of", async () => {
  const clock = new ManualClock()
  const answer = Promise.withResolvers<Response>()
  const host = opened(scriptedHost((_body, _request, call) => (call === 1 ? answer.promise : wholeAnswer("hi"))))
  const gateway = await startWatched({
    config: configFor({ acme: host }),
    storage: lastingStorage,
    setting: Layer.setClock(clock),
  })
  const entries = () =>
    gateway.run(
      Effect.map(
        Effect.flatMap(Storage, ({ journal }) => journal.orphans(Number.MAX_SAFE_INTEGER, 100)),
        (orphans) => orphans.length,
      ),
    )
  const ask = () => gateway.chat({ model: "acme/small", messages: [{ role: "user", content: "hi" }], max_tokens: 10 })
  const ticking = async (expected: number) =>
    until(async () => {
      clock.advance(1000)
      return (await entries()) === expected
    })
  const waiting = ask()
  await until(() => host.calls.length === 1, "the call")
  await ticking(1)
  answer.resolve(Response.json({ error: { message: "no" } }, { status: 500 }))
  expect((await waiting).status).toBe(502)
  await ticking(0)
})
