/** Hedging: a second host beside a slow one, under a clock that the test advances. docs/hedging.md */
import { describe, expect, test } from "bun:test"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import { HedgeBudget } from "../../../src/domain/hosts/HedgeBudget.ts"
import { readRouted } from "../../../src/domain/routing/routed.ts"
import { Failover } from "../../../src/services/dispatch/Failover.ts"
import { Race } from "../../../src/services/dispatch/Hedge.ts"
import { Upstream } from "../../../src/upstream/Upstream.ts"
import { sampleKey } from "../../sql/samples.ts"
import { contentOf, readStrictly } from "../../support/clients/strictSse.ts"
import { ManualClock } from "../../support/clocks/manualClock.ts"
import { closeServices, hostsConfig } from "../../support/clocks/services.ts"
import { gatewayWithoutSocket } from "../../support/gateways/gateway.ts"
import {
  type HostCall,
  inTimedGateway,
  Reading,
  type TimedGateway,
  type TimedOptions,
} from "../../support/gateways/timedGateway.ts"
import { trying } from "../../support/gateways/trying.ts"
import { chunkOf, streamAnswer } from "../../support/hosts/host.ts"

closeServices()

const delta = (content: string) => chunkOf({ delta: { content }, finish_reason: null })
const finish = chunkOf({ delta: {}, finish_reason: "stop" })
const usage = JSON.stringify({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 5 } })
const answer = (host: HostCall, text: string) => host.head().events(delta(text), finish, usage, "[DONE]")
const costOfUsage = 20_000_000n

/** Lets the first host answer twenty streams, each after a tenth of a second. */
const learn = async ({ ask, calls, call, pass, settle }: TimedGateway, more: Record<string, unknown> = {}) => {
  for (let at = 0; at < 20; at++) {
    const asked = ask(more)
    const host = await call(calls.length + 1)
    await pass(100)
    answer(host, "quick")
    await settle()
    await new Reading(await asked).all()
  }
}

/** Two hosts, the first of which is known to be quick, and hedging as it is configured. */
const hedging = (
  body: (gateway: TimedGateway, next: (number: number) => Promise<HostCall>) => Promise<void>,
  hedge: Record<string, unknown> = {},
  limits: Record<string, unknown> = {},
  providers: TimedOptions["providers"] = {},
) =>
  inTimedGateway(
    { hosts: ["a", "b"], providers, routing: { hedge: { enabled: true, max_cost_share: 1, ...hedge } }, limits },
    async (gateway) => {
      await learn(gateway)
      await body(gateway, (number) => gateway.call(20 + number))
    },
  )

const textOf = async (asked: Promise<Response>): Promise<string> =>
  contentOf(readStrictly((await new Reading(await asked).all()).text).events)

/** The rows of the ledger since the first host was learned. */
const rowsOf = async ({ rows }: TimedGateway) => (await rows()).slice(0, -20)

