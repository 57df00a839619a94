/** Sessions that have ended are removed, by a loop of the service. What a session is: test/http/control/sessions.test.ts. */
import { expect, test } from "bun:test"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { KeyId } from "../../../src/domain/ids.ts"
import { KeyStore } from "../../../src/services/keys/KeyStore.ts"
import { Sessions } from "../../../src/services/keys/Sessions.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { ManualClock } from "../../support/clocks/manualClock.ts"
import { until } from "../../support/clocks/until.ts"
import { memoryStorage } from "../../support/storage/lastingStorage.ts"

const minute = 60_000

test("sessions that have ended are removed every quarter of an hour, any number of them, and no others", async () => {
  const clock = new ManualClock()
  const scope = await Effect.runPromise(Scope.make())
  const layer = Sessions.layer.pipe(
    Layer.provide(KeyStore.layer()),
    Layer.provideMerge(memoryStorage),
    Layer.provide(Layer.setClock(clock)),
  )
  const { sessions } = Context.get(await Effect.runPromise(Layer.buildWithScope(layer, scope)), Storage)
  const at = clock.unsafeCurrentTimeMillis()
  const insert = (id: string, seenAt: number) =>
    sessions.insert({ id, secret: KeyId.make(id), createdAt: at, seenAt }, 9, undefined)
  await Effect.runPromise(
    Effect.forEach(
      Array.from({ length: 501 }, (_, n) => `old ${n}`),
      (id) => insert(id, at),
    ),
  )
  await Effect.runPromise(insert("used", at + 20 * minute))
  const isThere = (id: string) => Effect.runPromise(Effect.map(sessions.find(id), (found) => found !== undefined))

  const nextRound = async () => {
    await until(() => clock.dueIn().length > 0, "the wait for the next round")
    clock.advance(15 * minute)
  }
  await nextRound()
  await until(() => clock.dueIn().length > 0)
  expect(await isThere("old 0")).toBe(true)
  await nextRound()
  await until(async () => !(await isThere("old 500")), "the removal")
  expect([await isThere("old 0"), await isThere("used")]).toEqual([false, true])
  await Effect.runPromise(Scope.close(scope, Exit.void))
})
