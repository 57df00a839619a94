/** What the end of an attempt comes to: for its money, its host's figures, and the log. docs/guarantees.md#g5, #g14, #g15 and #g35 */
import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { CallerGone, HostFailed, TimedOut, Unavailable } from "../../../src/domain/failures/Failure.ts"
import type { Attempt } from "../../../src/services/dispatch/Attempt.ts"
import { startAttempt } from "../../../src/services/dispatch/AttemptStart.ts"
import type { Delivered } from "../../../src/services/dispatch/EndAttempt.ts"
import { sampleKey } from "../../sql/samples.ts"
import { closeServices, hostsConfig } from "../../support/clocks/services.ts"
import { trying } from "../../support/gateways/trying.ts"
import { requestWith } from "../../support/recordings/recordings.ts"

closeServices()

const priced = { pricing: { prompt: "0.000001", completion: "0.000002" } }
const key = sampleKey("payer", { limit: 10_000_000_000_000n })
const finished: Delivered = {
  ...{ outcome: "finished", outputBytes: 20, finishReason: "stop", isAwaited: true },
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
}

/** One attempt at one host, which has been called. */
const scene = async () => {
  const services = await trying(await hostsConfig({ a: priced }))
  const { runner, plan, registry, hosts, newContext, run, storage, reserved, endAttempt, stats } = services
  const [host] = hosts
  const endpoint = host && registry.endpoint(host)
  if (endpoint === undefined || host === undefined) throw new Error("no host")
  const context = newContext(key)
  const attempt = await new Promise<Attempt>((resolve, reject) =>
    runner.run(startAttempt(services, context, requestWith({}, { maxTokens: 100 }), plan(), endpoint), (exit) =>
      Exit.isSuccess(exit) && "attempt" in exit.value ? resolve(exit.value.attempt) : reject(exit),
    ),
  )
  const ended = (effect: Effect.Effect<unknown, Unavailable>) => run(Effect.merge(effect))
  return {
    ...{ ...services, context, attempt, ended, host },
    rows: async () =>
      (await run(storage.ledger.rows(key.id, 9))).map(({ outcome, cost, upstreamCost }) => [
        ...[outcome, cost > 0n, upstreamCost > 0n],
      ]),
    isFree: async () => (await reserved(key)) === 0n,
    uptime: () => stats.report(host).uptime5m,
    endAttempt,
  }
}

test("an answer is charged by the host's count, and counts as a success", async () => {
  const { endAttempt, ended, attempt, rows, isFree, uptime } = await scene()
  expect(await ended(endAttempt.delivered(attempt, finished))).toMatchObject({ cost: { total: 20_000_000n } })
  expect([await rows(), await isFree(), uptime()]).toEqual([[["finished", true, true]], true, 100])
})

test("an answer whose host broke off counts against it, and is booked as that", async () => {
  const { endAttempt, ended, attempt, rows, isFree, uptime, logged } = await scene()
  const failure = new HostFailed({ reason: "unreachable" })
  await ended(endAttempt.delivered(attempt, { ...finished, outcome: "host-failed", failure, usage: undefined }))
  expect([(await rows())[0]?.[0], await isFree(), uptime()]).toEqual(["host-failed", true, 0])
  // Its breaker says what the failures of a host come to.
  expect(logged).toEqual([])
})

test("one that a limit of ours cut counts for nothing", async () => {
  const { endAttempt, ended, attempt, isFree, uptime } = await scene()
  await ended(endAttempt.delivered(attempt, { ...finished, outcome: "cut" }))
  expect([await isFree(), uptime()]).toEqual([true, null])
})

test("a failure before anything came costs nothing", async () => {
  const { endAttempt, attempt, rows, isFree, uptime } = await scene()
  endAttempt.failed(attempt, new HostFailed({ reason: "timeout" }))
  expect([await rows(), await isFree(), uptime()]).toEqual([[], true, 0])
})

test("a host that was not called costs nothing, and its place is free", async () => {
  const { endAttempt, attempt, rows, isFree, uptime } = await scene()
  endAttempt.unused(attempt)
  expect([await rows(), await isFree(), uptime()]).toEqual([[], true, null])
})

describe("a request that was ended before its host sent anything", () => {
  test("by its caller: who pays for the prompt", async () => {
    const { endAttempt, ended, attempt, context, rows, isFree, uptime } = await scene()
    context.lifetime.end(new CallerGone())
    await ended(endAttempt.abandoned(attempt))
    expect([await rows(), await isFree(), uptime()]).toEqual([[["caller-gone", true, true]], true, null])
  })

  test("by a stop of the gateway: nobody pays", async () => {
    const { endAttempt, ended, attempt, context, rows, isFree, uptime } = await scene()
    context.lifetime.end(new Unavailable({ why: "draining", retryAfterSeconds: 1 }))
    await ended(endAttempt.abandoned(attempt))
    expect([await rows(), await isFree(), uptime()]).toEqual([[], true, null])
  })

  test.each([
    ["counts against a host that had nine tenths of its time", 9000, 0],
    ["does not count against one that had less", 8900, null],
  ])("by its deadline: it %s", async (_name, passed, expected) => {
    const { endAttempt, ended, attempt, context, clock, isFree, uptime } = await scene()
    context.lifetime.deadline = 10_000
    clock.advance(passed)
    context.lifetime.end(new TimedOut({ phase: "upstream", afterMs: 10_000 }))
    await ended(endAttempt.abandoned(attempt))
    expect([await isFree(), uptime()]).toEqual([true, expected])
  })
})

test("a call that another one was faster than is free to the key, and the host's price of it is kept", async () => {
  const { endAttempt, ended, attempt, rows, isFree, uptime } = await scene()
  await ended(endAttempt.lost(attempt, { stream: true, maxTokens: 100 }, false))
  expect([await rows(), await isFree(), uptime()]).toEqual([[["lost", false, true]], true, null])
})

test("an attempt stops once, at the end of its request too, unless its stream decides about that", async () => {
  const { attempt, context } = await scene()
  const stops: Array<string | undefined> = []
  attempt.onStop = () => stops.push(attempt.stopped?.reason)
  attempt.detach()
  context.lifetime.end(new CallerGone())
  expect(stops).toEqual([])
  attempt.end()
  attempt.stop(new HostFailed({ reason: "timeout" }))
  expect(stops).toEqual(["ended"])
})
