/** Hosts that bill an answer although its call was cancelled (`bills_after_abort`). docs/guarantees.md#g5 and #g15 */
import { describe, expect, test } from "bun:test"
import { inTimedGateway, Reading, type TimedGateway, type TimedOptions } from "../../support/gateways/timedGateway.ts"
import { chunkOf } from "../../support/hosts/host.ts"

const delta = (content: string) => chunkOf({ delta: { content }, finish_reason: null })
const finish = chunkOf({ delta: {}, finish_reason: "stop" })
const usage = JSON.stringify({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 5 } })
const whole = () =>
  Response.json({
    choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
    usage: { prompt_tokens: 10, completion_tokens: 5 },
  })
const counted = { outcome: "caller-gone", estimated: false, cost: 20_000_000n } as const

const billing: TimedOptions = { host: { bills_after_abort: true } }

const lastRow = async ({ rows, settle }: TimedGateway) => {
  await settle()
  return (await rows(1))[0]
}

/** A call whose caller has left before anything came. */
const left = async (gateway: TimedGateway, body: Record<string, unknown>) => {
  const caller = new AbortController()
  const asked = gateway.ask(body, caller.signal).catch(() => undefined)
  const host = await gateway.call(gateway.calls.length + 1)
  caller.abort()
  await gateway.settle()
  return { asked, host }
}

const leaving = (name: string, options: TimedOptions, run: (gateway: TimedGateway) => Promise<void>) =>
  test(name, () => inTimedGateway(options, run))

describe("a caller who left paid for the prompt alone, and the host billed the answer", () => {
  leaving("a whole answer: it is read on for a minute, and paid as the host counts it", billing, async (gateway) => {
    const { host } = await left(gateway, { stream: false })
    await gateway.pass(60_000)
    expect([host.aborted, host.cancelled, (await gateway.rows()).length]).toEqual([false, false, 0])
    host.whole(whole())
    expect(await lastRow(gateway)).toMatchObject(counted)
    expect(await gateway.reserved()).toBe(0n)
    expect(gateway.ends.map(({ outcome }) => outcome)).toEqual(["caller_gone"])
  })

  leaving("a stream before its first event", billing, async (gateway) => {
    const { host } = await left(gateway, { stream: true })
    await gateway.pass(60_000)
    expect([host.aborted, host.cancelled]).toEqual([false, false])
    host.head().events(delta("Hello"), finish, usage, "[DONE]")
    await gateway.pass(100)
    // It is complete already when it is taken up.
    expect(await lastRow(gateway)).toMatchObject({ ...counted, outcome: "finished" })
    expect(await gateway.reserved()).toBe(0n)
  })

  leaving("a stream after it has said something, for longer than a second", billing, async (gateway) => {
    const asked = gateway.ask({ stream: true })
    const host = (await gateway.call()).head().events(delta("Hello"))
    const reading = new Reading(await asked)
    await reading.one()
    await reading.leave()
    await gateway.pass(60_000)
    expect([host.aborted, host.cancelled]).toEqual([false, false])
    host.events(delta(" world"), finish, usage, "[DONE]")
    expect(await lastRow(gateway)).toMatchObject(counted)
  })

  leaving("and no longer than two minutes: then an estimate", billing, async (gateway) => {
    const { host } = await left(gateway, { stream: false })
    await gateway.pass(119_000)
    expect(host.aborted).toBe(false)
    await gateway.pass(1200)
    expect(host.aborted).toBe(true)
    expect(await lastRow(gateway)).toMatchObject({ outcome: "caller-gone", estimated: true })
    expect(await gateway.reserved()).toBe(0n)
  })

  leaving("the ninth of a key: it is cancelled at once, and an estimate is paid", billing, async (gateway) => {
    const calls = []
    for (let at = 0; at < 9; at++) calls.push(await left(gateway, { stream: false }))
    expect(calls.map(({ host }) => host.aborted)).toEqual([...Array(8).fill(false), true])
    for (const { host } of calls.slice(0, 8)) host.whole(whole())
    await gateway.settle()
    expect((await gateway.rows(20)).filter(({ estimated }) => !estimated)).toHaveLength(8)
    expect(await gateway.reserved()).toBe(0n)
    const { host } = await left(gateway, { stream: false })
    expect(host.aborted).toBe(false)
    host.whole(whole())
    expect(await lastRow(gateway)).toMatchObject(counted)
  })

  leaving("a host that fails then costs nothing", billing, async (gateway) => {
    const { host } = await left(gateway, { stream: false })
    host.whole(Response.json({ error: { message: "no" } }, { status: 500 }))
    await gateway.settle()
    expect([(await gateway.rows()).length, await gateway.reserved()]).toEqual([0, 0n])
    expect(gateway.ends.map(({ outcome }) => outcome)).toEqual(["caller_gone"])
  })

  leaving("a gateway that stops does not wait for it", billing, async (gateway) => {
    const { host } = await left(gateway, { stream: false })
    const stopped = gateway.stop()
    await gateway.pass(31_000)
    expect(host.aborted).toBe(true)
    await gateway.pass(3000)
    await stopped
    expect(gateway.ends.map(({ outcome }) => outcome)).toEqual(["caller_gone"])
  })
})

describe("its provider's setting goes before the host's own word", () => {
  const settings = [
    [false, true, false],
    [true, false, true],
  ] as const
  for (const [ofHost, ofProvider, isCancelled] of settings) {
    const options = { host: { bills_after_abort: ofHost }, providers: { a: { bills_after_abort: ofProvider } } }
    leaving(`host ${ofHost}, provider ${ofProvider}`, options, async (gateway) => {
      const { host } = await left(gateway, { stream: false })
      expect(host.aborted).toBe(isCancelled)
      host.whole(whole())
      await gateway.settle()
    })
  }
})

leaving("any other host is cancelled at once", {}, async (gateway) => {
  const { host } = await left(gateway, { stream: false })
  expect(host.aborted).toBe(true)
  expect(await lastRow(gateway)).toMatchObject({ outcome: "caller-gone", estimated: true })
})
