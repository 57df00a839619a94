/** Bodies that come slowly, and what one key may have in flight: on real sockets. docs/guarantees.md#g17, #g23 and #g30 */
import { describe, expect, test } from "bun:test"
import * as Layer from "effect/Layer"
import { errorOf } from "../../support/clients/answers.ts"
import { answersIn, type RawCaller, rawCaller, requestOf } from "../../support/clients/rawCaller.ts"
import { ManualClock, pass } from "../../support/clocks/manualClock.ts"
import { until } from "../../support/clocks/until.ts"
import { startGateway } from "../../support/gateways/gateway.ts"
import { closeAfterEach, opened } from "../../support/gateways/watched.ts"
import { configFor, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"

closeAfterEach()

const mebibyte = 1_048_576
const longest = 32 * mebibyte
const path = "POST /api/v1/chat/completions"
const small = { model: "acme/small", messages: [{ role: "user", content: "hi" }], max_tokens: 10 }

const start = async (limits: Record<string, unknown> = {}) => {
  const clock = new ManualClock()
  let held: Array<() => void> = []
  const host = opened(
    scriptedHost((body) =>
      body["user"] === "held"
        ? new Promise<Response>((resolve) => held.push(() => resolve(wholeAnswer("late"))))
        : wholeAnswer("fine"),
    ),
  )
  const gateway = opened(
    await startGateway({ config: { ...configFor({ acme: host }), limits }, setting: Layer.setClock(clock) }),
  )
  const callers: Array<RawCaller> = []
  opened({
    stop: async () => {
      for (const caller of callers) caller.hangUp()
      await pass(clock, 1000)
    },
  })
  return {
    ...gateway,
    clock,
    host,
    held: () => held.length,
    release: () => {
      for (const answer of held) answer()
      held = []
    },
    ask: (key: string, body: unknown = small) => gateway.chat(body, { headers: { authorization: `Bearer ${key}` } }),
    /** A connection that has sent the head of a request and `sent` of its body. */
    begin: (key: string, framing: Record<string, string>, sent = "") => {
      const caller = rawCaller(gateway.url)
      callers.push(caller)
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json", ...framing }
      caller.send(requestOf(path, headers) + sent)
      return caller
    },
  }
}

const announced = (bytes: number) => ({ "content-length": String(bytes) })
const onlyOne = (text: string) => {
  const [answer, ...more] = answersIn(text)
  expect(more).toEqual([])
  if (answer === undefined) throw new Error("no answer")
  return answer
}
const answered = async (caller: RawCaller) => onlyOne(await caller.until((text) => answersIn(text).length > 0))
const turns = async (count = 20) => {
  for (let turn = 0; turn < count; turn++) await Bun.sleep(1)
}

describe("one key's", () => {
  test("1,100 connections that send a byte each were 503 for everybody: they take no place from others", async () => {
    const gateway = await start()
    const other = await gateway.newKey()
    const callers = Array.from({ length: 1100 }, () => gateway.begin(gateway.key, announced(1000), "{"))
    let refused = 0
    for (const caller of callers) {
      caller
        .until((text) => answersIn(text).length > 0)
        .then(
          () => (refused += 1),
          () => {},
        )
    }
    await until(() => refused === 1100 - 256, "the refusals")
    expect((await gateway.ask(other)).status).toBe(200)
    // The key itself is told that it has too much in flight, and is served again when its bodies are over.
    const error = await errorOf(await gateway.ask(gateway.key))
    expect(error).toMatchObject({
      code: 429,
      message: "This key has 256 requests in flight, which is as many as it may.",
      metadata: { error_type: "rate_limit_exceeded", limit_source: "gateway_key_in_flight" },
    })
    await pass(gateway.clock, 31_000)
    await until(async () => (await gateway.ask(gateway.key)).status === 200, "a place for the key")
  }, 1_800_000)

  test("requests above a quarter of the places wait for none of the others: 429, and nothing counts against its rate", async () => {
    const gateway = await start({ max_in_flight: 400 })
    const key = await gateway.newKey({ rateLimit: { requests: 101, intervalSeconds: 3600 } })
    const asked = Array.from({ length: 100 }, () => gateway.ask(key, { ...small, user: "held" }))
    await until(() => gateway.held() === 100, "the calls")
    for (let one = 0; one < 5; one++) {
      const response = await gateway.ask(key)
      expect([response.status, response.headers.get("retry-after")]).toEqual([429, "1"])
    }
    expect((await gateway.ask(await gateway.newKey())).status).toBe(200)
    gateway.release()
    await Promise.all(asked)
    expect((await gateway.ask(key)).status).toBe(200)
  })

  test("long bodies of more than 64 MiB at once are refused with 429, others' are not", async () => {
    const gateway = await start()
    const other = await gateway.newKey()
    const part = Buffer.alloc(longest - 1, " ")
    // Of three, two fit. The third is told so when all of it has come.
    const beginThree = () =>
      [0, 1, 2].map(() => {
        const caller = gateway.begin(gateway.key, announced(longest))
        caller.send(part)
        return caller
      })
    let callers = beginThree()
    await until(async () => {
      const other = gateway.begin(gateway.key, announced(longest))
      other.send(Buffer.alloc(longest, " "))
      const { status } = await answered(other)
      if (status === 400) {
        // It came before them, and one of the two was refused in its place.
        for (const caller of callers) caller.hangUp()
        await pass(gateway.clock, 500)
        callers = beginThree()
        return false
      }
      const error = await errorOf(await answered(other))
      expect(error).toMatchObject({ code: 429, metadata: { limit_source: "gateway_key_in_flight" } })
      expect(error.message).toContain("67108864 bytes")
      return true
    }, "the refusal")
    const long = { ...small, messages: [{ role: "user", content: "word ".repeat(40_000) }] }
    expect((await errorOf(await gateway.ask(other, long))).metadata).toMatchObject({
      error_type: "context_length_exceeded",
    })
    // A short one of the key needs no room.
    expect((await gateway.ask(gateway.key)).status).toBe(200)
    // What the two had is free again.
    for (const caller of callers) caller.hangUp()
    await pass(gateway.clock, 500)
    const again = gateway.begin(gateway.key, announced(longest))
    again.send(part)
    again.send("x")
    expect((await answered(again)).status).toBe(400)
  }, 1_800_000)
})

describe("a body", () => {
  test("that kept coming was cut off after 30 seconds in all: it may take until the deadline", async () => {
    const gateway = await start({ deadline_ms: 600_000 })
    const text = JSON.stringify({
      ...small,
      messages: [{ role: "user", content: "a ".repeat(50) + " ".repeat(200_000) }],
    })
    const caller = gateway.begin(gateway.key, announced(text.length))
    const piece = Math.ceil(text.length / 20)
    for (let at = 0; at < text.length; at += piece) {
      caller.send(text.slice(at, at + piece))
      await turns(5)
      await pass(gateway.clock, 5000)
    }
    // It was read to its end: the prompt is too long for the model.
    expect((await errorOf(await answered(caller))).metadata).toMatchObject({ error_type: "context_length_exceeded" })
  })

  test.each([
    ["announced", announced(1_000_000), (bytes: string) => bytes],
    [
      "in chunks of a byte",
      { "transfer-encoding": "chunked" },
      (bytes: string) => [...bytes].map((byte) => `1\r\n${byte}\r\n`).join(""),
    ],
  ])(
    "that drips at ten bytes a second lasted as long as it liked: 408, and the connection ends (%s)",
    async (_, framing, framed) => {
      const gateway = await start()
      const caller = gateway.begin(gateway.key, framing, framed("{"))
      let said: string | undefined
      caller.closed.then((text) => {
        said = text
      })
      let seconds = 0
      for (; said === undefined && seconds < 60; seconds++) {
        caller.send(framed(" ".repeat(10)))
        await turns(3)
        await pass(gateway.clock, 1000)
      }
      expect(seconds).toBeWithin(10, 30)
      const response = onlyOne(said ?? "")
      expect([response.status, response.headers.get("connection")]).toEqual([408, "close"])
      expect((await errorOf(response)).metadata).toEqual({ error_type: "timeout", phase: "body" })
    },
  )

  test.each([1000, 1_000_000])(
    "of %d bytes that is not there at the deadline left the connection open: 408, and it ends",
    async (bytes) => {
      const gateway = await start({ deadline_ms: 5000 })
      const caller = gateway.begin(gateway.key, announced(bytes), "{")
      await turns()
      await pass(gateway.clock, 6000)
      const response = onlyOne(await caller.closed)
      expect([response.status, response.headers.get("connection")]).toEqual([408, "close"])
      expect(await errorOf(response)).toMatchObject({
        message: "The request body was not complete after 5 seconds.",
        metadata: { phase: "body" },
      })
    },
  )

  test("that is still arriving takes no place: a request that is complete is served before it", async () => {
    const gateway = await start({ max_in_flight: 2 })
    const callers = Array.from({ length: 6 }, () => gateway.begin(gateway.key, announced(1000), "{"))
    await turns()
    expect((await gateway.ask(gateway.key)).status).toBe(200)
    const asked = [0, 1].map(() => gateway.ask(gateway.key, { ...small, user: "held" }))
    await until(() => gateway.held() === 2, "the calls")
    // Now both places are taken. A body that has come finds none.
    const [first] = callers
    first?.send(" ".repeat(999))
    if (first !== undefined) expect((await answered(first)).status).toBe(503)
    gateway.release()
    for (const one of asked) expect((await one).status).toBe(200)
  })

  test("gets its place when 64 KiB of it have come", async () => {
    const gateway = await start({ max_in_flight: 1 })
    const caller = gateway.begin(gateway.key, announced(1_000_000), " ".repeat(65_536))
    await turns()
    expect((await gateway.ask(gateway.key)).status).toBe(200)
    caller.send(" ")
    await until(async () => (await gateway.ask(gateway.key)).status === 503, "the place to be taken")
    caller.hangUp()
    await pass(gateway.clock, 500)
    expect((await gateway.ask(gateway.key)).status).toBe(200)
  })
})
