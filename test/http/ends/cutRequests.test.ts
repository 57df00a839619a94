/**
 * Requests that are cut in each of their states, and what observers are told of them. That each is told of once is checked by
 * `inTimedGateway` itself, for these and for all other tests of streams. docs/guarantees.md#g37
 */
import { describe, expect, test } from "bun:test"
import { attemptOutcome } from "../../../src/services/metrics/attemptOutcome.ts"
import type { RequestEnd } from "../../../src/services/request/RequestEnds.ts"
import { inTimedGateway, Reading, type TimedGateway, type TimedOptions } from "../../support/gateways/timedGateway.ts"
import { chunkOf, wholeAnswer } from "../../support/hosts/host.ts"

const delta = (content: string) => chunkOf({ delta: { content }, finish_reason: null })
const finish = chunkOf({ delta: {}, finish_reason: "stop" })
const usage = JSON.stringify({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 5 } })

/** The value of the one request, in short. */
const told = async ({ ends, settle }: TimedGateway) => {
  for (let patience = 0; patience < 200 && ends.length === 0; patience++) await settle()
  const [end] = ends
  if (end === undefined) throw new Error("nothing was told")
  return { status: end.status, failure: nameOf(end), attempts: attemptsOf(end), outcome: end.row?.outcome ?? null }
}

const nameOf = ({ failure }: RequestEnd) => (failure === null || failure === "defect" ? failure : failure._tag)
const attemptsOf = ({ attempts }: RequestEnd) => attempts.map(({ host, outcome }) => `${host.tag} ${outcome}`)

const cut = (name: string, run: (gateway: TimedGateway) => Promise<void>, options: TimedOptions = {}) =>
  test(name, () => inTimedGateway(options, run))

/** A stream that has said something to its caller. */
const speaking = async ({ ask, call }: TimedGateway) => {
  const asked = ask()
  const host = (await call()).head().events(delta("Hello"))
  const reading = new Reading(await asked)
  await reading.one()
  return { host, reading }
}

describe("before a host has answered", () => {
  cut("its caller leaves, and pays for the prompt", async (gateway) => {
    const caller = new AbortController()
    const asked = gateway.ask({ stream: false }, caller.signal)
    await gateway.call()
    caller.abort()
    const { status } = await asked
    expect(await told(gateway)).toEqual({
      ...{ status, failure: "CallerGone", attempts: ["a abandoned"], outcome: "caller-gone" },
    })
  })

  cut(
    "its deadline comes",
    async (gateway) => {
      const asked = gateway.ask({ stream: false })
      await gateway.call()
      await gateway.pass(3100)
      expect((await asked).status).toBe(408)
      expect(await told(gateway)).toEqual({
        ...{ status: 408, failure: "TimedOut", attempts: ["a abandoned"], outcome: null },
      })
    },
    { limits: { deadline_ms: 3000 } },
  )

  cut("its key is revoked", async (gateway) => {
    const asked = gateway.ask({ stream: false })
    await gateway.call()
    gateway.revoke()
    expect((await asked).status).toBe(403)
    expect(await told(gateway)).toEqual({
      ...{ status: 403, failure: "NotPermitted", attempts: ["a abandoned"], outcome: null },
    })
  })

  cut("the gateway stops", async (gateway) => {
    const asked = gateway.ask({ stream: false })
    await gateway.call()
    const stopped = gateway.stop()
    await gateway.pass(60_000)
    await stopped
    expect((await asked).status).toBe(503)
    expect(await told(gateway)).toMatchObject({ status: 503, failure: "Unavailable", outcome: null })
  })
})

describe("a stream whose head has gone before a host has answered", () => {
  const options = { limits: { commit_after_ms: 1000 } }
  const opening = async (gateway: TimedGateway) => {
    const asked = gateway.ask()
    const host = await gateway.call()
    await gateway.pass(1100)
    return { host, reading: new Reading(await asked) }
  }

  cut(
    "its caller leaves",
    async (gateway) => {
      const { reading } = await opening(gateway)
      await reading.leave()
      expect(await told(gateway)).toMatchObject({
        ...{ status: 200, failure: "CallerGone", attempts: ["a abandoned"], outcome: "caller-gone" },
      })
    },
    options,
  )

  cut(
    "its host refuses",
    async (gateway) => {
      const { host, reading } = await opening(gateway)
      host.whole(Response.json({ error: { message: "no" } }, { status: 500 }))
      await reading.all()
      expect(await told(gateway)).toMatchObject({ status: 200, attempts: ["a failed"], outcome: null })
      expect(nameOf(gateway.ends[0] ?? expect.unreachable())).toBe("RoutingExhausted")
    },
    options,
  )

  cut(
    "its key is revoked",
    async (gateway) => {
      const { reading } = await opening(gateway)
      gateway.revoke()
      await reading.all()
      expect(await told(gateway)).toMatchObject({ status: 200, failure: "NotPermitted", attempts: ["a abandoned"] })
    },
    options,
  )
})

