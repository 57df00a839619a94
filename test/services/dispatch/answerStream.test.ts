/**
 * The life of a streamed answer under a clock that the test advances: silence, time-outs, deadlines, races.
 * docs/guarantees.md#g5, #g6, #g10, #g11 and #g18
 */
import { describe, expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import { chatProtocol, defineProvider, httpError, type Protocol } from "../../../src/plugin.ts"
import { contentOf, finishesOf, readStrictly } from "../../support/clients/strictSse.ts"
import { type HostCall, inTimedGateway, Reading } from "../../support/gateways/timedGateway.ts"
import { chunkOf } from "../../support/hosts/host.ts"

const delta = (content: string) => chunkOf({ delta: { content }, finish_reason: null })
const reasoning = (text: string) => chunkOf({ delta: { reasoning: text }, finish_reason: null })
const finish = chunkOf({ delta: {}, finish_reason: "stop" })
const usage = JSON.stringify({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 5 } })
const done = "[DONE]"
const costOfUsage = 20_000_000n
const comments = (text: string) => text.split(": GW PROCESSING\n\n").length - 1

const until = async (reading: Reading, word: string): Promise<void> => {
  while (!reading.text.includes(word) && (await reading.one()));
}

/** Checks that the last event is this error. */
const brokenWith = (text: string): unknown => {
  const { events, done: isDone } = readStrictly(text)
  expect(isDone).toBe(true)
  const last = events.at(-1)
  expect(last).toMatchObject({ choices: [{ finish_reason: "error" }] })
  return JSON.parse(JSON.stringify(last?.["error"])).code
}

describe("comments", () => {
  test("are sent with a head that goes out before any event, and after every five seconds of silence", () =>
    inTimedGateway({}, async ({ ask, call, pass }) => {
      const asked = ask()
      const host = await call()
      let status = 0
      void asked.then((response) => {
        status = response.status
      })
      await pass(9900)
      expect(status).toBe(0)
      await pass(200)
      expect(status).toBe(200)
      const reading = new Reading(await asked)
      const ended = reading.all()
      await pass(1000)
      expect(comments(reading.text)).toBe(1)
      await pass(5000)
      expect(comments(reading.text)).toBe(2)
      await pass(20_000)
      expect(comments(reading.text)).toBeWithin(5, 7)
      host.head().events(delta("Hello"), finish, usage, done)
      expect(contentOf(readStrictly((await ended).text).events)).toBe("Hello")
    }))

  test("are not sent while chunks flow", () =>
    inTimedGateway({}, async ({ listen, call, pass, settle }) => {
      const asked = listen()
      const host = (await call()).head().events(delta("0 "))
      const reading = await asked
      for (let second = 1; second <= 30; second++) {
        await pass(1000)
        host.events(delta(`${second} `))
      }
      await settle()
      expect(comments(reading.text)).toBe(0)
      await pass(7000)
      expect(comments(reading.text)).toBe(1)
      host.events(delta("and on "))
      await pass(4000)
      expect(comments(reading.text)).toBe(1)
      host.events(finish, done)
      await settle()
      expect(readStrictly(reading.text).done).toBe(true)
    }))
})