describe("a first host that is slower than 95 % of its answers", () => {
  test("the second host is called, its answer wins, and the first call is cancelled and free", () =>
    hedging(async (gateway, next) => {
      const { ask, pass, settle, calls, reserved, total } = gateway
      const before = await total()
      const asked = ask()
      const slow = await next(1)
      await pass(80)
      expect(calls).toHaveLength(21)
      await pass(120)
      const second = await next(2)
      expect([slow.port, second.port, slow.aborted]).toEqual([1, 2, false])
      answer(second, "from b")
      await settle()
      expect(await textOf(asked)).toBe("from b")
      expect((await asked).headers.get("x-gw-host")).toBe("b")
      expect(slow.aborted).toBe(true)
      const rows = await rowsOf(gateway)
      expect(rows.toSorted((one, other) => one.outcome.localeCompare(other.outcome))).toMatchObject([
        { outcome: "finished", host: "b", cost: costOfUsage },
        { outcome: "lost", host: "a", cost: 0n, completionTokens: 0, estimated: true },
      ])
      const lost = rows.find(({ outcome }) => outcome === "lost")
      expect(lost?.upstreamCost).toBeGreaterThan(0n)
      const won = rows.find(({ host }) => host === "b")
      expect(lost?.requestId).toBe(`${won?.requestId}-lost`)
      expect(readRouted(won?.routed ?? "")?.ended).toMatchObject([
        { host: "a", outcome: "lost", status: null, ms: 200 },
        { host: "b", outcome: "finished", status: 200, ms: 0 },
      ])
      expect((await total()) - before).toBe(costOfUsage)
      expect(await reserved()).toBe(0n)
    }))

  test("it may still be the faster one", () =>
    hedging(async (gateway, next) => {
      const asked = gateway.ask()
      const slow = await next(1)
      await gateway.pass(200)
      const second = await next(2)
      answer(slow, "from a")
      await gateway.settle()
      expect(await textOf(asked)).toBe("from a")
      expect(second.aborted).toBe(true)
      const rows = await rowsOf(gateway)
      expect(rows.map(({ outcome, host }) => `${outcome} ${host}`).toSorted()).toEqual(["finished a", "lost b"])
    }))

  test("one that fails then is a failed attempt, and the second goes on", () =>
    hedging(async (gateway, next) => {
      const asked = gateway.ask()
      const slow = await next(1)
      await gateway.pass(200)
      const second = await next(2)
      slow.head().end()
      await gateway.pass(1000)
      answer(second, "from b")
      await gateway.settle()
      expect(await textOf(asked)).toBe("from b")
      expect(await rowsOf(gateway)).toMatchObject([{ outcome: "finished", host: "b" }])
    }))

  test("a second one that fails is not called again", () =>
    hedging(async (gateway, next) => {
      const asked = gateway.ask()
      const slow = await next(1)
      await gateway.pass(200)
      ;(await next(2)).head().end()
      await gateway.settle()
      slow.head().end()
      await gateway.settle()
      const response = await asked
      expect(response.status).toBe(502)
      expect(JSON.parse(await response.text()).error.metadata.previous_errors).toMatchObject([
        { provider: "b" },
        { provider: "a" },
      ])
      expect(gateway.calls).toHaveLength(22)
      expect(await gateway.reserved()).toBe(0n)
    }))

  test("the time after which it was cancelled counts: a host that is often slow is hedged later", () =>
    hedging(async (gateway, next) => {
      for (let at = 1; at < 10; at += 2) {
        const asked = gateway.ask()
        await next(at)
        await gateway.pass(600)
        answer(await next(at + 1), "from b")
        await gateway.settle()
        await (await asked).text()
      }
      const asked = gateway.ask()
      const slow = await next(11)
      await gateway.pass(400)
      expect(gateway.calls).toHaveLength(31)
      await gateway.pass(400)
      expect(gateway.calls).toHaveLength(32)
      answer(slow, "from a")
      await gateway.settle()
      await (await asked).text()
    }))

  test("a second call that took over from a failed one is no loss, and costs nothing of the share", () =>
    hedging(
      async (gateway, next) => {
        // Twenty answers at 20 millionths of a dollar each: the share is that of one lost prompt.
        for (const [at, fails] of [true, true, false, false].entries()) {
          const asked = gateway.ask()
          const slow = await next(at * 2 + 1)
          await gateway.pass(200)
          expect(gateway.calls).toHaveLength(20 + (at === 3 ? 7 : at * 2 + 2))
          if (fails) slow.head().end()
          await gateway.settle()
          answer(gateway.calls.at(-1) ?? slow, "fine")
          await gateway.settle()
          expect(await textOf(asked)).toBe("fine")
        }
      },
      { max_cost_share: 0.006 },
      { breaker: { open_s: 0 } },
    ))

  test("a caller who leaves pays for one of the two", () =>
    hedging(async (gateway, next) => {
      const leaving = new AbortController()
      const asked = gateway.ask({}, leaving.signal)
      const slow = await next(1)
      await gateway.pass(200)
      const second = await next(2)
      leaving.abort()
      await gateway.settle()
      await asked.catch(() => {})
      expect([slow.aborted, second.aborted]).toEqual([true, true])
      const rows = await rowsOf(gateway)
      expect(rows.map(({ outcome }) => outcome).toSorted()).toEqual(["caller-gone", "lost"])
      expect(rows.find(({ outcome }) => outcome === "lost")?.cost).toBe(0n)
      expect(await gateway.reserved()).toBe(0n)
    }))
})

