/** How long one attempt may take: `attempt_ms`, `ttfb_ms`, and what holds where neither is set. docs/guarantees.md#g10 */
import { describe, expect, test } from "bun:test"
import { errorOf, streamOf, wholeBodyOf } from "../../support/clients/answers.ts"
import { ManualClock, pass } from "../../support/clocks/manualClock.ts"
import { until } from "../../support/clocks/until.ts"
import {
  type Answer,
  ask,
  closeAfterEach,
  good,
  type Routed,
  routed,
  silent,
  status,
} from "../../support/gateways/routed.ts"
import { chunkOf, heldStream, wholeAnswer } from "../../support/hosts/host.ts"

closeAfterEach()

/** A gateway under a clock that only the test moves. */
const timed = async (answers: Readonly<Record<string, Answer>>, more: Record<string, unknown> = {}) => {
  const clock = new ManualClock()
  const gateway = await routed(answers, { ...more, clock })
  return { gateway, clock }
}

/** Lets time pass once hosts were called so often. */
const afterCalls = async ({ called }: Routed, clock: ManualClock, calls: number, milliseconds: number) => {
  await until(() => called().length === calls, `call ${calls}`)
  await pass(clock, milliseconds)
}

const textOf = async (answer: Promise<Response>) => (await wholeBodyOf(await answer)).choices[0]?.message.content

describe("a whole answer of a host that hangs", () => {
  test("was waited for until the deadline: with `attempt_ms` the next host answers, and the host has timed out", async () => {
    const { gateway, clock } = await timed(
      { hung: silent, next: good("from the next") },
      { limits: { attempt_ms: 3000 } },
    )
    const answer = gateway.chat(ask())
    await afterCalls(gateway, clock, 1, 2900)
    expect(gateway.called()).toEqual(["hung"])
    await pass(clock, 200)
    expect(await textOf(answer)).toBe("from the next")
    expect(gateway.called()).toEqual(["hung", "next"])
  })

  test("as the only host: 408 after `attempt_ms`, not after the deadline", async () => {
    const { gateway, clock } = await timed({ hung: silent }, { limits: { attempt_ms: 3000 } })
    const answer = gateway.chat(ask())
    await afterCalls(gateway, clock, 1, 3100)
    const response = await answer
    expect(response.status).toBe(408)
    expect((await errorOf(response)).metadata).toMatchObject({ error_type: "timeout", phase: "upstream" })
  })

  test("that has sent its head and no more", async () => {
    const halfway: Answer = (_, request) => {
      const held = heldStream(request)
      return new Response(held.response.body, { headers: { "content-type": "application/json" } })
    }
    const { gateway, clock } = await timed({ halfway, next: good("from the next") }, { limits: { attempt_ms: 3000 } })
    const answer = gateway.chat(ask())
    await afterCalls(gateway, clock, 1, 3100)
    expect(await textOf(answer)).toBe("from the next")
  })

  test.each<[string, Record<string, unknown>]>([
    ["of its model", { limits: { attempt_ms: 60_000, attempt_ms_by_model: { "acme/small": 3000 } } }],
    ["of its provider", { limits: { attempt_ms: 60_000 }, settings: { hung: { attempt_ms: 3000 } } }],
    [
      "of its model, which goes before that of its provider",
      {
        limits: { attempt_ms_by_model: { "acme/small": 3000 } },
        settings: { hung: { attempt_ms: 60_000 } },
      },
    ],
  ])("by the bound %s", async (_whose, more) => {
    const { gateway, clock } = await timed({ hung: silent, next: good("from the next") }, more)
    const answer = gateway.chat(ask())
    await afterCalls(gateway, clock, 1, 3100)
    expect(await textOf(answer)).toBe("from the next")
  })

  test("0 switches the bound off: the deadline alone ends it", async () => {
    const limits = { attempt_ms: 0, deadline_ms: 500_000 }
    const { gateway, clock } = await timed({ hung: silent, next: good() }, { limits })
    const answer = gateway.chat(ask())
    await afterCalls(gateway, clock, 1, 490_000)
    expect(gateway.called()).toEqual(["hung"])
    await pass(clock, 11_000)
    expect((await answer).status).toBe(408)
    expect(gateway.called()).toEqual(["hung"])
  })
})

describe("a stream", () => {
  test("that has begun is not cut by `attempt_ms`", async () => {
    let held: ReturnType<typeof heldStream> | undefined
    const slow: Answer = (_, request) => {
      held = heldStream(request)
      held.send(chunkOf({ delta: { content: "slow" }, finish_reason: null }))
      return held.response
    }
    const { gateway, clock } = await timed({ slow, next: good() }, { limits: { attempt_ms: 3000 } })
    const answer = await gateway.chat(ask({ stream: true }))
    await pass(clock, 10_000)
    held?.send(chunkOf({ delta: { content: " but good" }, finish_reason: null }))
    held?.send(chunkOf({ delta: {}, finish_reason: "stop" }))
    held?.close()
    expect((await streamOf(answer)).text).toBe("slow but good")
    expect(gateway.called()).toEqual(["slow"])
  })
})