describe("a silent host", () => {
  test("is cut off after a minute without an event, and the caller gets an error", () =>
    inTimedGateway({}, async ({ listen, call, pass, settle, rows, reserved }) => {
      const asked = listen()
      const host = (await call()).head().events(delta("Hello"))
      const reading = await asked
      await pass(58_000)
      expect([reading.over, host.aborted]).toEqual(["no", false])
      await pass(4000)
      await settle()
      expect([reading.over, host.aborted]).toEqual(["ended", true])
      expect(brokenWith(reading.text)).toBe(408)
      expect(contentOf(readStrictly(reading.text).events)).toBe("Hello")
      expect(await rows()).toMatchObject([{ outcome: "host-failed", cost: 0n }])
      expect(await reserved()).toBe(0n)
    }))

  test("may think for five minutes before its first text", () =>
    inTimedGateway({}, async ({ listen, call, pass }) => {
      const asked = listen()
      const host = (await call()).head().events(reasoning("hm"))
      const reading = await asked
      await pass(295_000)
      expect(host.aborted).toBe(false)
      await pass(10_000)
      expect([host.aborted, brokenWith(reading.text)]).toEqual([true, 408])
    }))

  test("comments and blank lines do not count as events", () =>
    inTimedGateway({}, async ({ listen, call, pass }) => {
      const asked = listen()
      const host = (await call()).head().events(delta("Hello"))
      const reading = await asked
      for (let second = 0; second < 58; second++) {
        host.text(second % 2 === 0 ? ": still here, and this is long enough to be no drip of bytes\n\n" : "\n")
        await pass(1000)
      }
      expect(host.aborted).toBe(false)
      await pass(4000)
      expect([host.aborted, brokenWith(reading.text)]).toEqual([true, 408])
    }))

  test("comments do not count as a first event: after five minutes another host is called", () =>
    inTimedGateway({ hosts: ["a", "b"] }, async ({ listen, call, calls, pass, settle }) => {
      const asked = listen()
      const host = (await call()).head()
      for (let ten = 0; ten < 29; ten++) {
        host.text(": still here\n\n")
        await pass(10_000)
      }
      expect([host.aborted, calls.length]).toEqual([false, 1])
      await pass(11_000)
      expect(host.aborted).toBe(true)
      const second = await call(2)
      expect(second.port).toBe(2)
      second.head().events(delta("from b"), finish, done)
      await settle()
      expect(contentOf(readStrictly((await asked).text).events)).toBe("from b")
    }))

  test("is awaited for only five seconds after its finish, and the finish stands", () =>
    inTimedGateway({}, async ({ listen, call, pass, settle, rows }) => {
      const asked = listen()
      const host = (await call()).head().events(delta("Hello"), finish, usage)
      const reading = await asked
      await pass(4000)
      expect(reading.over).toBe("no")
      await pass(3000)
      await settle()
      expect([reading.over, host.aborted]).toEqual(["ended", true])
      expect(finishesOf(readStrictly(reading.text).events)).toMatchObject([{ usage: { cost: 0.00002 } }])
      expect(await rows()).toMatchObject([{ outcome: "finished", cost: costOfUsage }])
    }))

  test("whose connection breaks after the finish has ended normally", () =>
    inTimedGateway({}, async ({ listen, call, settle, rows }) => {
      const asked = listen()
      const host = (await call()).head().events(delta("Hello"), finish, usage)
      const reading = await asked
      await settle()
      host.break()
      await settle()
      expect(finishesOf(readStrictly(reading.text).events)).toMatchObject([{ usage: { cost: 0.00002 } }])
      expect(await rows()).toMatchObject([{ outcome: "finished", cost: costOfUsage }])
    }))

  test("whose answer is complete keeps its connection, although its body goes on for a moment", () =>
    inTimedGateway({}, async ({ listen, call, settle }) => {
      const asked = listen()
      const host = (await call()).head().events(delta("Hello"), finish, usage, done)
      const reading = await asked
      await settle()
      expect([reading.over, host.aborted]).toEqual(["ended", false])
    }))

  test("that sends less than sixteen bytes a second is cut off", () =>
    inTimedGateway({}, async ({ listen, call, pass }) => {
      const asked = listen()
      const host = (await call()).head().events(delta("Hello"))
      const reading = await asked
      for (let ten = 0; ten < 13 && !host.aborted; ten++) {
        host.events('{"choices":[{"delta":{"content":"x"}}]}')
        await pass(10_000)
      }
      expect([host.aborted, brokenWith(reading.text)]).toEqual([true, 408])
    }))
})

