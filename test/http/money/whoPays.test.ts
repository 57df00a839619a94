/**
 * Who pays what: a row per outcome. Each asserts what the caller saw, what the ledger has, and the usage of the key, which a
 * second gateway on the same storage reports. docs/guarantees.md#g5
 */
import { afterEach, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import type { Waiver } from "../../../src/domain/money/Charge.ts"
import { toUsd } from "../../../src/domain/price/money.ts"
import { InFlight } from "../../../src/services/request/InFlight.ts"
import type { LedgerRow } from "../../../src/services/storage/ledger.ts"
import { stopOnly } from "../../support/gateways/live.ts"
import { type OutcomeOptions, OutcomeScene, type Seen, seenBy, settled } from "../../support/gateways/outcomes.ts"
import { type HostCall, Reading } from "../../support/gateways/timedGateway.ts"
import { chunkOf, wholeAnswer } from "../../support/hosts/host.ts"

const stops: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

/** Of a caller who left, or got nothing. */
const nothing: Seen = { status: 0, cost: undefined, header: null }

const delta = (content: string) => chunkOf({ delta: { content }, finish_reason: null })
const finish = (reason = "stop") => chunkOf({ delta: {}, finish_reason: reason })
const usage = JSON.stringify({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 5 } })
/** 20 bytes: 5 tokens. */
const words = delta("four tokens and more")

/** Prompt and output, in picodollars: 10 and 5 tokens as the host counts, 100 and 5 by estimate. */
const counted = 20_000_000n
const estimated = 110_000_000n
const promptAlone = 100_000_000n

interface Booked {
  readonly outcome: LedgerRow["outcome"]
  readonly cost: bigint
  readonly upstream: bigint
  readonly waived?: Waiver
  readonly estimated?: boolean
}

interface Case {
  readonly name: string
  readonly options?: OutcomeOptions
  /** Carries the request out. */
  readonly act: (scene: OutcomeScene) => Promise<Seen>
  readonly status: number
  /** What the caller saw is the cost that was booked; `none`: no cost. */
  readonly sees: "cost" | "none"
  /** In the order of their outcomes. */
  readonly rows: ReadonlyArray<Booked>
  /** Earlier answers of the same key, which cost `counted` each. */
  readonly before?: number
}

/** A whole answer, or an error, of the first host. */
const whole =
  (answer: (host: HostCall) => void) =>
  async (scene: OutcomeScene): Promise<Seen> => {
    const asked = scene.ask({ stream: false })
    answer(await scene.call(1))
    return seenBy(await asked)
  }

/** A streamed answer whose reader stays: `answer` is the host's part, `then` what happens afterwards. */
const streamed =
  (answer: (host: HostCall) => void, then: (scene: OutcomeScene) => unknown = () => {}) =>
  async (scene: OutcomeScene): Promise<Seen> => {
    const asked = scene.ask({ stream: true })
    answer(await scene.call(1))
    await settled()
    const seen = asked.then(seenBy)
    await settled()
    await then(scene)
    return seen
  }

/** A caller who leaves once the host has done its part and some of it has come; without `answer`, before anything came. */
const left =
  (stream: boolean, answer?: (host: HostCall) => void) =>
  async (scene: OutcomeScene): Promise<Seen> => {
    const asked = scene.ask({ stream }).then(
      (response) => new Reading(response),
      () => undefined,
    )
    const host = await scene.call(1)
    if (answer === undefined) scene.leaving.abort()
    else answer(host)
    await settled()
    const reading = await asked
    if (answer !== undefined) await reading?.one()
    await reading?.leave()
    // Its host is read on for a second.
    await scene.pass(1100)
    await settled()
    return nothing
  }

const complete = (host: HostCall) => host.head().events(words, finish(), usage, "[DONE]").end()
const begun = (host: HostCall) => host.head().events(words)
const wholeWith = (choice: Record<string, unknown>, counts: Record<string, unknown> | undefined) =>
  Response.json({
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: "upstream",
    choices: [{ index: 0, ...choice }],
    ...(counts === undefined ? {} : { usage: counts }),
  })
const tokens = { prompt_tokens: 10, completion_tokens: 5 }

const paid: Booked = { outcome: "finished", cost: counted, upstream: counted }

