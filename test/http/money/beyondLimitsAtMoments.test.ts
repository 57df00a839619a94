/**
 * When an answer is beyond a limit of ours: after our head, beside another call, compressed, under an `Idempotency-Key`.
 * Each is one answer, charged once. docs/guarantees.md#g5, #g9 and #g10
 */
import { afterEach, describe, expect, test } from "bun:test"
import { gzipSync } from "node:zlib"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { toUsd } from "../../../src/domain/price/money.ts"
import { openAccount } from "../../support/gateways/account.ts"
import { startGateway } from "../../support/gateways/gateway.ts"
import { type HostCall, inTimedGateway, Reading } from "../../support/gateways/timedGateway.ts"
import { chunkOf, configFor, scriptedHost, streamAnswer } from "../../support/hosts/host.ts"

const nested = `${"[".repeat(70)}${"]".repeat(70)}`
const usage = { prompt_tokens: 10, completion_tokens: 5 }
const costOfUsage = 20_000_000n
/** An event, or a whole answer, that is nested too deep. */
const deep = (kind: "delta" | "message"): string =>
  `{"choices":[{"index":0,"${kind}":{"role":"assistant","content":"hello","more":${nested}},"finish_reason":"stop"}],` +
  `"usage":${JSON.stringify(usage)}}`

const lastError = (text: string): JsonObject => {
  const data = text
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line): { readonly error?: JsonObject } => JSON.parse(line.slice("data: ".length)))
  return data.at(-1)?.error ?? {}
}

describe("after our head was sent", () => {
  test("before the first event: 502 in the stream, no other host, charged as told", () =>
    inTimedGateway({ hosts: ["a", "b"], limits: { commit_after_ms: 1000 } }, async (gateway) => {
      const asked = gateway.ask()
      const host = await gateway.call()
      await gateway.pass(1500)
      const answer = await asked
      expect(answer.status).toBe(200)
      host.head().events(deep("delta"), "[DONE]").end()
      await gateway.settle()
      const { text } = await new Reading(answer).all()
      expect(lastError(text)).toMatchObject({
        code: 502,
        metadata: { error_type: "answer_beyond_limit", cost: toUsd(costOfUsage) },
      })
      expect(gateway.calls).toHaveLength(1)
      expect(await gateway.rows()).toMatchObject([{ outcome: "cut", cost: costOfUsage, estimated: false }])
      expect([await gateway.reserved(), await gateway.total()]).toEqual([0n, costOfUsage])
    }))

  test("as a whole answer instead of events: the same", () =>
    inTimedGateway({ hosts: ["a", "b"], limits: { commit_after_ms: 1000 } }, async (gateway) => {
      const asked = gateway.ask()
      const host = await gateway.call()
      await gateway.pass(1500)
      const answer = await asked
      host.whole(new Response(deep("message"), { headers: { "content-type": "application/json" } }))
      await gateway.settle()
      const { text } = await new Reading(answer).all()
      expect(lastError(text)).toMatchObject({ code: 502, metadata: { error_type: "answer_beyond_limit" } })
      expect(gateway.calls).toHaveLength(1)
      expect(await gateway.rows()).toMatchObject([{ outcome: "cut", cost: costOfUsage, estimated: false }])
    }))

  test("what is no answer is the host's failure: the next one answers the same stream", () =>
    inTimedGateway({ hosts: ["a", "b"], limits: { commit_after_ms: 1000 } }, async (gateway) => {
      const asked = gateway.ask()
      const host = await gateway.call()
      await gateway.pass(1500)
      const answer = await asked
      host.head().events(nested).end()
      const next = await gateway.call(2)
      next.whole(streamAnswer(["fine"]))
      await gateway.settle()
      expect((await new Reading(answer).all()).text).toContain("fine")
      expect(await gateway.rows()).toMatchObject([{ outcome: "finished", host: "b", cost: costOfUsage }])
    }))
})

