/** The ledger checked against itself, and computed anew. docs/guarantees.md#g4 */
import { Database } from "bun:sqlite"
import { afterAll, describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import { KeyId } from "../../../src/domain/ids.ts"
import { priceVersion } from "../../../src/domain/price/PriceVersion.ts"
import { freePricing, type Pricing } from "../../../src/domain/price/price.ts"
import { PriceVersions } from "../../../src/services/money/PriceVersions.ts"
import { correctedLedger, reconcile, repriceLedger } from "../../../src/services/money/reconcile.ts"
import type { LedgerRow } from "../../../src/services/storage/ledger.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { StorageUnavailable } from "../../../src/services/storage/StorageUnavailable.ts"
import { Upstream } from "../../../src/upstream/Upstream.ts"
import { alice, bob, sampleRow } from "../../sql/samples.ts"
import { openInProcess } from "../../sql/sqlite/openInProcess.ts"
import { ManualClock } from "../../support/clocks/manualClock.ts"
import { gatewayWithoutSocket } from "../../support/gateways/gateway.ts"
import { wholeAnswer } from "../../support/hosts/host.ts"
import { lastingStorage } from "../../support/storage/lastingStorage.ts"

const folder = mkdtempSync(join(tmpdir(), "headgate-reconcile-"))
afterAll(() => rmSync(folder, { recursive: true }))

type Methods = Context.Tag.Service<typeof Storage>

let files = 0
const newFile = () => join(folder, `${files++}`, "headgate.db")
const using = <A, E>(path: string, use: (storage: Methods) => Effect.Effect<A, E>): Promise<A> =>
  Effect.runPromise(Effect.provide(Effect.flatMap(Storage, use), openInProcess({ path, durability: "process" })))

const prices = {
  request: "0.0001",
  image: "0.000123456789",
  web_search: "0.01",
  internal_reasoning: "0.000007",
  input_cache_read: "0.0000001",
  input_cache_write: "0.00000125",
  input_cache_write_1h: "0.000000000001",
  image_token: "0.000006",
  audio: "0.000003",
  input_audio_cache: "0.0000003",
  audio_output: "0.000004",
  image_output: "0.000005",
}
const tiers = {
  prompt: "0.000001",
  completion: "0.000002",
  ...prices,
  discount: 0.123456,
  overrides: [
    { min_prompt_tokens: 500, prompt: "0.00001", input_cache_read: "0", request: "0" },
    { utc_start: 2200, utc_end: 600, utc_days: ["thursday"], completion: "0.0000011" },
  ],
}

const count = FastCheck.oneof(FastCheck.nat(2 ** 20), FastCheck.nat(900), FastCheck.constant(0))
const usages = FastCheck.record({
  prompt_tokens: count,
  completion_tokens: count,
  prompt_tokens_details: FastCheck.record(
    {
      ...{ cached_tokens: count, cache_write_tokens: count, cache_write_1h_tokens: count, cached_audio_tokens: count },
      ...{ audio_tokens: count, image_tokens: count, video_tokens: count },
    },
    { requiredKeys: [] },
  ),
  completion_tokens_details: FastCheck.record({ reasoning_tokens: count, image_tokens: count, audio_tokens: count }),
  server_tool_use_details: FastCheck.record({ web_search_requests: FastCheck.nat(5) }),
})
const requests = FastCheck.record({
  usage: FastCheck.option(usages),
  host: FastCheck.constantFrom("plain", "tiers", "unpriced"),
  key: FastCheck.nat(1),
  images: FastCheck.nat(2),
  hours: FastCheck.nat(40),
})

test("after any requests every row costs what its usage and the prices then give, and the sums are those of the rows", async () => {
  const clock = new ManualClock()
  let usage: Record<string, unknown> | null = null
  const storage = Effect.runSync(Effect.provide(Storage, lastingStorage))
  const pricing: Record<string, unknown> = { plain: { prompt: "0.0000025", completion: "0.00001" }, tiers }
  const gateway = await gatewayWithoutSocket({
    config: {
      discovery: { environment: false, local: false },
      providers: {
        acme: {
          ...{ plugin: "openai-compatible", base_url: "http://127.0.0.1:1/v1", network: "private" },
          api_keys: [{ key: "one", weight: 2 }, { key: "two" }],
        },
      },
      models: ["plain", "tiers", "unpriced"].map((slug) => ({
        id: `acme/${slug}`,
        context_length: 2 ** 21,
        hosts: [{ provider: "acme", pricing: (pricing[slug] as undefined) ?? null }],
      })),
    },
    storage: Layer.succeed(Storage, storage),
    upstream: Upstream.layerFrom(() => Promise.resolve(wholeAnswer("some words", usage ?? {}))),
    setting: Layer.setClock(clock),
  })
  const keys = [gateway.key, await gateway.newKey()]
  let asked = 0
  let shown = 0
  await FastCheck.assert(
    FastCheck.asyncProperty(requests, async (request) => {
      usage = request.usage
      const content = [
        { type: "text", text: "hello" },
        ...Array.from({ length: request.images }, () => ({
          type: "image_url",
          image_url: { url: "https://a.example/b" },
        })),
      ]
      const response = await gateway.chat(
        { model: `acme/${request.host}`, messages: [{ role: "user", content }] },
        { headers: { authorization: `Bearer ${keys[request.key]}` } },
      )
      expect(response.status).toBe(200)
      shown += Math.round(Number(response.headers.get("x-gw-cost-usd")) * 1e12)
      asked += 1
      for (let hour = 0; hour < request.hours; hour++) clock.advance(3_600_000)
    }),
    { numRuns: 150 },
  )
  const repriced = await gateway.run(repriceLedger(storage))
  expect(repriced).toEqual({ rows: asked, tooOld: 0, differences: [] })
  const { keys: checked, windows, differences } = await gateway.run(reconcile(storage))
  expect(differences).toEqual([])
  // Two of callers, two of the provider.
  expect(checked).toBe(4)
  expect(windows).toBeGreaterThan(50)
  const same = await gateway.run(correctedLedger(storage, () => null))
  expect(same.charged).toBe(BigInt(shown))
  expect(same.corrected).toBe(0n)
  expect(await gateway.run(storage.prices.list(-1, 9))).toHaveLength(2)
  await gateway.stop()
}, 1_800_000)

const pricing: Pricing = { ...freePricing, prompt: 3n, completion: 5n, inputCacheWrite1h: 1n, image: 100n }
const version = priceVersion(pricing)
/** 10 tokens of the prompt, two of them written for an hour; 20 of the output; an image. */
const right = 8n * 3n + 2n * 1n + 20n * 5n + 100n
const rightRow = (requestId: string, members: Partial<Parameters<typeof sampleRow>[1]> = {}) =>
  sampleRow(requestId, {
    ...{ priceVersion: version.id, waived: null, cost: right, upstreamCost: right },
    ...members,
  })

describe("a ledger that was damaged", () => {
  test("a sum that is not that of its rows is named by key and window", async () => {
    const path = newFile()
    await using(path, ({ ledger }) =>
      ledger.append([rightRow("r1", { providerKey: "acme/1" }), rightRow("r2", { key: bob })]),
    )
    const db = new Database(path)
    db.run("UPDATE spend SET amount = amount + 1 WHERE window_kind = 'weekly' AND key_id = ?", [bob])
    db.run("DELETE FROM spend WHERE window_kind = 'daily' AND key_id = ?", [alice])
    db.run("INSERT INTO spend VALUES ('unknown', 'total', 0, 7)")
    db.run("UPDATE provider_spend SET amount = amount - 1 WHERE window_kind = 'monthly'")
    db.close()
    const { differences, keys } = await using(path, reconcile)
    expect(keys).toBe(4)
    expect(differences).toEqual([
      { key: alice, window: "daily", start: Date.UTC(2025, 9, 9), rows: right, kept: 0n },
      { key: bob, window: "weekly", start: Date.UTC(2025, 9, 6), rows: right, kept: right + 1n },
      { key: KeyId.make("unknown"), window: "total", start: 0, rows: 0n, kept: 7n },
      { key: "acme/1", window: "monthly", start: Date.UTC(2025, 9, 1), rows: right, kept: right - 1n },
    ])
  })

  test("a row that costs something else is named, and so is one whose prices are missing or were changed", async () => {
    const changed = priceVersion({ ...pricing, prompt: 4n })
    const result = await using(newFile(), (storage) =>
      Effect.gen(function* () {
        yield* storage.prices.put([version, { ...changed, pricing: version.pricing }])
        yield* storage.ledger.append([
          rightRow("right"),
          rightRow("waived", { cost: 0n, waived: "lost" }),
          rightRow("dear", { cost: right + 1n }),
          rightRow("free", { upstreamCost: 0n }),
          rightRow("not waived", { waived: "lost" }),
          rightRow("changed", { priceVersion: changed.id }),
          rightRow("missing", { priceVersion: 5 }),
          rightRow("unknown", { priceVersion: null, priceBasis: "unknown" }),
          rightRow("unknown and free", { priceVersion: null, priceBasis: "unknown", cost: 0n, upstreamCost: 0n }),
          rightRow("old", { priceVersion: null, priceBasis: "" }),
        ])
        return yield* repriceLedger(storage)
      }),
    )
    expect(result).toMatchObject({ rows: 9, tooOld: 1 })
    expect(result.differences.map(({ requestId, computed }) => [requestId, computed])).toEqual([
      ["dear", { cost: right, upstreamCost: right }],
      ["free", { cost: right, upstreamCost: right }],
      ["not waived", { cost: 0n, upstreamCost: right }],
      ["changed", undefined],
      ["missing", undefined],
      ["unknown", { cost: 0n, upstreamCost: 0n }],
    ])
  })

  test("versions of prices refuse changes, also from other programs", async () => {
    const path = newFile()
    await using(path, ({ prices: kept }) => kept.put([version]))
    const db = new Database(path)
    expect(() => db.run("UPDATE price_versions SET pricing = '{}'")).toThrow("append-only")
    expect(() => db.run("DELETE FROM price_versions")).toThrow("append-only")
    db.close()
  })
})

test("a correction of prices: what would have been, by key and host", async () => {
  const result = await using(newFile(), (storage) =>
    Effect.gen(function* () {
      yield* storage.ledger.append([
        rightRow("1"),
        rightRow("2"),
        rightRow("3", { key: bob }),
        rightRow("4", { host: "acme/us" }),
        rightRow("5", { host: "gone" }),
        rightRow("6", { cost: 0n, waived: "host-failed" }),
        rightRow("7", { priceBasis: "", priceVersion: null }),
      ])
      const corrected = { ...pricing, completion: 4n }
      return yield* correctedLedger(storage, ({ host }) =>
        host === "gone" ? undefined : host === "acme/us" ? pricing : corrected,
      )
    }),
  )
  const here = { model: "acme/small", host: "acme/eu" }
  expect(result).toEqual({
    changes: [
      { ...here, key: alice, rows: 3, charged: 2n * right, corrected: 2n * (right - 20n) },
      { ...here, key: bob, rows: 1, charged: right, corrected: right - 20n },
    ],
    hosts: [
      { ...here, key: alice, rows: 3, charged: 2n * right, corrected: 2n * (right - 20n) },
      { ...here, key: bob, rows: 1, charged: right, corrected: right - 20n },
      { model: "acme/small", host: "acme/us", key: alice, rows: 1, charged: right, corrected: right },
    ],
    rows: 5,
    charged: 4n * right,
    corrected: 4n * right - 60n,
    leftOut: 2,
  })
})

test("versions of prices are kept before the first row that needs them, once, and no row comes before them", async () => {
  const written: Array<string> = []
  let isLocked = true
  const locked = Effect.fail(new StorageUnavailable({ reason: "database is locked" }))
  const versions = new PriceVersions({
    put: (added) =>
      Effect.suspend(() => (isLocked ? locked : Effect.sync(() => written.push(...added.map(({ hash }) => hash))))),
    list: () => Effect.succeed([]),
  })
  const append = versions.before((rows: ReadonlyArray<LedgerRow>) =>
    Effect.sync(() => written.push(...rows.map(({ requestId }) => requestId))),
  )
  expect([versions.idOf(null), versions.idOf(pricing), versions.idOf({ ...pricing })]).toEqual([
    null,
    version.id,
    version.id,
  ])
  expect(await Effect.runPromise(Effect.flip(append([rightRow("r1")])))).toBeInstanceOf(StorageUnavailable)
  expect(written).toEqual([])
  isLocked = false
  for (const id of ["r1", "r2"]) await Effect.runPromise(append([rightRow(id)]))
  expect(written).toEqual([version.hash, "r1", "r2"])
})