/** Lets the first host answer often enough that it is known to be quick. */
const learned = async (scene: OutcomeScene): Promise<void> => {
  for (let number = 1; number <= 20; number++) {
    const asked = scene.ask({ stream: true })
    const host = await scene.call(number)
    await scene.pass(100)
    complete(host)
    await seenBy(await asked)
  }
}

const cases: ReadonlyArray<Case> = [
  {
    name: "finished, whole: the host's count",
    act: whole((host) => host.whole(wholeAnswer("hi", tokens))),
    status: 200,
    sees: "cost",
    rows: [paid],
  },
  { name: "finished, streamed: the host's count", act: streamed(complete), status: 200, sees: "cost", rows: [paid] },
  {
    name: "no usage, whole: an estimate",
    act: whole((host) =>
      host.whole(
        wholeWith(
          { message: { role: "assistant", content: "four tokens and more" }, finish_reason: "stop" },
          undefined,
        ),
      ),
    ),
    status: 200,
    sees: "cost",
    rows: [{ outcome: "finished", cost: estimated, upstream: estimated, estimated: true }],
  },
  {
    name: "no usage, streamed: an estimate",
    act: streamed((host) => host.head().events(words, finish(), "[DONE]").end()),
    status: 200,
    sees: "cost",
    rows: [{ outcome: "finished", cost: estimated, upstream: estimated, estimated: true }],
  },
  {
    name: "usage of zero: nothing, and no estimate",
    act: whole((host) => host.whole(wholeAnswer("hi", { prompt_tokens: 0, completion_tokens: 0 }))),
    status: 200,
    sees: "cost",
    rows: [{ outcome: "finished", cost: 0n, upstream: 0n }],
  },
  {
    name: "a refusal, whole: as any answer",
    act: whole((host) =>
      host.whole(
        wholeWith(
          {
            message: { role: "assistant", content: null, refusal: "I cannot help with that." },
            finish_reason: "content_filter",
          },
          tokens,
        ),
      ),
    ),
    status: 200,
    sees: "cost",
    rows: [paid],
  },
  {
    name: "a refusal, streamed: as any answer",
    act: streamed((host) => host.head().events(words, finish("content_filter"), usage, "[DONE]").end()),
    status: 200,
    sees: "cost",
    rows: [paid],
  },
  {
    name: "an empty answer with a finish reason: its prompt",
    act: whole((host) => host.whole(wholeAnswer("", { prompt_tokens: 10, completion_tokens: 0 }))),
    status: 200,
    sees: "cost",
    rows: [{ outcome: "finished", cost: 10_000_000n, upstream: 10_000_000n }],
  },
  {
    name: "an empty answer without a finish reason: a failure before the first event, and nothing",
    act: streamed(
      (host) => host.head().end(),
      async (scene) => {
        ;(await scene.call(2)).whole(Response.json({ error: { message: "no" } }, { status: 500 }))
      },
    ),
    status: 502,
    sees: "none",
    rows: [],
  },
  {
    name: "a free model: nothing, and a row",
    options: { prices: { prompt: "0", completion: "0" } },
    act: streamed(complete),
    status: 200,
    sees: "cost",
    rows: [{ outcome: "finished", cost: 0n, upstream: 0n }],
  },
  {
    name: "the host failed before the first event, and so did the next: nothing",
    act: async (scene) => {
      const asked = scene.ask({ stream: true })
      for (const number of [1, 2]) (await scene.call(number)).whole(Response.json({}, { status: 500 }))
      return seenBy(await asked)
    },
    status: 502,
    sees: "none",
    rows: [],
  },
  {
    name: "the host failed before the first event, and the next answered: the next one's count",
    act: async (scene) => {
      const asked = scene.ask({ stream: false })
      ;(await scene.call(1)).whole(Response.json({}, { status: 500 }))
      ;(await scene.call(2)).whole(wholeAnswer("hi", tokens))
      return seenBy(await asked)
    },
    status: 200,
    sees: "cost",
    rows: [paid],
  },
  {
    name: "the host broke off after the first event: nothing, the row keeps what it costs the operator",
    act: streamed(begun, (scene) => scene.calls[0]?.break()),
    status: 200,
    sees: "cost",
    rows: [{ outcome: "host-failed", cost: 0n, upstream: estimated, waived: "host-failed", estimated: true }],
  },
  {
    name: "the same, error finishes are metered: prompt and output so far",
    options: { billing: { error_finish: "metered" } },
    act: streamed(begun, (scene) => scene.calls[0]?.break()),
    status: 200,
    sees: "cost",
    rows: [{ outcome: "host-failed", cost: estimated, upstream: estimated, estimated: true }],
  },
  {
    name: "the host was silent after the first event: nothing",
    act: streamed(begun, (scene) => scene.pass(60_000)),
    status: 200,
    sees: "cost",
    rows: [{ outcome: "host-failed", cost: 0n, upstream: estimated, waived: "host-failed", estimated: true }],
  },
  {
    name: "a finish reason of error after text: nothing",
    act: streamed(begun, (scene) => scene.calls[0]?.events(finish("error"), usage, "[DONE]")),
    status: 200,
    sees: "cost",
    rows: [{ outcome: "host-failed", cost: 0n, upstream: estimated, waived: "host-failed", estimated: true }],
  },
  {
    name: "the caller left before the first event: the prompt",
    act: left(true),
    status: 0,
    sees: "none",
    rows: [{ outcome: "caller-gone", cost: promptAlone, upstream: promptAlone, estimated: true }],
  },
  {
    name: "the caller left before a whole answer came: the prompt",
    act: left(false),
    status: 0,
    sees: "none",
    rows: [{ outcome: "caller-gone", cost: promptAlone, upstream: promptAlone, estimated: true }],
  },
  {
    name: "the caller left after the first event: prompt and output so far",
    act: left(true, begun),
    status: 0,
    sees: "none",
    rows: [{ outcome: "caller-gone", cost: estimated, upstream: estimated, estimated: true }],
  },
  {
    name: "the caller left after the host's count: that",
    act: left(true, (host) => host.head().events(words, usage)),
    status: 0,
    sees: "none",
    rows: [{ outcome: "caller-gone", cost: counted, upstream: counted }],
  },
  {
    name: "cut by the deadline before the first event: nothing",
    options: { limits: { deadline_ms: 20_000, commit_after_ms: 60_000 } },
    act: streamed(
      () => {},
      (scene) => scene.pass(20_000),
    ),
    status: 408,
    sees: "none",
    rows: [],
  },
  {
    name: "cut by the deadline before a whole answer came: nothing",
    options: { limits: { deadline_ms: 20_000 } },
    act: async (scene) => {
      const asked = scene.ask({ stream: false })
      await scene.call(1)
      await scene.pass(20_000)
      return seenBy(await asked)
    },
    status: 408,
    sees: "none",
    rows: [],
  },
  {
    name: "cut by `stream_ms` after the first event: prompt and output so far",
    options: { limits: { stream_ms: 20_000 } },
    act: streamed(begun, (scene) => scene.pass(20_000)),
    status: 200,
    sees: "cost",
    rows: [{ outcome: "cut", cost: estimated, upstream: estimated, estimated: true }],
  },
  {
    name: "cut by the size limit: prompt and output so far",
    options: { limits: { stream_bytes: 200 } },
    act: streamed(begun, (scene) => scene.calls[0]?.events(delta(""))),
    status: 200,
    sees: "cost",
    rows: [{ outcome: "cut", cost: estimated, upstream: estimated, estimated: true }],
  },
  {
    name: "cut at the end of its key's money: what was delivered, one event more than the limit",
    options: { prices: { prompt: "0", completion: "0.000001" }, limit: 50_000_000n },
    act: streamed((host) => host.head().events(...Array<string>(20).fill(words))),
    status: 200,
    sees: "cost",
    rows: [{ outcome: "cut", cost: 55_000_000n, upstream: 55_000_000n, estimated: true }],
  },
  {
    name: "cut because its caller takes nothing for a minute: prompt and output so far",
    act: async (scene) => {
      const asked = scene.ask({ stream: true })
      begun(await scene.call(1))
      const { status } = await asked
      await scene.pass(62_000)
      return { ...nothing, status }
    },
    status: 200,
    sees: "none",
    rows: [{ outcome: "cut", cost: estimated, upstream: estimated, estimated: true }],
  },
  {
    name: "cut by the end of the gateway: prompt and output so far",
    act: streamed(begun, ({ gateway }) => gateway.run(Effect.flatMap(InFlight, ({ drain }) => drain(0)))),
    status: 200,
    sees: "cost",
    rows: [{ outcome: "cut", cost: estimated, upstream: estimated, estimated: true }],
  },
  {
    name: "cut by the end of its key: prompt and output so far",
    act: streamed(begun, async ({ gateway, secret }) => {
      const hash = new Bun.CryptoHasher("sha256").update(secret).digest("hex")
      const authorization = `Bearer ${gateway.managementKey}`
      const deleted = await gateway.call(`/keys/${hash}`, { method: "DELETE", headers: { authorization } })
      expect(deleted.status).toBe(200)
    }),
    status: 200,
    sees: "cost",
    rows: [{ outcome: "cut", cost: estimated, upstream: estimated, estimated: true }],
  },
  {
    name: "stopped by the operator: prompt and output so far",
    act: streamed(begun, async ({ gateway }) => expect(await stopOnly(gateway)).toBe(200)),
    status: 200,
    sees: "cost",
    rows: [{ outcome: "cut", cost: estimated, upstream: estimated, estimated: true }],
  },
  {
    name: "of two calls side by side that the operator stopped before either said anything: nothing",
    options: { hedge: { enabled: true, max_cost_share: 1 } },
    before: 20,
    act: async (scene) => {
      await learned(scene)
      const asked = scene.ask({ stream: true })
      await scene.call(21)
      await scene.pass(200)
      await scene.call(22)
      expect(await stopOnly(scene.gateway)).toBe(200)
      return seenBy(await asked)
    },
    status: 403,
    sees: "none",
    rows: [{ outcome: "lost", cost: 0n, upstream: promptAlone, waived: "lost", estimated: true }],
  },
  {
    name: "of two calls side by side: the faster one's count, the row of the other keeps what it costs the operator",
    options: { hedge: { enabled: true, max_cost_share: 1 } },
    before: 20,
    act: async (scene) => {
      await learned(scene)
      const asked = scene.ask({ stream: true })
      await scene.call(21)
      await scene.pass(200)
      complete(await scene.call(22))
      return seenBy(await asked)
    },
    status: 200,
    sees: "cost",
    rows: [paid, { outcome: "lost", cost: 0n, upstream: promptAlone, waived: "lost", estimated: true }],
  },
  {
    name: "told 503, since it could not be booked in time, whole: nothing",
    act: async (scene) => {
      scene.database.takesRows = false
      const seen = await whole((host) => host.whole(wholeAnswer("hi", tokens)))(scene)
      scene.database.takesRows = true
      await scene.pass(2000)
      return seen
    },
    status: 503,
    sees: "none",
    rows: [{ outcome: "finished", cost: 0n, upstream: counted, waived: "unreported" }],
  },
  {
    name: "told 503 in the stream: nothing",
    act: async (scene) => {
      scene.database.takesRows = false
      const seen = await streamed(complete)(scene)
      scene.database.takesRows = true
      await scene.pass(2000)
      return seen
    },
    status: 200,
    sees: "cost",
    rows: [{ outcome: "finished", cost: 0n, upstream: counted, waived: "unreported" }],
  },
]

