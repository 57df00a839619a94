/** What a caller who leaves pays, and how long its host is read on, under a clock that the test advances. docs/guarantees.md#g5 and #g15 */
import { describe, expect, test } from "bun:test"
import { KeyId } from "../../../src/domain/ids.ts"
import { ReadingOn } from "../../../src/services/dispatch/ReadingOn.ts"
import { until } from "../../support/clocks/until.ts"
import { inTimedGateway, Reading, type TimedGateway, type TimedOptions } from "../../support/gateways/timedGateway.ts"
import { chunkOf } from "../../support/hosts/host.ts"

const delta = (content: string) => chunkOf({ delta: { content }, finish_reason: null })
const saying = (said: Record<string, unknown>) => chunkOf({ delta: said, finish_reason: null })
const finish = chunkOf({ delta: {}, finish_reason: "stop" })
const usage = JSON.stringify({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 5 } })
const costOfUsage = 20_000_000n

/** A stream that has said these events, and whose caller is about to leave. */
const begun = async ({ ask, calls, call }: TimedGateway, events: ReadonlyArray<string>, more = {}) => {
  const asked = ask(more)
  const host = (await call(calls.length + 1)).head().events(...events)
  const reading = new Reading(await asked)
  await reading.one()
  return { host, reading }
}

const rowOf = async ({ rows, settle }: TimedGateway) => {
  await settle()
  return (await rows(1))[0]
}

const leaving = (
  name: string,
  body: (gateway: TimedGateway) => Promise<void>,
  options: TimedOptions = { host: { max_completion_tokens: 4096 } },
) => test(name, () => inTimedGateway(options, body))

describe("after something was said", () => {
  leaving("the usage that comes within a second is what the caller pays", async (gateway) => {
    const { host, reading } = await begun(gateway, [delta("Hello")])
    await reading.leave()
    await gateway.pass(800)
    expect([host.aborted, host.cancelled, (await gateway.rows()).length]).toEqual([false, false, 0])
    host.events(delta(" world"), finish, usage, "[DONE]")
    expect(await rowOf(gateway)).toMatchObject({ outcome: "caller-gone", estimated: false, cost: costOfUsage })
    expect(await gateway.reserved()).toBe(0n)
  })

  leaving("a host that has not ended after a second is cancelled, and an estimate is paid", async (gateway) => {
    const { host, reading } = await begun(gateway, [delta("Hello")])
    await reading.leave()
    await gateway.pass(900)
    expect(host.aborted || host.cancelled).toBe(false)
    await gateway.pass(200)
    expect(host.aborted || host.cancelled).toBe(true)
    expect(await rowOf(gateway)).toMatchObject({ outcome: "caller-gone", estimated: true, completionTokens: 2 })
  })

  leaving("a host that breaks off then is not blamed, and what was said is paid", async (gateway) => {
    const { host, reading } = await begun(gateway, [delta("Hello")])
    await reading.leave()
    host.break()
    expect(await rowOf(gateway)).toMatchObject({ outcome: "caller-gone", estimated: true, waived: null })
  })

  leaving("nine callers of one key: eight hosts are read on, the ninth is cancelled at once", async (gateway) => {
    const streams = []
    for (let at = 0; at < 9; at++) streams.push(await begun(gateway, [delta("Hello")]))
    for (const { reading } of streams) await reading.leave()
    await gateway.settle()
    expect(streams.map(({ host }) => host.aborted || host.cancelled)).toEqual([...Array(8).fill(false), true])
    await gateway.pass(1100)
    expect(streams.every(({ host }) => host.aborted || host.cancelled)).toBe(true)
    const again = await begun(gateway, [delta("Hello")])
    await again.reading.leave()
    again.host.events(finish, usage, "[DONE]")
    expect(await rowOf(gateway)).toMatchObject({ cost: costOfUsage })
  })

  leaving(
    "a caller who is cut because it takes no bytes: the usage that comes then is paid",
    async (gateway) => {
      const asked = gateway.ask()
      const host = (await gateway.call()).head().events(delta("Hello"))
      await asked
      for (let at = 0; at < 3; at++) {
        host.events(delta("more "))
        await gateway.pass(500)
      }
      host.events(finish, usage, "[DONE]")
      await gateway.pass(2000)
      expect(await rowOf(gateway)).toMatchObject({ outcome: "cut", estimated: false, cost: costOfUsage })
    },
    { limits: { client_stall_ms: 1000 } },
  )
})

leaving("before anything was said the host is cancelled at once", async (gateway) => {
  const role = saying({ role: "assistant", content: "" })
  const { host, reading } = await begun(gateway, [role, saying({ reasoning: "Let me see" })])
  await reading.leave()
  await gateway.settle()
  expect(host.aborted || host.cancelled).toBe(true)
  expect(await rowOf(gateway)).toMatchObject({ outcome: "caller-gone", estimated: true, completionTokens: 3 })
})

