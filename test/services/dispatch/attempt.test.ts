/** What those who observe a request are told of one try of it. docs/guarantees.md#g37 */
import { expect, test } from "bun:test"
import { KeyId } from "../../../src/domain/ids.ts"
import { Attempt } from "../../../src/services/dispatch/Attempt.ts"
import type { Batch } from "../../../src/services/dispatch/batch/Batch.ts"
import type { Permit } from "../../../src/services/hosts/Permit.ts"
import type { Reservation } from "../../../src/services/money/Reservation.ts"
import { answerBytes } from "../../../src/services/request/AnswerBytes.ts"
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

test("a batch whose first part ended while too many bytes were kept: the answer to its next part is held back as any other", () => {
  const context = requestContext("a key that keeps much")
  const permit = { release: () => {} } as Permit
  const attempt = new Attempt(context, hostFor("upstream"), {} as Reservation, permit, undefined, [], undefined, [])
  const exchange = () => {
    const made = {
      paused: 0,
      pause: () => {
        made.paused += 1
      },
      resume: () => {},
      drain: () => {},
      cancel: () => {},
    }
    return made
  }
  const source = { holdBack: () => {}, goOn: () => {} }
  const oldest = answerBytes.begin(context.key.id, source)
  oldest.add(70_000_000)
  try {
    const first = exchange()
    attempt.exchange = first
    attempt.hold(700_000)
    expect([first.paused, attempt.isLeftUnread]).toEqual([1, true])
    attempt.batch = { bytesRead: 700_000 } as Batch
    attempt.callsAgain()
    const second = exchange()
    attempt.exchange = second
    expect(attempt.isLeftUnread).toBe(false)
    attempt.hold(10)
    expect([second.paused, attempt.isLeftUnread]).toEqual([1, true])
  } finally {
    attempt.close("failed")
    oldest.release()
  }
  expect(answerBytes.bytes).toBe(0)
})

test("an answer of 100 kB that is written to a slow caller is no answer that is still read, for which all others wait", () => {
  const context = requestContext("a slow key")
  const permit = { release: () => {} } as Permit
  const attempt = new Attempt(context, hostFor("upstream"), {} as Reservation, permit, undefined, [], undefined, [])
  attempt.hold(100_000)
  attempt.close("finished")
  let isRead = true
  const other = answerBytes.begin(KeyId.make("another key"), {
    holdBack: () => {
      isRead = false
    },
    goOn: () => {},
  })
  try {
    other.add(300_000_000)
    expect(isRead).toBe(true)
  } finally {
    other.release()
    for (const held of context.lifetime.answers) held.release()
  }
  expect(answerBytes.bytes).toBe(0)
})
