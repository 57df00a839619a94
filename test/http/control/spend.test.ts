/** `GET /spend`, `GET /spend/provider_keys` and names in `GET /activity`, on each storage. */
import { afterEach, describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import type { LedgerRow } from "../../../src/services/storage/ledger.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { layer as memoryStorage } from "../../../src/sql/sqlite/MemoryStorage.ts"
import {
  type Anything,
  asManager,
  bearer,
  type ControlPlane,
  type ControlPlaneOptions,
  expectError,
  json,
  noon,
  row,
  startControlPlane,
} from "../../support/gateways/control.ts"
import { hasPostgres, makeDatabase, postgresAt } from "../../support/storage/postgres.ts"

const dayMs = 86_400_000

const closing: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const started = async (options: ControlPlaneOptions): Promise<ControlPlane> => {
  const plane = await startControlPlane(options)
  closing.push(plane.close)
  return plane
}

const append = (at: ControlPlane, ...rows: ReadonlyArray<LedgerRow>) =>
  at.run(Effect.flatMap(Storage, ({ ledger }) => ledger.append(rows)))

const dataOf = async (at: ControlPlane, path: string): Promise<Anything> => {
  const response = await at.send(path, asManager())
  expect(response.status).toBe(200)
  return (await json(response)).data
}

const storages: ReadonlyArray<readonly [string, () => Promise<NonNullable<ControlPlaneOptions["storage"]>>]> = [
  ["SQLite", async () => memoryStorage],
  ...(hasPostgres ? [["PostgreSQL", async () => Layer.orDie(postgresAt(await makeDatabase()))] as const] : []),
]

describe.each(storages)("on %s", (_, make) => {
  test("spend of keys has deleted ones with their names, by window, and its pages add up to the ledger's total", async () => {
    const plane = await started({ storage: await make() })
    const kept = await plane.newKey({ name: "kept" })
    const gone = await plane.newKey({ name: "first name" })
    await plane.send(`/api/v1/keys/${keyId(gone)}`, asManager("PATCH", { name: "gone, \u00e9\u0000\ud83d" }))
    await append(plane, row(kept, "1.5", noon), row(kept, "2", noon - dayMs), row(gone, "0.000000000001", noon))
    await plane.send(`/api/v1/keys/${keyId(gone)}`, asManager("DELETE"))
    const all: Array<Anything> = []
    for (let after: string | null = ""; after !== null; ) {
      const page: Anything = await json(await plane.send(`/api/v1/spend?limit=1&after=${after}`, asManager()))
      all.push(...page.data)
      after = page.next
    }
    expect(all.toSorted((a, b) => (a.name < b.name ? 1 : -1))).toEqual([
      {
        ...{ hash: keyId(kept), name: "kept", is_deleted: false },
        ...{ usage: "3.5", usage_daily: "1.5", usage_weekly: "3.5", usage_monthly: "3.5" },
      },
      {
        ...{ hash: keyId(gone), name: expect.stringContaining("gone, é"), is_deleted: true },
        ...{ usage: "0.000000000001", usage_daily: "0.000000000001" },
        ...{ usage_weekly: "0.000000000001", usage_monthly: "0.000000000001" },
      },
    ])
    expect((await dataOf(plane, "/api/v1/credits")).total_usage).toBe(3.500000000001)
  })

  test("activity by key has the names of keys beside their hashes, deleted ones too", async () => {
    const plane = await started({ storage: await make() })
    const [kept, gone] = [await plane.newKey({ name: "kept" }), await plane.newKey({ name: "gone" })]
    const unknown = "of nobody that is known here"
    await append(
      plane,
      row(kept, "1", noon),
      row(kept, "2", noon - dayMs),
      row(gone, "4", noon),
      row(unknown, "8", noon),
    )
    await plane.send(`/api/v1/keys/${keyId(gone)}`, asManager("DELETE"))
    const items: ReadonlyArray<Anything> = await dataOf(plane, "/api/v1/activity?group_by=api_key")
    const named = items.map((item) => [item.date, item.api_key_hash, item.api_key_name, item.usage])
    expect(new Set(named)).toEqual(
      new Set([
        ["2026-07-15", keyId(kept), "kept", 1],
        ["2026-07-14", keyId(kept), "kept", 2],
        ["2026-07-15", keyId(gone), "gone", 4],
        ["2026-07-15", keyId(unknown), null, 8],
      ]),
    )
    const csv = await plane.send("/api/v1/activity?group_by=api_key", {
      headers: { ...asManager().headers, accept: "text/csv" },
    })
    const [head = "", ...lines] = (await csv.text()).trimEnd().split("\r\n")
    const names = head.split(",")
    expect(names.indexOf("api_key_name")).toBe(names.indexOf("api_key_hash") + 1)
    const cells = lines.map((line) => line.split(","))
    const at = (line: ReadonlyArray<string>, name: string) => line[names.indexOf(name)]
    expect(new Set(cells.map((line) => [at(line, "api_key_hash"), at(line, "api_key_name")].join(" ")))).toEqual(
      new Set([`${keyId(kept)} kept`, `${keyId(gone)} gone`, `${keyId(unknown)} `]),
    )
    const [other] = await dataOf(plane, "/api/v1/activity")
    expect(other).not.toHaveProperty("api_key_name")
  })

  test("what each key of a provider was charged is listed by its place, also of one that is not configured any more", async () => {
    const several = {
      plugin: "toy",
      api_keys: [{ key: "a-secret-of-some-length" }, { key: "another-secret-of-some-length" }],
    }
    const plane = await started({
      storage: await make(),
      config: {
        providers: { several, single: { plugin: "toy", api_key: "a-third-secret-of-some-length" } },
        models: ["a", "b"].map((name) => ({
          id: `acme/${name}`,
          context_length: 100,
          hosts: [{ provider: "several" }, { provider: "single" }],
        })),
      },
    })
    const path = "/api/v1/spend/provider_keys"
    const before: ReadonlyArray<Anything> = await dataOf(plane, path)
    expect(before.map((each) => [each.provider, each.api_key, each.usage])).toEqual([
      ["several", "key 1", "0"],
      ["several", "key 2", "0"],
    ])
    const caller = await plane.newKey()
    const charged = (providerKey: string, upstreamCost: bigint, at: number) => ({
      ...{ ...row(caller, "1", at), provider: "several", providerKey, upstreamCost },
    })
    await append(
      plane,
      charged(before[1].id, 3n, noon),
      charged(before[1].id, 2n ** 62n, noon - dayMs),
      charged("several/0123456789abcdef", 5n, noon - 40 * dayMs),
      row(caller, "1", noon),
    )
    const after: ReadonlyArray<Anything> = await dataOf(plane, path)
    expect(after).toEqual([
      before[0],
      {
        ...{ provider: "several", api_key: "key 2", id: before[1].id },
        ...{ usage: "4611686.018427387907", usage_daily: "0.000000000003" },
        ...{ usage_weekly: "4611686.018427387907", usage_monthly: "4611686.018427387907" },
      },
      {
        ...{ provider: "several", api_key: null, id: "several/0123456789abcdef" },
        ...{ usage: "0.000000000005", usage_daily: "0", usage_weekly: "0", usage_monthly: "0" },
      },
    ])
    expect(JSON.stringify(after)).not.toContain("secret")
    await expectError(await plane.send(path, bearer(caller)), 403)
  })
})
