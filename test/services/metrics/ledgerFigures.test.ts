/** Tokens and money of rows, and what keys have left. docs/metrics.md */
import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import { KeyId } from "../../../src/domain/ids.ts"
import type { KeyRecord } from "../../../src/domain/keys/key.ts"
import type { Spend } from "../../../src/domain/keys/limitWindows.ts"
import { keyBudgets } from "../../../src/services/metrics/keyBudgets.ts"
import { LedgerFigures } from "../../../src/services/metrics/LedgerFigures.ts"
import { Pairs } from "../../../src/services/metrics/Pairs.ts"
import { snapshotOf } from "../../../src/services/metrics/snapshot.ts"
import type { LedgerRow } from "../../../src/services/storage/ledger.ts"
import { sampleKey, sampleRow } from "../../sql/samples.ts"

/** Of these rows: each family by its series, `labels: value`. */
const figuresOf = (...rows: ReadonlyArray<Partial<LedgerRow>>): Record<string, ReadonlyArray<string>> => {
  const figures = new LedgerFigures(new Pairs())
  for (const [at, row] of rows.entries()) figures.booked(sampleRow(`r${at}`, row))
  const snapshot = snapshotOf([{ collect: (scrape) => figures.collect(scrape) }], (thrown) => {
    throw thrown
  })
  return Object.fromEntries(
    snapshot.map(({ family, series }) => [
      family.name.replace(/^headgate_|_total$/g, ""),
      series.map(({ labels, value }) => `${labels.join(" ")}: ${String(value)}`),
    ]),
  )
}

describe("rows of the ledger", () => {
  test("are added up by model and host", () => {
    const { input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens } = figuresOf(
      { waived: null },
      { waived: null, promptTokens: 5 },
      { waived: null, host: "other/us" },
    )
    expect(input_tokens).toEqual(["acme/small acme/eu: 15", "acme/small other/us: 10"])
    expect(output_tokens).toEqual(["acme/small acme/eu: 40", "acme/small other/us: 20"])
    expect(cache_read_tokens).toEqual(["acme/small acme/eu: 6", "acme/small other/us: 3"])
    expect(cache_write_tokens).toEqual(["acme/small acme/eu: 8", "acme/small other/us: 4"])
    expect(reasoning_tokens).toEqual(["acme/small acme/eu: 10", "acme/small other/us: 5"])
  })

  test("that are estimates are in no other counter of tokens", () => {
    const figures = figuresOf({ estimated: true })
    expect(figures["estimated_input_tokens"]).toEqual(["acme/small acme/eu: 10"])
    expect(figures["estimated_output_tokens"]).toEqual(["acme/small acme/eu: 20"])
    expect(figures["input_tokens"]).toEqual(["acme/small acme/eu: 0"])
    expect(figures["reasoning_tokens"]).toBeUndefined()
  })

  test("beyond what a number has exactly: 10,000 dollars and a picodollar", () => {
    const row = { cost: 10_000_000_000_000_000n, upstreamCost: 1n, waived: null }
    const { cost_usd, upstream_cost_usd, waived_cost_usd } = figuresOf(row, { ...row, cost: 1n })
    expect(cost_usd).toEqual(["acme/small acme/eu: 10000000000000001"])
    expect(upstream_cost_usd).toEqual(["acme/small acme/eu: 2"])
    expect(waived_cost_usd).toBeUndefined()
  })

  test("that are free to their callers are what the host charges, by the reason", () => {
    const { waived_cost_usd, uncharged_cost_usd } = figuresOf(
      { cost: 0n, upstreamCost: 7n, waived: "host-failed", rareUsage: { unchargedAtMost: 11 } },
      { cost: 0n, upstreamCost: 5n, waived: "lost" },
    )
    expect(waived_cost_usd).toEqual(["acme/small acme/eu host-failed: 7", "acme/small acme/eu lost: 5"])
    expect(uncharged_cost_usd).toEqual(["acme/small acme/eu: 11"])
  })
})

describe("what keys have left", () => {
  const spent = (total: bigint, daily = 0n): Spend => ({ total, daily, weekly: 0n, monthly: 0n })

  const left = async (most: number, keys: ReadonlyArray<readonly [Partial<KeyRecord>, Spend]>) => {
    const records = keys.map(([members], at) => sampleKey(`k${at}`, { name: `key ${at}`, ...members }))
    const spendOf = new Map(records.map(({ id }, at) => [id, keys[at]?.[1] ?? spent(0n)]))
    const asked: Array<KeyId> = []
    const repository = { list: () => Effect.succeed(records) }
    const spentByEach = (ids: ReadonlyArray<KeyId>) => {
      asked.push(...ids)
      return Effect.succeed(ids.map((id) => spendOf.get(id) ?? spent(0n)))
    }
    // Of the repository `list` alone is used.
    const storage = { keys: repository } as unknown as Parameters<typeof keyBudgets>[0]
    const figures = await Effect.runPromise(keyBudgets(storage, { spentByEach }, most))
    return { asked, left: figures.flatMap(({ series }) => series.map(({ labels, value }) => [labels[1], value])) }
  }

  test("is the limit less what counts against it in its window, and never below zero", async () => {
    const { left: found } = await left(10, [
      [{ limit: 100n }, spent(30n)],
      [{ limit: 100n, limitReset: "daily" }, spent(90n, 10n)],
      [{ limit: 100n }, spent(130n)],
    ])
    expect(found).toEqual([
      ["key 0", "70"],
      ["key 1", "90"],
      ["key 2", "0"],
    ])
  })

  test("is asked of as many keys with a limit as the operator says", async () => {
    const keys = [
      [{ limit: null }, spent(0n)] as const,
      ...[1n, 2n, 3n].map((limit) => [{ limit }, spent(0n)] as const),
    ]
    expect(await left(2, keys)).toEqual({
      asked: [KeyId.make("k1"), KeyId.make("k2")],
      left: [
        ["key 1", "1"],
        ["key 2", "2"],
      ],
    })
    expect(await left(0, keys)).toEqual({ asked: [], left: [] })
  })
})