describe("without a bound in the configuration", () => {
  const seconds = 1000
  const headAtFirstEvent = { commit_after_ms: 900 * seconds }

  test("a short whole answer is waited for two minutes, then the next host is called", async () => {
    const { gateway, clock } = await timed({ hung: silent, next: good("from the next") })
    const answer = gateway.chat(ask({ max_tokens: 100 }))
    await afterCalls(gateway, clock, 1, 119 * seconds)
    expect(gateway.called()).toEqual(["hung"])
    await pass(clock, 2 * seconds)
    expect(await textOf(answer)).toBe("from the next")
  })

  test("one that may be long has half of the request's time, and no more than two hosts are called for it", async () => {
    const answers = { hung: silent, too: silent, third: good(), fourth: good() }
    const change = { model: { context_length: 200_000 }, hosts: hostsWith(answers, { max_completion_tokens: 100_000 }) }
    const { gateway, clock } = await timed(answers, { change })
    const answer = gateway.chat(ask())
    await afterCalls(gateway, clock, 1, 299 * seconds)
    expect(gateway.called()).toEqual(["hung"])
    await pass(clock, 2 * seconds)
    await afterCalls(gateway, clock, 2, 300 * seconds)
    expect((await answer).status).toBe(408)
    expect(gateway.called()).toEqual(["hung", "too"])
  })

  test("the last host has all the time that is left", async () => {
    const late = Promise.withResolvers<Response>()
    const { gateway, clock } = await timed({ bad: status(500), late: () => late.promise })
    const answer = gateway.chat(ask({ max_tokens: 100 }))
    await afterCalls(gateway, clock, 2, 500 * seconds)
    late.resolve(wholeAnswer("late"))
    expect(await textOf(answer)).toBe("late")
  })

  test("a host whose answers are known to take long has more than half of the time", async () => {
    const due: Array<(answer: Response) => void> = []
    const slow: Answer = () => new Promise((resolve) => due.push(resolve))
    const change = {
      model: { context_length: 200_000 },
      hosts: hostsWith({ slow, next: good() }, { max_completion_tokens: 100_000 }),
    }
    const { gateway, clock } = await timed({ slow, next: good() }, { change })
    const one = gateway.chat(ask())
    await afterCalls(gateway, clock, 1, 200 * seconds)
    due[0]?.(wholeAnswer("one"))
    expect(await textOf(one)).toBe("one")
    const two = gateway.chat(ask())
    await afterCalls(gateway, clock, 2, 360 * seconds)
    expect(gateway.called()).toEqual(["slow", "slow"])
    due[1]?.(wholeAnswer("two"))
    expect(await textOf(two)).toBe("two")
    expect(gateway.called()).toEqual(["slow", "slow"])
  })

  test("a stream of a model that does not think is waited for two minutes, not five", async () => {
    const answers = { hung: silent, next: good("from the next") }
    const change = { hosts: hostsWith(answers, { supported_parameters: ["max_tokens"] }) }
    const { gateway, clock } = await timed(answers, { change, limits: headAtFirstEvent })
    const answer = gateway.chat(ask({ stream: true }))
    await afterCalls(gateway, clock, 1, 119 * seconds)
    expect(gateway.called()).toEqual(["hung"])
    await pass(clock, 2 * seconds)
    expect((await streamOf(await answer)).text).toBe("from the next")
  })

  test.each([{}, { reasoning: { enabled: true } }])("one of a model that may think, five: %p", async (more) => {
    const answers = { hung: silent, next: good("from the next") }
    const change = { hosts: hostsWith(answers, { supported_parameters: ["reasoning", "max_tokens"] }) }
    const { gateway, clock } = await timed(answers, { change, limits: headAtFirstEvent })
    const answer = gateway.chat(ask({ ...more, stream: true }))
    await afterCalls(gateway, clock, 1, 299 * seconds)
    expect(gateway.called()).toEqual(["hung"])
    await pass(clock, 2 * seconds)
    expect((await streamOf(await answer)).text).toBe("from the next")
  })
})

describe("over sockets and by the machine's clock", () => {
  test.each([
    ["whole", "attempt_ms", false],
    ["streamed", "ttfb_ms", true],
  ])("%s: 200 from the second host", async (_what, limit, stream) => {
    // The second one has all the time that it needs on a busy machine, and so has the first one's call until it arrives.
    const settings = { hung: { [limit]: 2000 }, next: { [limit]: 60_000 } }
    const gateway = await routed({ hung: silent, next: good("from the next") }, { settings, socket: true })
    const answer = await gateway.chat(ask({ stream }))
    const text = stream ? (await streamOf(answer)).text : (await wholeBodyOf(answer)).choices[0]?.message.content
    expect([answer.status, answer.headers.get("x-gw-host"), text]).toEqual([200, "next", "from the next"])
    expect(gateway.called()).toEqual(["hung", "next"])
  })
})

/** The same change for the entry of each host. */
const hostsWith = (answers: Readonly<Record<string, Answer>>, change: Record<string, unknown>) =>
  Object.fromEntries(Object.keys(answers).map((name) => [name, change]))