describe("a slow caller", () => {
  // More than may wait for the caller.
  const long = (word: string) => word.padEnd(70_000, "x")

  test("who pauses for most of a minute is not taken for a silent host", () =>
    inTimedGateway({}, async ({ ask, call, pass, settle, rows }) => {
      const asked = ask()
      const host = (await call()).head().events(delta(long("one ")))
      const reading = new Reading(await asked)
      await reading.one()
      for (const word of ["two ", "three "]) {
        host.events(delta(long(word)))
        await pass(57_000)
        await until(reading, word)
        await pass(6000)
        expect(host.aborted).toBe(false)
        // A comment has come meanwhile.
        await reading.one()
      }
      host.events(finish, usage, done)
      await settle()
      expect(contentOf(readStrictly((await reading.all()).text).events)).toBe(
        ["one ", "two ", "three "].map(long).join(""),
      )
      expect(await rows()).toMatchObject([{ outcome: "finished" }])
    }))

  test("who takes nothing for a minute is cut, and pays", () =>
    inTimedGateway({}, async ({ ask, call, pass, rows, reserved, total }) => {
      const asked = ask()
      const host = (await call()).head().events(delta("12345678".repeat(10_000)))
      const response = await asked
      await pass(58_000)
      expect(host.cancelled).toBe(false)
      await pass(4000)
      expect(host.cancelled).toBe(true)
      const [row, ...more] = await rows()
      expect([row, more]).toMatchObject([{ outcome: "cut", completionTokens: 20_000, estimated: true }, []])
      expect(await total()).toBe(row?.cost ?? -1n)
      expect(await reserved()).toBe(0n)
      expect((await new Reading(response).all()).over).toBe("broken")
    }))

  test("the host is not read ahead: without a reader it is read once at most", () =>
    inTimedGateway({}, async ({ ask, call, pass, settle }) => {
      const asked = ask()
      const host = (await call()).head().events(delta(long("one ")))
      const reading = new Reading(await asked)
      await pass(2000)
      for (let word = 0; word < 50; word++) {
        host.events(delta(long("more ")))
        await settle()
      }
      expect(host.pulls).toBeLessThanOrEqual(2)
      await reading.one()
      await reading.one()
      await settle()
      expect(reading.text.match(/more/g)?.length ?? 0).toBeLessThanOrEqual(1)
      await reading.leave()
      // Its host is read on for a second, in case it is at its end.
      await pass(1100)
      expect(host.cancelled || host.aborted).toBe(true)
    }))
})

describe("a host that does not notice that its call was aborted", () => {
  const ignoring = { ignoresAbort: true }

  test("is abandoned all the same when it falls silent", () =>
    inTimedGateway(ignoring, async ({ listen, call, pass, rows }) => {
      const asked = listen()
      const host = (await call()).head().events(delta("Hello"))
      const reading = await asked
      await pass(63_000)
      expect([host.cancelled, brokenWith(reading.text)]).toEqual([true, 408])
      expect(await rows()).toMatchObject([{ outcome: "host-failed" }])
    }))

  test("is abandoned before its first event, and another host is called", () =>
    inTimedGateway(
      { ...ignoring, hosts: ["a", "b"], limits: { ttfb_ms: 2000 } },
      async ({ listen, call, pass, settle }) => {
        const asked = listen()
        const host = (await call()).head()
        await pass(3000)
        expect(host.cancelled).toBe(true)
        const second = await call(2)
        second.head().events(delta("from b"), finish, done)
        await settle()
        expect((await asked).response.headers.get("x-gw-host")).toBe("b")
      },
    ))

  test("is abandoned at the deadline", () =>
    inTimedGateway({ ...ignoring, limits: { stream_ms: 3000 } }, async ({ listen, call, pass, rows }) => {
      const asked = listen()
      const host = (await call()).head().events(delta("Hello"))
      const reading = await asked
      await pass(4000)
      expect(host.cancelled).toBe(true)
      expect(finishesOf(readStrictly(reading.text).events)).toMatchObject(atDeadline)
      expect(await rows()).toMatchObject([{ outcome: "cut", finishReason: "length" }])
    }))
})