test.each(cases.map((each) => [each.name, each] as const))("%s", async (_name, each) => {
  const { options = {}, act, status, sees, rows, before = 0 } = each
  const scene = await OutcomeScene.open(options)
  stops.push(scene.gateway.stop)
  const seen = await act(scene)
  const booked = await scene.booked()
  expect(seen.status).toBe(status)
  const latest = booked.rows.slice(0, booked.rows.length - before)
  expect(
    latest
      .toSorted((one, other) => one.outcome.localeCompare(other.outcome))
      .map(({ outcome, cost, upstreamCost, waived, estimated }) => ({
        outcome,
        cost,
        upstreamCost,
        waived,
        estimated,
      })),
  ).toEqual(
    rows.map(({ outcome, cost, upstream, waived = null, estimated = false }) => ({
      ...{ outcome, cost, upstreamCost: upstream, waived, estimated },
    })),
  )
  const cost = latest.reduce((sum, row) => sum + row.cost, 0n)
  // A key that was deleted has no status to ask for.
  if (booked.usage !== undefined) expect(booked.usage).toBe(toUsd(cost + BigInt(before) * counted))
  expect(seen.cost).toBe(sees === "cost" ? toUsd(cost) : undefined)
  if (seen.header !== null) expect(Number(seen.header)).toBe(toUsd(cost))
})