test("a caller who leaves two calls costs the share one of them, so that the next call is not hedged", () =>
  hedging(
    async (gateway, next) => {
      const isHedged: Array<boolean> = []
      for (let race = 0, calls = 0; race < 3; race++) {
        const leaving = new AbortController()
        const asked = gateway.ask({}, leaving.signal)
        await next(calls + 1)
        await gateway.pass(200)
        const made = gateway.calls.length - 20 - calls
        isHedged.push(made === 2)
        calls += made
        leaving.abort()
        await gateway.settle()
        await asked.catch(() => {})
      }
      expect(isHedged).toEqual([true, false, false])
    },
    { max_cost_share: 0.006 },
    { breaker: { open_s: 0 } },
  ))
describe("a whole answer that takes longer than 99 % of the host's whole answers", () => {
  const whole = (text: string) =>
    Response.json({
      choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }],
      usage: { prompt_tokens: 10, completion_tokens: 5 },
    })

  /** As `hedging`, but what is known of the first host is known from twenty whole answers of a second each. */
  const hedgingWhole = (
    body: (gateway: TimedGateway, next: (number: number) => Promise<HostCall>) => Promise<void>,
    limits: Record<string, unknown> = {},
    hedge: Record<string, unknown> = {},
  ) =>
    inTimedGateway(
      { hosts: ["a", "b"], routing: { hedge: { enabled: true, max_cost_share: 1, ...hedge } }, limits },
      async (gateway) => {
        for (let at = 0; at < 20; at++) {
          const asked = gateway.ask({ stream: false })
          const host = await gateway.call(gateway.calls.length + 1)
          await gateway.pass(1000)
          host.whole(whole("quick"))
          await gateway.settle()
          await (await asked).text()
        }
        await body(gateway, (number) => gateway.call(20 + number))
      },
    )

  const contentIn = async (asked: Promise<Response>) =>
    JSON.parse(await (await asked).text()).choices[0].message.content

  test("the second host is called, its answer wins, and what the first has written until then is the gateway's", () =>
    hedgingWhole(async (gateway, next) => {
      const asked = gateway.ask({ stream: false })
      const slow = await next(1)
      await gateway.pass(900)
      expect(gateway.calls).toHaveLength(21)
      await gateway.pass(300)
      const second = await next(2)
      second.whole(whole("from b"))
      await gateway.settle()
      expect(await contentIn(asked)).toBe("from b")
      expect([slow.port, second.port, slow.aborted]).toEqual([1, 2, true])
      const rows = await rowsOf(gateway)
      // Five tokens a second, for more than a second.
      expect(rows.find(({ outcome }) => outcome === "lost")).toMatchObject({ host: "a", cost: 0n, completionTokens: 6 })
      expect(await gateway.reserved()).toBe(0n)
    }))

  test("both may hang: each is left after `attempt_ms`", () =>
    hedgingWhole(
      async (gateway, next) => {
        const asked = gateway.ask({ stream: false })
        await next(1)
        await gateway.pass(1200)
        await next(2)
        await gateway.pass(2000)
        expect(gateway.calls[20]?.aborted).toBe(true)
        expect(gateway.calls[21]?.aborted).toBe(false)
        await gateway.pass(1300)
        expect((await asked).status).toBe(408)
        expect(await gateway.reserved()).toBe(0n)
      },
      { attempt_ms: 3000 },
    ))

  test("the first is left after `attempt_ms`, and the one that was called beside it answers", () =>
    hedgingWhole(
      async (gateway, next) => {
        const asked = gateway.ask({ stream: false })
        await next(1)
        await gateway.pass(1200)
        const second = await next(2)
        await gateway.pass(2500)
        expect(gateway.calls[20]?.aborted).toBe(true)
        second.whole(whole("from b"))
        await gateway.settle()
        expect(await contentIn(asked)).toBe("from b")
      },
      { attempt_ms: 3000 },
    ))

  test("with no share left for what is lost, `attempt_ms` alone leads to the next host", () =>
    hedgingWhole(
      async (gateway, next) => {
        const asked = gateway.ask({ stream: false })
        await next(1)
        await gateway.pass(2500)
        expect(gateway.calls).toHaveLength(21)
        await gateway.pass(700)
        const second = await next(2)
        second.whole(whole("from b"))
        await gateway.settle()
        expect(await contentIn(asked)).toBe("from b")
      },
      { attempt_ms: 3000 },
      { max_cost_share: 0 },
    ))

  test("times of streams say nothing of it", () =>
    hedgingWhole(async (gateway, next) => {
      const asked = gateway.ask()
      const slow = await next(1)
      await gateway.pass(3000)
      expect(gateway.calls).toHaveLength(21)
      answer(slow, "from a")
      await gateway.settle()
      expect(await textOf(asked)).toBe("from a")
    }))
})

