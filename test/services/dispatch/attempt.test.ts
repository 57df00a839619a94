/** What those who observe a request are told of one try of it. docs/guarantees.md#g37 */
import { expect, test } from "bun:test"
import { Attempt } from "../../../src/services/dispatch/Attempt.ts"
import type { Permit } from "../../../src/services/hosts/HostHealth.ts"
import type { Reservation } from "../../../src/services/money/Reservation.ts"
import { Observation } from "../../../src/services/request/Observation.ts"
import { requestContext } from "../../support/gateways/requestContext.ts"
import { hostFor } from "../../support/recordings/recordings.ts"

test("began before its request where the process was held up amid its end: the time of its beginning is kept", () => {
  // Each look at the clock finds the process held up for 10 ms more.
  let now = 0
  const nowMs = () => (now += 10)
  const observed = new Observation(0, nowMs)
  const context = requestContext("a key", { observed }, nowMs)
  const permit = { release: () => {} } as Permit
  const attempt = new Attempt(context, hostFor("upstream"), {} as Reservation, permit, undefined, [], undefined, [])
  const began = now - observed.startedMs
  attempt.close("finished")
  expect(observed.attempts).toMatchObject([{ outcome: "finished", began, firstEvent: null }])
})