/** The finish that we write where a stream is longer than `stream_ms`. */
const atDeadline = [{ choices: [{ finish_reason: "length", native_finish_reason: "deadline" }] }]

test("a stream that flows outlives the deadline of the request, and ends after `stream_ms`, however active", () =>
  inTimedGateway(
    { limits: { deadline_ms: 60_000, stream_ms: 600_000 } },
    async ({ listen, call, pass, rows, reserved }) => {
      const asked = listen()
      const host = (await call()).head().events(delta("0 "))
      const reading = await asked
      for (let at = 0; at < 59; at++) {
        host.events(delta("word ".repeat(40)))
        await pass(10_000)
      }
      expect(host.aborted).toBe(false)
      await pass(12_000)
      expect(host.aborted).toBe(true)
      expect(finishesOf(readStrictly(reading.text).events)).toMatchObject(atDeadline)
      const [row] = await rows()
      expect(row).toMatchObject({ outcome: "cut" })
      expect(row?.cost).toBeGreaterThan(0n)
      expect(await reserved()).toBe(0n)
    },
  ))

describe("a gateway that stops", () => {
  test("lets running requests end within half a minute, and accepts no new ones", () =>
    inTimedGateway({}, async ({ ask, listen, call, calls, pass, settle, stop, rows }) => {
      const asked = listen()
      const host = (await call()).head().events(delta("Hello"))
      const reading = await asked
      let over = false
      const stopped = stop().then(() => {
        over = true
      })
      await settle()
      const refused = await ask()
      expect([refused.status, await refused.json()]).toMatchObject([
        503,
        { error: { code: 503, metadata: { error_type: "draining" } } },
      ])
      expect([refused.headers.get("retry-after"), refused.headers.get("connection")]).toEqual(["1", "close"])
      await pass(28_000)
      expect([over, calls.length]).toEqual([false, 1])
      host.events(delta(" world"), finish, usage, done)
      await settle()
      await pass(1000)
      await stopped
      expect(contentOf(readStrictly(reading.text).events)).toBe("Hello world")
      expect(await rows()).toMatchObject([{ outcome: "finished", cost: costOfUsage }])
    }))

  test("ends the remaining requests after that, books them, and sends an error", () =>
    inTimedGateway({}, async ({ ask, listen, call, pass, settle, stop, rows, reserved }) => {
      const asked = listen()
      await (await call()).head().events(delta("Hello"))
      const reading = await asked
      // One answer that its caller does not read, and one that has not begun.
      const unread = ask()
      ;(await call(2)).head().events(delta("Hello"))
      await unread
      const waiting = ask()
      await call(3)
      const stopped = stop()
      await settle()
      await pass(29_000)
      expect(reading.over).toBe("no")
      await pass(3000)
      await stopped
      expect(brokenWith(reading.text)).toBe(503)
      const late = await new Reading(await waiting).all()
      expect([brokenWith(late.text), contentOf(readStrictly(late.text).events)]).toEqual([503, ""])
      expect((await rows()).map(({ outcome, cost }) => [outcome, cost > 0n])).toEqual([
        ["cut", true],
        ["cut", true],
      ])
      expect(await reserved()).toBe(0n)
    }))
})

test("a limit of 0 switches it off", () =>
  inTimedGateway(
    {
      limits: {
        ttfb_ms: 0,
        idle_ms: 0,
        thinking_idle_ms: 0,
        deadline_ms: 0,
        stream_ms: 0,
        client_stall_ms: 0,
        stream_bytes: 0,
        min_bytes_per_s: 0,
        max_in_flight: 0,
        body_bytes: 0,
      },
    },
    async ({ ask, call, pass, settle }) => {
      const asked = ask()
      const host = await call()
      await pass(3000)
      host.head().events(delta("Hello "))
      const reading = new Reading(await asked)
      await pass(3000)
      const ended = reading.all()
      await pass(3000)
      host.events(delta("world"), finish, done)
      await settle()
      expect(contentOf(readStrictly((await ended).text).events)).toBe("Hello world")
    },
  ))