describe("no second host is called", () => {
  /** Whether one was, for a first host that stalls. */
  const isHedged = async (gateway: TimedGateway, more: Record<string, unknown> = {}): Promise<boolean> => {
    const before = gateway.calls.length
    const asked = gateway.ask(more)
    const slow = await gateway.call(before + 1)
    await gateway.pass(1000)
    const { length } = gateway.calls
    answer(slow, "at last")
    await gateway.settle()
    await (await asked).text()
    return length > before + 1
  }

  test("by default", () =>
    inTimedGateway({ hosts: ["a", "b"] }, async (gateway) => {
      await learn(gateway)
      expect(await isHedged(gateway)).toBe(false)
      expect(await isHedged(gateway, { provider: { order: ["a", "b"], hedge: true } })).toBe(false)
    }))

  test("unless the request asks for it, where the operator chose that", () =>
    hedging(
      async (gateway) => {
        expect(await isHedged(gateway, { provider: { order: ["a", "b"], hedge: true } })).toBe(true)
        expect(await isHedged(gateway)).toBe(false)
        expect(await isHedged(gateway, { provider: { order: ["a", "b"], hedge: false } })).toBe(false)
      },
      { enabled: "on_request" },
    ))

  test("when the request declines it", () =>
    hedging(async (gateway) => {
      expect(await isHedged(gateway, { provider: { order: ["a", "b"], hedge: false } })).toBe(false)
      expect(await isHedged(gateway)).toBe(true)
    }))

  test("for a host of which no time is known", () =>
    inTimedGateway({ hosts: ["a", "b"], routing: { hedge: { enabled: true, max_cost_share: 1 } } }, async (gateway) => {
      expect(await isHedged(gateway)).toBe(false)
    }))

  test("for a request that allows no fallback", () =>
    hedging(async (gateway) => {
      expect(await isHedged(gateway, { provider: { only: ["a"], allow_fallbacks: false } })).toBe(false)
    }))

  test("beyond its share of the spend", () =>
    hedging(
      async (gateway) => {
        expect(await isHedged(gateway)).toBe(false)
      },
      { max_cost_share: 0 },
    ))

  test("beyond the retry budget", () =>
    hedging(
      async (gateway) => {
        const hedged: Array<boolean> = []
        const asked = Array.from({ length: 12 }, () => gateway.ask())
        await gateway.call(32)
        await gateway.pass(200)
        hedged.push(...gateway.calls.slice(32).map(({ port }) => port === 2))
        expect(hedged).toEqual(Array.from({ length: 10 }, () => true))
        for (const call of gateway.calls.slice(20)) answer(call, "x")
        await gateway.settle()
        await Promise.all(asked.map(async (one) => (await one).text()))
      },
      {},
      { retries: 0.000_001 },
    ))

  test("at a host that has no place for it, and the retry budget stays as it was: it was used up", () =>
    hedging(
      async (gateway) => {
        const asked = Array.from({ length: 12 }, () => gateway.ask())
        await gateway.call(32)
        await gateway.pass(200)
        expect(gateway.calls.slice(32).map(({ port }) => port)).toEqual([2])
        const [, failing] = gateway.calls.slice(20)
        for (const call of gateway.calls.slice(20)) {
          if (call !== failing) answer(call, "x")
        }
        await gateway.settle()
        failing?.head().end()
        await gateway.settle()
        expect(gateway.calls.slice(33).map(({ port }) => port)).toEqual([2])
        for (const call of gateway.calls.slice(33)) answer(call, "y")
        await gateway.settle()
        expect(await Promise.all(asked.map(async (one) => (await one).status))).toEqual(asked.map(() => 200))
      },
      {},
      { retries: 0.000_001 },
      { b: { max_concurrent: 1 } },
    ))

  test("with less than half a second before the deadline: it was called all the same", () =>
    hedging(
      async (gateway, next) => {
        const asked = gateway.ask()
        await next(1)
        await gateway.pass(600)
        await gateway.settle()
        expect((await asked).status).toBe(408)
        expect(gateway.calls).toHaveLength(21)
        expect(await gateway.reserved()).toBe(0n)
      },
      {},
      { deadline_ms: 550 },
    ))

  test("for a whole answer, where only streams were seen", () =>
    hedging(async (gateway, next) => {
      const asked = gateway.ask({ stream: false })
      const slow = await next(1)
      await gateway.pass(2000)
      expect(gateway.calls).toHaveLength(21)
      slow.head().end()
      await gateway.settle()
      ;(await next(2)).head().end()
      await gateway.settle()
      expect((await asked).status).toBe(502)
    }))
})