describe("of two calls side by side", () => {
  const hedging = { hosts: ["a", "b"] as const, routing: { hedge: { enabled: true, max_cost_share: 1 } } }

  test.each([true, false])(
    "the winner's (streamed: %p): 502, charged for it, and the other call is a cost of ours",
    (stream) =>
      inTimedGateway(hedging, async (gateway) => {
        const { ask, call, calls, pass, settle } = gateway
        const good = (host: HostCall) =>
          stream
            ? host.head().events(chunkOf({ delta: { content: "x" }, finish_reason: "stop" }, { usage }), "[DONE]")
            : host.whole(
                Response.json({ choices: [{ index: 0, message: { content: "x" }, finish_reason: "stop" }], usage }),
              )
        for (let at = 0; at < 20; at++) {
          const asked = ask({ stream })
          const host = await call(calls.length + 1)
          await pass(1000)
          good(host)
          await settle()
          await new Reading(await asked).all()
        }
        const before = await gateway.total()
        const asked = ask({ stream })
        const slow = await call(21)
        await pass(2000)
        const second = await call(22)
        if (stream) second.head().events(deep("delta"), "[DONE]").end()
        else second.whole(new Response(deep("message"), { headers: { "content-type": "application/json" } }))
        await settle()
        const answer = await asked
        expect([answer.status, slow.aborted, calls.length]).toEqual([502, true, 22])
        const { error }: { readonly error: JsonObject } = JSON.parse(await answer.text())
        expect(error["metadata"]).toMatchObject({ error_type: "answer_beyond_limit", cost: toUsd(costOfUsage) })
        const rows = (await gateway.rows()).slice(0, -20)
        expect(rows.toSorted((one, other) => one.outcome.localeCompare(other.outcome))).toMatchObject([
          { outcome: "cut", host: "b", cost: costOfUsage },
          { outcome: "lost", host: "a", cost: 0n },
        ])
        expect([await gateway.reserved(), (await gateway.total()) - before]).toEqual([0n, costOfUsage])
      }),
  )
})

const stops: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

/** Two hosts that answer alike. */
const socketScene = async (answer: () => Response) => {
  const hosts = [scriptedHost(answer), scriptedHost(answer)]
  const [one, two] = hosts
  if (one === undefined || two === undefined) throw new Error("no hosts")
  const gateway = await startGateway({ config: configFor({ one: { url: one.url }, two: { url: two.url } }) })
  stops.push(gateway.stop, one.stop, two.stop)
  return { gateway, account: await openAccount(gateway), calls: () => one.calls.length + two.calls.length }
}

describe("compressed so much that it is cut before its end", () => {
  const zipped = (text: string, type: string) =>
    new Response(gzipSync(text), { headers: { "content-type": type, "content-encoding": "gzip" } })
  const said = (text: string, kind: "delta" | "message") =>
    `{"usage":${JSON.stringify(usage)},"choices":[{"index":0,"${kind}":{"role":"assistant","content":"${text}"},"finish_reason":"stop"}]}`
  const long = "x".repeat(4_000_000)

  test.each([
    ["a whole answer", false, () => zipped(said(long, "message"), "application/json")],
    ["the first event of a stream", true, () => zipped(`data: ${said(long, "delta")}\n\n`, "text/event-stream")],
  ])("%s: 502, one call, charged as told", async (_, stream, answer) => {
    const { account, calls } = await socketScene(answer)
    const response = await account.chat({ stream, max_tokens: 1000, messages: [{ role: "user", content: "hi" }] })
    const { error }: { readonly error: JsonObject } = JSON.parse(await response.text())
    const [row, ...more] = await account.rows()
    expect([response.status, calls(), more]).toEqual([502, 1, []])
    expect(row).toMatchObject({ outcome: "cut", waived: null })
    expect(row?.cost).toBeGreaterThan(0n)
    expect(error["metadata"]).toMatchObject({ error_type: "answer_beyond_limit", cost: toUsd(row?.cost ?? 0n) })
    expect(await account.reserved()).toBe(0n)
  })

  test("what is no answer is free, and the next host is called", async () => {
    const { account, calls } = await socketScene(() => zipped(`[${" ".repeat(4_000_000)}]`, "application/json"))
    const response = await account.chat({ messages: [{ role: "user", content: "hi" }] })
    expect([response.status, calls(), await account.rows()]).toEqual([502, 2, []])
  })
})

test.each([true, false])(
  "under an Idempotency-Key (streamed: %p) it is charged once: a repeat calls no host, and says which request was charged",
  async (stream) => {
    const { gateway, account, calls } = await socketScene(() =>
      stream
        ? new Response(`data: ${deep("delta")}\n\ndata: [DONE]\n\n`, {
            headers: { "content-type": "text/event-stream" },
          })
        : new Response(deep("message"), { headers: { "content-type": "application/json" } }),
    )
    const ask = () =>
      gateway.chat(
        { model: "acme/small", stream, max_tokens: 100, messages: [{ role: "user", content: "hi" }] },
        { headers: { authorization: `Bearer ${account.secret}`, "idempotency-key": "once" } },
      )
    const first = await ask()
    expect([first.status, first.headers.get("x-should-retry")]).toEqual([502, "false"])
    await first.text()
    const again = await ask()
    const { error }: { readonly error: JsonObject } = JSON.parse(await again.text())
    const [row, ...more] = await account.rows()
    expect([again.status, calls(), more]).toEqual([400, 1, []])
    expect(String(error["message"])).toContain(first.headers.get("x-request-id") ?? "?")
    expect(String(error["message"])).toContain(row?.generationId ?? "?")
    expect([await account.reserved(), await account.total()]).toEqual([0n, costOfUsage])
  },
)