describe("several causes that may end a stream, in any order", () => {
  const signals = ["finish", "break", "error", "abort", "cancel", "deadline"] as const

  test("the stream is booked once, and the caller sees one end", () =>
    inTimedGateway({ limits: { stream_ms: 50_000, breaker: { open_s: 0 } } }, async (gateway) => {
      const act = async (
        signal: (typeof signals)[number],
        host: HostCall,
        leave: AbortController,
        reading: Reading,
      ) => {
        if (signal === "finish") host.events(finish, usage, done)
        else if (signal === "break") host.break()
        else if (signal === "error") host.events('{"error":{"code":500}}')
        else if (signal === "abort") leave.abort()
        else if (signal === "cancel") void reading.leave()
        else await gateway.pass(51_000)
      }
      const Step = FastCheck.record({ signal: FastCheck.constantFrom(...signals), gap: FastCheck.nat(3) })
      const Steps = FastCheck.uniqueArray(Step, { minLength: 1, maxLength: 4, selector: ({ signal }) => signal })
      const requests = new Set<string>()
      let total = 0n
      await FastCheck.assert(
        FastCheck.asyncProperty(Steps, FastCheck.boolean(), async (steps, reads) => {
          const leave = new AbortController()
          const asked = gateway.ask({}, leave.signal)
          const host = (await gateway.call(gateway.calls.length + 1)).head().events(delta("Hello"))
          const reading = new Reading(await asked)
          const ended = reads ? reading.all() : undefined
          for (const { signal, gap } of steps) {
            for (let turn = 0; turn < gap; turn++) await Promise.resolve()
            if (gap === 3) await gateway.settle()
            await act(signal, host, leave, reading)
          }
          // If the stream is still open, its caller leaves.
          await gateway.settle()
          if (ended === undefined && !leave.signal.aborted) await reading.all().catch(() => {})
          leave.abort()
          // The host of a caller who left is read on for a second.
          await gateway.pass(1100)

          // Its row, and the one before.
          const [row, previous] = await gateway.rows(2)
          expect([requests.has(row?.requestId ?? ""), previous?.requestId]).toEqual([false, [...requests].at(-1)])
          requests.add(row?.requestId ?? "")
          total += row?.cost ?? 0n
          expect(await gateway.reserved()).toBe(0n)
          expect(await gateway.total()).toBe(total)
          if (reading.text.includes("[DONE]")) {
            const { events } = readStrictly(reading.text)
            const [last] = finishesOf(events)
            expect(finishesOf(events).length).toBe(1)
            expect(row?.generationId).toBe(String(last?.["id"]))
            expect(JSON.parse(JSON.stringify(last?.["usage"])).cost).toBe(Number(row?.cost) / 1e12)
          }
        }),
        { numRuns: 200 },
      )
    }))
})