describe("a request with two calls is ended from outside", () => {
  const ends = {
    revoked: { code: 403, end: ({ revoke }: TimedGateway) => revoke() },
    "timed out": { code: 408, end: ({ pass }: TimedGateway) => pass(5000) },
    "cut by the stop": {
      code: 503,
      end: ({ stop, pass }: TimedGateway) => void Promise.all([stop(), pass(31_000)]),
    },
  }
  /** What has happened to the calls before. */
  const states = {
    "while the first one waits alone": async (gateway: TimedGateway) => {
      await gateway.call(21)
    },
    "while both wait": async (gateway: TimedGateway) => {
      await gateway.call(21)
      await gateway.pass(200)
      await gateway.call(22)
    },
    "when the first one has failed": async (gateway: TimedGateway) => {
      const first = await gateway.call(21)
      await gateway.pass(200)
      await gateway.call(22)
      first.head().end()
      await gateway.settle()
    },
    "when the second one has failed": async (gateway: TimedGateway) => {
      await gateway.call(21)
      await gateway.pass(200)
      const second = await gateway.call(22)
      second.head().end()
      await gateway.settle()
    },
  }
  for (const [how, { code, end }] of Object.entries(ends)) {
    test.each(Object.entries(states))(`${how}: %s: nothing stays reserved or called, and nobody pays`, (_, reach) =>
      hedging(
        async (gateway) => {
          const before = await gateway.total()
          const asked = gateway.ask()
          await reach(gateway)
          await end(gateway)
          await gateway.settle()
          const response = await asked
          expect([response.status, JSON.parse(await response.text()).error.code]).toEqual([code, code])
          expect(gateway.calls.slice(20).every(({ aborted }) => aborted)).toBe(true)
          expect([await gateway.reserved(), await gateway.total()]).toEqual([0n, before])
        },
        {},
        { commit_after_ms: 60_000, ...(code === 408 ? { deadline_ms: 4000 } : {}) },
      ),
    )
  }
})

test("any race: the caller gets the beginning of one host's answer, and nothing stays reserved", () =>
  inTimedGateway(
    {
      hosts: ["a", "b"],
      routing: { hedge: { enabled: true, max_cost_share: 1 } },
      limits: { retries: 0, breaker: { open_s: 0 } },
    },
    async (gateway) => {
      await learn(gateway)
      const Course = FastCheck.record({
        /** Milliseconds until its first words. */
        wait: FastCheck.integer({ min: 0, max: 40 }).map((n) => n * 10),
        said: FastCheck.nat(3),
        last: FastCheck.constantFrom("finish", "break", "error"),
      })
      let races = 0
      await FastCheck.assert(
        FastCheck.asyncProperty(Course, Course, async (first, second) => {
          const begun = gateway.calls.length
          const asked = gateway.ask()
          let isOver = false
          const read = asked.then(async (response) => {
            const text = response.status === 200 ? (await new Reading(response).all()).text : ""
            isOver = true
            return text
          })
          const started = new Map<HostCall, number>()
          const ended = new Set<HostCall>()
          for (let now = 0; !isOver && now < 3000; now += 10) {
            await gateway.pass(10)
            for (const call of gateway.calls.slice(begun)) {
              if (!started.has(call)) started.set(call, now)
              const [name, course] = call.port === 1 ? (["a", first] as const) : (["b", second] as const)
              if (ended.has(call) || now - (started.get(call) ?? 0) < course.wait) continue
              ended.add(call)
              call.head()
              for (let word = 0; word < course.said; word++) call.events(delta(`${name}${word} `))
              if (course.last === "finish") call.events(finish, usage, "[DONE]")
              else if (course.last === "break") call.break()
              else call.events('{"error":{"code":500}}').end()
            }
          }
          races += gateway.calls.length - begun > 1 ? 1 : 0
          const text = await read
          const content = text === "" ? "" : contentOf(readStrictly(text).events)
          const whole = (name: string, { said }: typeof first) =>
            Array.from({ length: said }, (_, word) => `${name}${word} `).join("")
          expect(whole("a", first).startsWith(content) || whole("b", second).startsWith(content)).toBe(true)
          await gateway.settle()
          expect(await gateway.reserved()).toBe(0n)
          expect(gateway.calls.slice(begun).every((call) => call.aborted || ended.has(call))).toBe(true)
        }),
        { numRuns: 150 },
      )
      expect(races).toBeGreaterThan(30)
    },
  ))

