/** When an attempt is stopped so that the next host is tried. docs/guarantees.md#g10 and #g14 */
import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import type { Begun } from "../../../src/services/dispatch/AttemptStart.ts"
import { firstEventTimer, wholeAnswerTimer } from "../../../src/services/dispatch/attemptTimer.ts"
import { closeServices, hostsConfig, turns } from "../../support/clocks/services.ts"
import { trying } from "../../support/gateways/trying.ts"
import { requestWith } from "../../support/recordings/recordings.ts"

closeServices()

const minute = 60_000
const timersOf = { whole: wholeAnswerTimer, streamed: firstEventTimer }

/** Why, a second before and then. */
type Stopped = ReadonlyArray<string | undefined>

interface Scene {
  readonly limits?: Readonly<Record<string, unknown>>
  readonly provider?: Readonly<Record<string, unknown>>
  readonly hasNext?: boolean
  readonly maxTokens?: number
  /** What the whole request may take, milliseconds. */
  readonly allowedMs?: number
}

/** An attempt that has begun, with its timer. */
const scene = async (
  kind: keyof typeof timersOf,
  { limits = {}, provider = {}, hasNext = true, ...more }: Scene = {},
) => {
  const made = await trying(await hostsConfig({ a: {} }, { limits }, { a: provider }))
  const context = made.newContext()
  const { lifetime } = context
  lifetime.startedAt = made.timers.now()
  lifetime.deadline = lifetime.startedAt + (more.allowedMs ?? 60 * minute)
  const { promise, resolve } = Promise.withResolvers<Begun>()
  const request = { ...requestWith({}), maxTokens: more.maxTokens }
  void made.ask(
    (_host, begun) => {
      resolve(begun)
      return Effect.never
    },
    { context, request },
  )
  const begun = await promise
  const timer = timersOf[kind](made, made.registry.current().limits, begun, { hasNext: () => hasNext })
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= minute) {
      made.clock.advance(Math.min(left, minute))
      await turns(2)
    }
  }
  return {
    ...{ timer, pass, context },
    now: () => made.timers.now(),
    /** Whether it is stopped at this time, and not a second before. */
    isStoppedAt: async (ms: number): Promise<Stopped> => {
      await pass(ms - 1000)
      const before = begun.attempt.stopped?.reason
      await pass(1100)
      return [before, begun.attempt.stopped?.reason]
    },
  }
}

const inTime: Stopped = [undefined, "timeout"]
const never: Stopped = [undefined, undefined]

describe("an attempt has the time of the configuration", () => {
  test.each<readonly [string, keyof typeof timersOf, Scene, number]>([
    ["for a whole answer", "whole", { limits: { attempt_ms: 5000 } }, 5000],
    ["of its provider", "whole", { limits: { attempt_ms: 5000 }, provider: { attempt_ms: 9000 } }, 9000],
    [
      "of its model, before that of its provider",
      "whole",
      { limits: { attempt_ms_by_model: { "acme/small": 3000 } }, provider: { attempt_ms: 9000 } },
      3000,
    ],
    ["for the first event", "streamed", { limits: { ttfb_ms: 4000 } }, 4000],
    ["of its provider for that", "streamed", { limits: { ttfb_ms: 4000 }, provider: { ttfb_ms: 8000 } }, 8000],
  ])("%s", async (_name, kind, asked, ms) => {
    expect(await (await scene(kind, asked)).isStoppedAt(ms)).toEqual(inTime)
  })
})

describe("without one it has", () => {
  test("for a whole answer what the most tokens take at ten a second, and two minutes at least", async () => {
    expect(await (await scene("whole", { maxTokens: 3000 })).isStoppedAt(5 * minute)).toEqual(inTime)
    expect(await (await scene("whole", { maxTokens: 10 })).isStoppedAt(2 * minute)).toEqual(inTime)
  })

  test("half of the request's time at most", async () => {
    expect(await (await scene("whole", { allowedMs: 6 * minute })).isStoppedAt(3 * minute)).toEqual(inTime)
  })

  test("no end, where no other host could be called", async () => {
    expect(await (await scene("whole", { hasNext: false, maxTokens: 10 })).isStoppedAt(59 * minute)).toEqual(never)
  })

  test("for the first event of a model that may think five minutes", async () => {
    expect(await (await scene("streamed")).isStoppedAt(5 * minute)).toEqual(inTime)
  })
})

test("one that was cleared stops nothing", async () => {
  const { timer, isStoppedAt } = await scene("whole", { limits: { attempt_ms: 5000 } })
  timer.clear()
  expect(await isStoppedAt(5000)).toEqual(never)
})

test("an attempt that the deadline of the request cuts is no time-out of its host", async () => {
  const { context, now, isStoppedAt } = await scene("whole", { limits: { attempt_ms: 5000 } })
  context.lifetime.deadline = now() + 5000
  expect(await isStoppedAt(5000)).toEqual(never)
})