describe("two hosts, either of which may fail anywhere", () => {
  const words = (who: string, count: number) => Array.from({ length: count }, (_, at) => `${who}${at} `)
  const Course = FastCheck.record({
    said: FastCheck.nat(4),
    last: FastCheck.constantFrom("finish", "break", "end", "error", "nonsense", "role"),
  })

  test("the caller gets the beginning of exactly one host's answer", () =>
    inTimedGateway({ hosts: ["a", "b"], limits: { retries: 0, breaker: { open_s: 0 } } }, async (gateway) => {
      await FastCheck.assert(
        FastCheck.asyncProperty(Course, Course, FastCheck.boolean(), async (first, second, apart) => {
          const begun = gateway.calls.length
          const asked = gateway.ask()
          const courses = [first, second]
          let ended = false
          const finished = asked.then(async (response) => {
            const text = response.status === 200 ? (await new Reading(response).all()).text : ""
            ended = true
            return { status: response.status, text }
          })
          for (let turn = 0; !ended && turn < 60; turn++) {
            await gateway.settle()
            const next = gateway.calls[begun + 2 - courses.length]
            const course = courses[0]
            if (next === undefined || course === undefined) continue
            courses.shift()
            next.head()
            for (const word of words(next.port === 1 ? "a" : "b", course.said)) {
              next.events(delta(word))
              if (apart) await gateway.settle()
            }
            if (course.last === "finish") next.events(finish, done)
            else if (course.last === "break") next.break()
            else if (course.last === "end") next.end()
            else if (course.last === "error") next.events('{"error":{"code":500}}').end()
            else if (course.last === "nonsense") next.events("x", "x", "x").end()
            else next.events(chunkOf({ delta: { role: "assistant" } })).end()
          }
          const { status, text } = await finished
          const content = status === 200 ? contentOf(readStrictly(text).events) : ""
          const whole = { a: words("a", first.said).join(""), b: words("b", second.said).join("") }
          expect(whole.a.startsWith(content) || whole.b.startsWith(content)).toBe(true)
          if (first.last === "finish") expect([status, content]).toEqual([200, whole.a])
          else if (content !== "" && whole.a.startsWith(content)) expect(brokenWith(text)).toBe(502)
          else if (content === "" && second.last === "finish") expect([status, second.said]).toEqual([200, 0])
          expect(await gateway.reserved()).toBe(0n)
        }),
        { numRuns: 150 },
      )
    }))
})

describe("a plugin that throws", () => {
  const throwing = (what: keyof Protocol) =>
    defineProvider({
      id: "mistaken",
      name: "Mistaken",
      config: Schema.Struct({}),
      load: () => ({
        protocols: {
          chat: {
            ...chatProtocol(),
            [what]: () => {
              throw new Error("a plugin's mistake")
            },
          },
        },
        error: httpError,
      }),
    })

  test.each(["encode", "decoder"] as const)("in %s: nothing is reserved, and it is a failure of its host", (what) =>
    inTimedGateway({ plugin: throwing(what) }, async ({ ask, calls, settle, reserved, rows }) => {
      const asked = ask()
      await settle()
      for (const host of calls) host.head().events(delta("Hello"))
      const response = await asked
      expect([response.status, await response.json()]).toMatchObject([502, { error: { code: 502 } }])
      expect(await reserved()).toBe(0n)
      expect(await rows()).toEqual([])
    }),
  )

  test("after the head was sent: an error in the stream", () =>
    inTimedGateway({ plugin: throwing("decoder") }, async ({ listen, call, pass, reserved }) => {
      const asked = listen()
      const host = await call()
      await pass(11_000)
      const reading = await asked
      host.head().events(delta("Hello"))
      await pass(100)
      expect([reading.over, brokenWith(reading.text)]).toEqual(["ended", 502])
      expect(await reserved()).toBe(0n)
    }))

  test("is a failure of the host, and the next one is called", () => {
    const failing = defineProvider({
      id: "mistaken",
      name: "Mistaken",
      config: Schema.Struct({}),
      load: () => ({
        protocols: {
          chat: {
            ...chatProtocol(),
            decoder: () => ({ event: () => new HostFailed({ reason: "overloaded" }), end: () => [] }),
          },
        },
        error: httpError,
      }),
    })
    return inTimedGateway({ plugin: failing }, async ({ ask, call, reserved }) => {
      const asked = ask()
      const host = (await call()).head().events(delta("Hello"))
      expect((await asked).status).toBe(502)
      expect(host.cancelled).toBe(true)
      expect(await reserved()).toBe(0n)
    })
  })
})