describe("three hosts, of which the last has the shortest context", () => {
  /** Streams are answered by `answers`; the second host is known to begin within 100 ms. */
  const inGateway = async (body: (gateway: HedgedGateway) => Promise<void>): Promise<void> => {
    const clock = new ManualClock()
    const called: Array<string> = []
    const answers: Record<string, (request: Request) => Promise<Response>> = {}
    const slugs = ["a", "b", "c"]
    const provider = { plugin: "openai-compatible", network: "private", api_key: "k" } as const
    const gateway = await gatewayWithoutSocket({
      config: {
        providers: Object.fromEntries(
          slugs.map((slug, at) => [slug, { ...provider, base_url: `http://127.0.0.1:${at + 1}/v1` }]),
        ),
        models: [
          {
            id: "acme/small",
            context_length: 8192,
            hosts: slugs.map((slug, at) => ({
              provider: slug,
              context_length: [8192, 32_768, 4096][at] ?? 0,
              pricing: { prompt: "0.000001", completion: "0.000002" },
            })),
          },
        ],
        routing: { hedge: { enabled: true, max_cost_share: 1 } },
      },
      upstream: Upstream.layerFrom((request) => {
        const slug = slugs[Number(new URL(request.url).port) - 1] ?? ""
        called.push(slug)
        return answers[slug]?.(request) ?? Promise.reject(new Error("no answer"))
      }),
      setting: Layer.setClock(clock),
    })
    const pass = async (milliseconds: number) => {
      clock.advance(milliseconds)
      for (let turn = 0; turn < 16; turn++) await new Promise((resolve) => setImmediate(resolve))
    }
    const ask = (order: ReadonlyArray<string>) =>
      gateway.chat(
        { model: "acme/small", messages: [{ role: "user", content: "hi" }], stream: true, provider: { order } },
        { headers: { "x-openrouter-metadata": "enabled" } },
      )
    answers["b"] = async () => {
      await pass(100)
      return streamAnswer(["quick"])
    }
    for (let at = 0; at < 20; at++) await (await ask(["b"])).text()
    called.length = 0
    await body({ ask, pass, answers, called })
    await gateway.stop()
  }

  interface HedgedGateway {
    readonly ask: (order: ReadonlyArray<string>) => Promise<Response>
    readonly pass: (milliseconds: number) => Promise<void>
    readonly answers: Record<string, (request: Request) => Promise<Response>>
    readonly called: ReadonlyArray<string>
  }

  test("after a prompt that is too long, one that cannot take it was called beside the longer one", () =>
    inGateway(async ({ ask, pass, answers, called }) => {
      const slow = Promise.withResolvers<Response>()
      answers["a"] = async () =>
        Response.json({ error: { message: "too long", code: "context_length_exceeded" } }, { status: 400 })
      answers["b"] = () => slow.promise
      answers["c"] = answers["a"]
      const asked = ask(["a", "b", "c"])
      await pass(10)
      await pass(1000)
      slow.resolve(streamAnswer(["long"]))
      expect((await asked).headers.get("x-gw-host")).toBe("b")
      await (await asked).text()
      expect(called).toEqual(["a", "b"])
    }))

  test.each([
    ["b", 2, [499, 200], ["b", "c"]],
    ["c", 1, [200, 499], ["b", "c"]],
  ])(
    "the cancelled call of %s is among the attempts of `X-OpenRouter-Metadata`",
    (loser, attempt, statuses, providers) =>
      inGateway(async ({ ask, pass, answers }) => {
        const calls = { b: Promise.withResolvers<Response>(), c: Promise.withResolvers<Response>() }
        const until = (answer: Promise<Response>) => (request: Request) =>
          new Promise<Response>((resolve, reject) => {
            void answer.then(resolve)
            request.signal.addEventListener("abort", () => reject(new Error("aborted")))
          })
        answers["b"] = until(calls.b.promise)
        answers["c"] = until(calls.c.promise)
        const asked = ask(["b", "c"])
        await pass(10)
        await pass(300)
        calls[loser === "b" ? "c" : "b"].resolve(streamAnswer(["word"]))
        const text = await (await asked).text()
        const last = text.split("\n\n").findLast((event) => event.includes("openrouter_metadata")) ?? "data: {}"
        const { openrouter_metadata: metadata } = JSON.parse(last.slice(6))
        expect(metadata.attempt).toBe(attempt)
        expect(metadata.attempts.map(({ status }: { status: number }) => status)).toEqual(statuses)
        expect(metadata.attempts.map(({ provider }: { provider: string }) => provider)).toEqual(providers)
      }),
  )
})

