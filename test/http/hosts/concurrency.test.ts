/** `max_concurrent` of a provider, and that every way to end gives a place back. docs/guarantees.md#g16 */
import { describe, expect, test } from "bun:test"
import { errorOf } from "../../support/clients/answers.ts"
import { type Clocked, clocked } from "../../support/clocks/clocked.ts"
import { until } from "../../support/clocks/until.ts"
import { type Answer, ask, good, says, silent, status } from "../../support/gateways/routed.ts"
import { closeAfterEach } from "../../support/gateways/watched.ts"
import { chunkOf, sse, wholeAnswer } from "../../support/hosts/host.ts"

closeAfterEach()

const one = { providers: { first: { max_concurrent: 1 } } }
const word = chunkOf({ delta: { content: "a" }, finish_reason: null })

/** Answers each call when the test says so. */
const held = () => {
  const waiting: Array<PromiseWithResolvers<Response>> = []
  const answer: Answer = () => {
    const next = Promise.withResolvers<Response>()
    waiting.push(next)
    return next.promise
  }
  return { answer, waiting, release: () => waiting.shift()?.resolve(wholeAnswer("fine")) }
}

describe("a provider with `max_concurrent`", () => {
  test("gets no more requests at once; the others go to the next host", async () => {
    const { answer, waiting, release } = held()
    const gateway = await clocked({ first: answer, next: good() }, { providers: { first: { max_concurrent: 3 } } })
    const asked = Array.from({ length: 10 }, () => gateway.chat(ask()))
    await until(() => gateway.calls("next") === 7 && waiting.length === 3, "all calls")
    for (let at = 0; at < 3; at++) release()
    expect((await Promise.all(asked)).map((response) => response.status)).toEqual(asked.map(() => 200))
    expect(gateway.calls("first")).toBe(3)
  })

  test("and no other host: 503 and to come back in a second", async () => {
    const { answer, waiting, release } = held()
    const gateway = await clocked({ first: answer }, one)
    const asked = gateway.chat(ask())
    await until(() => waiting.length === 1, "the call")
    for (const stream of [false, true]) {
      const refused = await gateway.chat(ask({ stream }))
      expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "1"])
      const { message, metadata, availability } = await errorOf(refused)
      expect(message).toContain("as many requests")
      expect(availability).toMatchObject({ code: "temporarily_unavailable", retryable: true, retry_after: 1 })
      expect(metadata).toMatchObject({ error_type: "provider_overloaded", previous_errors: [] })
    }
    release()
    expect((await asked).status).toBe(200)
  })

  test("counts the requests of all its models together", async () => {
    const { answer, waiting, release } = held()
    const gateway = await clocked({ first: answer, next: good() }, one)
    const asked = gateway.chat(ask())
    await until(() => waiting.length === 1, "the call")
    expect((await gateway.chat(ask())).headers.get("x-gw-host")).toBe("next")
    release()
    await asked
  })
})

/** What the first call meets, and how its caller sees it end. */
type Ending = (gateway: Clocked) => Promise<unknown>

const whole: Ending = async (gateway) => (await gateway.chat(ask())).text()
const streamed: Ending = async (gateway) => (await gateway.chat(ask({ stream: true }))).text()

/** The caller leaves once the host is called; the gateway looks for that on its clock. */
const leaves =
  (stream: boolean): Ending =>
  async (gateway) => {
    const leaving = new AbortController()
    const asked = gateway.chat(ask({ stream }), { signal: leaving.signal })
    await until(() => gateway.calls("first") === 1, "the call")
    leaving.abort()
    await asked.catch(() => {})
  }

const leavesMidStream: Ending = async (gateway) => {
  const leaving = new AbortController()
  const response = await gateway.chat(ask({ stream: true }), { signal: leaving.signal })
  await response.body?.getReader().read()
  leaving.abort()
}

const meetsDeadline =
  (stream: boolean): Ending =>
  async (gateway) => {
    let isOver = false
    void gateway.chat(ask({ stream })).then(async (response) => {
      await response.text()
      isOver = true
    })
    await until(() => gateway.calls("first") === 1, "the call")
    await until(() => {
      gateway.clock.advance(10_000)
      return isOver
    }, "the deadline")
  }

const endings: ReadonlyArray<readonly [name: string, answer: Answer, ending: Ending]> = [
  ["a whole answer", good(), whole],
  ["a stream", good(), streamed],
  ["500", status(500), whole],
  ["500 in place of a stream", status(500), streamed],
  ["400", status(400), whole],
  ["429", status(429), streamed],
  ["no answer at all", () => new Response("<html>"), whole],
  ["a stream that breaks off before its first event", () => sse([]), streamed],
  ["a stream that breaks off after it", () => sse([word]), streamed],
  ["an error in the stream", () => sse([word, '{"error":{"code":500}}']), streamed],
  ["a caller who leaves before the head of a whole answer", silent, leaves(false)],
  ["a caller who leaves before the head of a stream", silent, leaves(true)],
  ["a caller who leaves within a stream", says(word), leavesMidStream],
  ["the deadline of a whole answer", silent, meetsDeadline(false)],
  ["the deadline before the first event", silent, meetsDeadline(true)],
]

const ignoring = { cooldown: { rate_limit_s: 0 }, breaker: { open_s: 0 } }

describe("after each way to end", () => {
  test.each(endings)("%s: the place is given back", async (_, answer, ending) => {
    const { answer: slow, waiting, release } = held()
    let next = answer
    const gateway = await clocked({ first: (...call) => next(...call) }, { ...one, limits: ignoring })
    await ending(gateway)
    next = good()
    await until(async () => {
      gateway.clock.advance(100)
      const response = await gateway.chat(ask())
      await response.text()
      return response.status === 200
    }, "a place")
    // Nor was it given back twice.
    next = slow
    const asked = gateway.chat(ask())
    await until(() => waiting.length === 1, "the call")
    expect((await gateway.chat(ask())).status).toBe(503)
    release()
    await asked
  })
})

test("a request that the key cannot pay takes no place", async () => {
  const gateway = await clocked({ first: good() }, one)
  const key = await gateway.newKey({ limit: 1n })
  for (let at = 0; at < 3; at++) {
    const response = await gateway.chat(ask(), { headers: { authorization: `Bearer ${key}` } })
    expect(response.status).toBe(402)
  }
  expect((await gateway.chat(ask())).status).toBe(200)
})