describe("a stream that speaks", () => {
  cut("ends with its finish", async (gateway) => {
    const { host, reading } = await speaking(gateway)
    host.events(finish, usage, "[DONE]")
    await reading.all()
    expect(await told(gateway)).toEqual({ status: 200, failure: null, attempts: ["a finished"], outcome: "finished" })
    const [end] = gateway.ends
    expect(end?.bytes.out).toBe(new TextEncoder().encode(reading.text).byteLength)
    expect(end?.times.firstToken).toBeNumber()
    expect(end?.tokens).toEqual({ prompt: 10, completion: 5 })
  })

  cut("loses its caller, and ends once its host has been read on", async (gateway) => {
    const { reading } = await speaking(gateway)
    await reading.leave()
    await gateway.settle()
    expect(gateway.ends).toEqual([])
    await gateway.pass(1100)
    expect(await told(gateway)).toEqual({
      ...{ status: 200, failure: "CallerGone", attempts: ["a caller-gone"], outcome: "caller-gone" },
    })
  })

  cut("loses its host", async (gateway) => {
    const { host, reading } = await speaking(gateway)
    host.break()
    await reading.all()
    expect(await told(gateway)).toEqual({
      ...{ status: 200, failure: "RoutingExhausted", attempts: ["a host-failed"], outcome: "host-failed" },
    })
    expect(gateway.ends[0]?.attempts[0]?.failure?.reason).toBe("unreachable")
  })

  cut("loses its key", async (gateway) => {
    const { reading } = await speaking(gateway)
    gateway.revoke()
    await reading.all()
    expect(await told(gateway)).toEqual({
      ...{ status: 200, failure: "NotPermitted", attempts: ["a cut"], outcome: "cut" },
    })
  })

  cut("loses the gateway", async (gateway) => {
    const { reading } = await speaking(gateway)
    const stopped = gateway.stop()
    await gateway.pass(60_000)
    await stopped
    await reading.all()
    expect(await told(gateway)).toMatchObject({ status: 200, failure: "Unavailable", outcome: "cut" })
  })

  cut(
    "flows for longer than `stream_ms`",
    async (gateway) => {
      const { reading } = await speaking(gateway)
      await gateway.pass(3100)
      await reading.all()
      expect(await told(gateway)).toMatchObject({ status: 200, failure: null, outcome: "cut" })
    },
    { limits: { stream_ms: 3000 } },
  )
})

describe("of several hosts", () => {
  const two: TimedOptions = { hosts: ["a", "b"] }

  cut(
    "the one that failed is an attempt beside the one that answered",
    async (gateway) => {
      const asked = gateway.ask({ stream: false })
      ;(await gateway.call(1)).whole(Response.json({ error: { message: "no" } }, { status: 500 }))
      ;(await gateway.call(2)).whole(wholeAnswer("fine"))
      expect((await asked).status).toBe(200)
      expect(await told(gateway)).toEqual({
        ...{ status: 200, failure: null, attempts: ["a failed", "b finished"], outcome: "finished" },
      })
      expect(gateway.ends[0]?.host).toBe("b")
    },
    two,
  )

  cut(
    "all failed",
    async (gateway) => {
      const asked = gateway.ask({ stream: false })
      for (const number of [1, 2]) {
        ;(await gateway.call(number)).whole(Response.json({ error: { message: "no" } }, { status: 500 }))
      }
      expect((await asked).status).toBe(502)
      expect(await told(gateway)).toEqual({
        ...{ status: 502, failure: "RoutingExhausted", attempts: ["a failed", "b failed"], outcome: null },
      })
    },
    two,
  )
})

describe("what we cut is ours in every figure, and no failure of its host", () => {
  /** The words of the request and of its last call, as metrics, records and alerts have them. */
  const words = async (gateway: TimedGateway) => {
    await told(gateway)
    const [end] = gateway.ends
    const attempt = end?.attempts.at(-1)
    return [end?.outcome, attempt && attemptOutcome(attempt)]
  }

  cut(
    "a stream that flows for longer than `stream_ms`",
    async (gateway) => {
      const { reading } = await speaking(gateway)
      await gateway.pass(3100)
      await reading.all()
      expect(await words(gateway)).toEqual(["policy_cut", "policy_cut"])
    },
    { limits: { stream_ms: 3000 } },
  )

  cut("a stream that a drain ends", async (gateway) => {
    const { reading } = await speaking(gateway)
    const stopped = gateway.stop()
    await gateway.pass(60_000)
    await stopped
    await reading.all()
    expect(await words(gateway)).toEqual(["policy_cut", "policy_cut"])
  })

  cut(
    "a stream whose caller takes no bytes",
    async (gateway) => {
      const { host } = await speaking(gateway)
      host.events(delta(" world"))
      await gateway.pass(3100)
      await gateway.pass(1100)
      expect(await words(gateway)).toEqual(["policy_cut", "policy_cut"])
    },
    { limits: { client_stall_ms: 2000 } },
  )

  cut(
    "a whole answer whose host had what was left of the deadline",
    async (gateway) => {
      const asked = gateway.ask({ stream: false })
      const first = await gateway.call(1)
      await gateway.pass(1000)
      first.whole(Response.json({ error: { message: "slow down" } }, { status: 429 }))
      await gateway.call(2)
      await gateway.pass(2100)
      expect((await asked).status).toBe(408)
      expect(await words(gateway)).toEqual(["policy_cut", "abandoned"])
    },
    { hosts: ["a", "b"], limits: { deadline_ms: 3000 } },
  )

  cut(
    "but a whole answer whose host had all of the time",
    async (gateway) => {
      const asked = gateway.ask({ stream: false })
      await gateway.call()
      await gateway.pass(3100)
      expect((await asked).status).toBe(408)
      expect(await words(gateway)).toEqual(["host_timeout", "host_timeout"])
    },
    { limits: { deadline_ms: 3000 } },
  )
})