describe("the budget of hedging", () => {
  test("is a share of the last hour's spend, less what was lost in it", () => {
    const budget = new HedgeBudget(0.05)
    expect(budget.take(0, 1)).toBe(false)
    budget.charged(0, 1000)
    expect(budget.take(0, 30)).toBe(true)
    expect(budget.take(0, 30)).toBe(false)
    expect(budget.take(0, 20)).toBe(true)
    budget.giveBack(0, 20)
    expect(budget.take(60_000, 20)).toBe(true)
    expect(budget.take(3_599_999, 1)).toBe(false)
    budget.charged(3_599_999, 1000)
    // What was spent and lost in the first minute is forgotten.
    expect(budget.take(3_600_000, 30)).toBe(true)
    expect(budget.take(3_600_000, 1)).toBe(false)
  })
})

test("a second call whose preparation throws is none: the race ends with the first", async () => {
  const { askBy, runner, endAttempt, hosts } = await trying(await hostsConfig({ a: {}, b: {} }))
  const [, b] = hosts
  if (b === undefined) throw new Error("no hosts")
  const results: Array<unknown> = []
  await askBy((begun, listener) => {
    let startSecond = () => {}
    const set = (_: number, fire: () => void) => {
      startSecond = fire
      return { restart: () => {}, clear: () => {} }
    }
    const services = { timers: { now: () => 0, set }, runner, endAttempt, hedges: new HedgeBudget(1) }
    const second = () => {
      throw new Error("a bug")
    }
    const contest = { call: () => {}, second, callFailed: () => {} }
    const race = new Race(services, begun.attempt.context, begun, { host: b, delayMs: 1, cost: 0 }, contest)
    race.startBy(runner, (exit) => results.push(exit))
    startSecond()
    race.answered(begun, new HostFailed({ reason: "timeout" }))
    listener.answered(begun, {})
  })
  expect(results).toEqual([Exit.succeed({ won: undefined, left: [] })])
})

test("a defect while the failure of one of two calls is recorded left both without an end: it ends the request", async () => {
  const priced = { pricing: { prompt: "0.000001", completion: "0.000002" } }
  const { askBy, runner, endAttempt, hosts, newContext, reserved } = await trying(
    await hostsConfig({ a: priced, b: priced }),
  )
  const payer = sampleKey("payer", { limit: 10_000_000_000_000n })
  const [, b] = hosts
  if (b === undefined) throw new Error("no hosts")
  const results: Array<unknown> = []
  const asked = { context: newContext(payer) }
  let wasReserved = 0n
  const asking = askBy(async (begun, listener) => {
    wasReserved = await reserved(payer)
    if (!(listener instanceof Failover)) throw new Error("another listener")
    Object.defineProperty(begun.attempt, "stopped", {
      get: () => {
        throw new Error("a bug")
      },
    })
    const timers = { now: () => 0, set: () => ({ restart: () => {}, clear: () => {} }) }
    const services = { timers, runner, endAttempt, hedges: new HedgeBudget(1) }
    const callFailed = (failed: typeof begun, failure: HostFailed) => listener.callFailed(failed, failure)
    const contest = { call: () => {}, second: () => Exit.succeed(undefined), callFailed }
    const race = new Race(services, begun.attempt.context, begun, { host: b, delayMs: 1, cost: 0 }, contest)
    race.startBy(runner, (exit) => results.push(exit))
    race.answered(begun, new HostFailed({ reason: "timeout" }))
    listener.answered(begun, new HostFailed({ reason: "timeout" }))
  }, asked)
  await expect(asking).rejects.toThrow("a bug")
  expect([wasReserved > 0n, await reserved(payer)]).toEqual([true, 0n])
  expect(results).toEqual([Exit.succeed({ won: undefined, left: [] })])
})