leaving(
  "a deadline between the finish and the usage: the answer is told to its end",
  async (gateway) => {
    const { host, reading } = await begun(gateway, [delta("Hello")])
    const read = reading.all()
    await gateway.pass(4500)
    host.events(finish)
    await gateway.pass(600)
    expect(reading.over).toBe("no")
    host.events(usage, "[DONE]")
    await gateway.settle()
    await read
    expect(reading.text).toContain('"finish_reason":"stop"')
    expect(await rowOf(gateway)).toMatchObject({ outcome: "finished", estimated: false, cost: costOfUsage })
  },
  { limits: { stream_ms: 5000 } },
)

leaving(
  "a deadline after the finish, and no usage within a second: the finish stands",
  async (gateway) => {
    const { host, reading } = await begun(gateway, [delta("Hello")])
    const read = reading.all()
    await gateway.pass(4500)
    host.events(finish)
    await gateway.pass(600)
    await gateway.pass(1100)
    await read
    expect(await rowOf(gateway)).toMatchObject({ outcome: "finished", estimated: true })
  },
  { limits: { stream_ms: 5000 } },
)

const png = `data:image/png;base64,${"A".repeat(40_000)}`
const image = { type: "image_url", image_url: { url: png } }
const sound = Buffer.alloc(48_000).toString("base64")

describe("everything that a host sends counts as output", () => {
  const pieces: ReadonlyArray<readonly [name: string, said: Record<string, unknown>, tokens: number]> = [
    ["an image", { images: [image] }, 1290],
    ["twenty images", { images: Array(20).fill(image) }, 25_800],
    ["a second of sound", { audio: { id: "a", data: sound } }, 25],
    ["a transcript", { audio: { transcript: "12345678" } }, 2],
    ["reasoning as pieces", { reasoning_details: [{ type: "reasoning.text", text: "12345678" }] }, 2],
    [
      "reasoning as text and as pieces",
      { reasoning: "1234", reasoning_details: [{ type: "reasoning.text", text: "1234" }] },
      1,
    ],
    ["encrypted reasoning", { reasoning_details: [{ type: "reasoning.encrypted", data: "12345678" }] }, 2],
    ["a refusal", { refusal: "12345678" }, 2],
    [
      "arguments of a call",
      { tool_calls: [{ index: 0, id: "c", type: "function", function: { name: "name", arguments: '{"a"' } }] },
      2,
    ],
    ["a citation", { annotations: [{ type: "url_citation", url_citation: { url: "12345678", title: "1234" } }] }, 3],
    ["what the gateway does not know", { novelty: "12345678" }, 2],
  ]

  for (const [name, said, tokens] of pieces) {
    leaving(
      `${name}: ${tokens} tokens for a caller who leaves before the usage`,
      async (gateway) => {
        const { reading } = await begun(gateway, [saying(said)], { max_tokens: 40_000 })
        await reading.leave()
        await gateway.pass(1100)
        expect(await rowOf(gateway)).toMatchObject({ outcome: "caller-gone", completionTokens: tokens })
      },
      { host: { max_completion_tokens: 100_000 } },
    )
  }
})

describe("a model that may reason unseen", () => {
  const reasons = { host: { max_completion_tokens: 4096, supported_parameters: ["reasoning", "max_tokens"] } }

  leaving(
    "is paid for the time that it took, at 50 tokens a second where its speed is unknown",
    async (gateway) => {
      const asked = gateway.ask({ max_tokens: 4000 })
      const host = (await gateway.call()).head()
      await gateway.pass(21_000)
      host.events(delta("Hello"))
      const reading = new Reading(await asked)
      await reading.one()
      await reading.leave()
      await gateway.pass(1100)
      // 21 seconds and the one for which it was read on, without the first.
      const row = await rowOf(gateway)
      expect(row).toMatchObject({ outcome: "caller-gone", estimated: true })
      expect(row?.completionTokens).toBeWithin(1000, 1110)
      expect(row?.reasoningTokens).toBe((row?.completionTokens ?? 0) - 2)
    },
    reasons,
  )

  leaving(
    "is paid its reservation at most",
    async (gateway) => {
      const asked = gateway.ask({ max_tokens: 100 })
      const host = (await gateway.call()).head()
      await gateway.pass(21_000)
      host.events(delta("Hello"))
      const reserved = await gateway.reserved()
      const reading = new Reading(await asked)
      await reading.one()
      await reading.leave()
      await gateway.pass(1100)
      const row = await rowOf(gateway)
      expect(row).toMatchObject({ completionTokens: 100, reasoningTokens: 98 })
      expect(row?.cost).toBeLessThanOrEqual(reserved)
    },
    reasons,
  )

  leaving(
    "is paid before it has said anything, too, and not if reasoning is off",
    async (gateway) => {
      for (const [more, tokens] of [
        [{}, 250],
        [{ reasoning: { enabled: false } }, 0],
      ] as const) {
        const leave = new AbortController()
        const asked = gateway.ask({ max_tokens: 4000, ...more }, leave.signal).catch(() => undefined)
        await gateway.call(gateway.calls.length + 1)
        await gateway.pass(6000)
        leave.abort()
        await asked
        expect((await rowOf(gateway))?.completionTokens).toBeWithin(tokens === 0 ? 0 : tokens - 10, tokens + 10)
      }
    },
    reasons,
  )

  leaving(
    "was free where the caller had asked for none, or for one token, of a model that cannot be told so",
    async (gateway) => {
      for (const reasoning of [{ enabled: false }, { effort: "none" }, { max_tokens: 1 }, { max_tokens: 0 }]) {
        const leave = new AbortController()
        const asked = gateway.ask({ max_tokens: 4000, reasoning }, leave.signal).catch(() => undefined)
        await gateway.call(gateway.calls.length + 1)
        await gateway.pass(6000)
        leave.abort()
        await asked
        expect((await rowOf(gateway))?.completionTokens).toBeWithin(240, 260)
      }
    },
    { ...reasons, model: { reasoning: { supported_efforts: ["low", "high"] } } },
  )

  leaving(
    "and shows its reasoning as text hides nothing when it ends without a usage",
    async (gateway) => {
      const asked = gateway.ask({ max_tokens: 4000 })
      const host = (await gateway.call()).head().events(saying({ reasoning: "12345678" }))
      const read = new Reading(await asked).all()
      await gateway.pass(6000)
      host.events(delta("Hello"), finish, "[DONE]")
      await gateway.settle()
      await read
      expect(await rowOf(gateway)).toMatchObject({ outcome: "finished", completionTokens: 4 })
    },
    reasons,
  )
})

leaving("a whole answer that its caller did not wait for: what was probably made of it", async (gateway) => {
  const leave = new AbortController()
  const asked = gateway.ask({ stream: false, max_tokens: 4000 }, leave.signal).catch(() => undefined)
  await gateway.call()
  await gateway.pass(6000)
  leave.abort()
  await asked
  const row = await rowOf(gateway)
  expect(row).toMatchObject({ outcome: "caller-gone", estimated: true, streamed: false })
  expect(row?.completionTokens).toBeWithin(240, 260)
})

test("32 hosts are read on at once, 8 of one key, and a place that is left is free again", () => {
  const places = new ReadingOn()
  const key = (at: number) => KeyId.make(`key-${at}`)
  for (let at = 0; at < 4; at++) for (let of = 0; of < 8; of++) expect(places.enter(key(at))).toBe(true)
  expect(places.enter(key(9))).toBe(false)
  places.leave(key(0))
  expect([places.enter(key(1)), places.enter(key(9)), places.enter(key(0))]).toEqual([false, true, false])
  places.leave(key(7))
  expect(places.enter(key(7))).toBe(false)
})

describe("a hundred streams of one key left at the last word paid 28 to 38 % of the bill", () => {
  /** A prompt of 30 kB that has a token for each byte. */
  const messages = [{ role: "user", content: "x".repeat(30_000) }]
  const bill = JSON.stringify({ choices: [], usage: { prompt_tokens: 30_000, completion_tokens: 40 } })

  for (const late of [0, 1500]) {
    leaving(`the usage comes ${late} ms after the finish: at least 90 %`, async (gateway) => {
      const streams = []
      for (let at = 0; at < 20; at++) streams.push(await begun(gateway, [delta("word ".repeat(32))], { messages }))
      for (const { reading } of streams) await reading.leave()
      for (const { host } of streams) host.events(finish)
      await gateway.settle()
      if (late > 0) await gateway.pass(late)
      for (const { host } of streams) host.events(bill, "[DONE]")
      await gateway.pass(100)
      await until(async () => (await gateway.rows()).length >= 20, "the rows")
      const rows = await gateway.rows()
      expect(rows).toHaveLength(20)
      expect(rows.filter(({ estimated }) => estimated)).toHaveLength(12)
      const paid = rows.reduce((sum, { cost }) => sum + cost, 0n)
      expect(Number(paid) / (20 * Number(rows.find(({ estimated }) => !estimated)?.cost))).toBeGreaterThanOrEqual(0.9)
      expect(await gateway.reserved()).toBe(0n)
    })
  }
})
