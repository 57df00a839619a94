/** `billing.unknown_price`: hosts whose price is not known, and what their rows in the ledger say. docs/guarantees.md#g5 */
import { expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { openAccount } from "../../support/gateways/account.ts"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import { scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"

closeAfterEach()

interface Listed {
  readonly id: string
  /** Prices of a token of the prompt by variant; `null`: unknown. An output token costs twice as much. */
  readonly prices: Readonly<Record<string, string | null>>
}

const started = async (unknownPrice: string, models: ReadonlyArray<Listed>) => {
  const host = opened(scriptedHost(() => wholeAnswer("hi", { prompt_tokens: 1000, completion_tokens: 100 })))
  const gateway = await startWatched({
    config: {
      discovery: { environment: false, local: false },
      billing: { unknown_price: unknownPrice as "deny" },
      providers: { acme: { plugin: "openai-compatible", base_url: host.url, network: "private" } },
      models: models.map(({ id, prices }) => ({
        id,
        context_length: 8192,
        hosts: Object.entries(prices).map(([variant, prompt]) => ({
          provider: "acme",
          variant,
          ...(prompt === null ? {} : { pricing: { prompt, completion: `${Number(prompt) * 2}` } }),
        })),
      })),
    },
  })
  const account = await openAccount(gateway)
  const ask = (variant: string, secret = account.secret) =>
    gateway.chat(
      {
        model: models[0]?.id,
        messages: [{ role: "user", content: "hello" }],
        max_tokens: 200,
        provider: { only: [`acme/${variant}`] },
      },
      { headers: { authorization: `Bearer ${secret}` } },
    )
  return { gateway, account, ask }
}

const costOf = async (response: Response): Promise<number> => {
  const { usage } = (await response.json()) as { readonly usage: { readonly cost: number } }
  expect(Number(response.headers.get("x-gw-cost-usd"))).toBe(usage.cost)
  return usage.cost
}

const cheapAndDear: Listed = { id: "acme/small", prices: { a: "0.000001", b: "0.000003", c: null } }

test("deny: a key with a limit gets 402, one without pays nothing and its row says so", async () => {
  const { gateway, account, ask } = await started("deny", [cheapAndDear])
  const refused = await ask("c")
  expect(refused.status).toBe(402)
  expect(await refused.text()).toContain("unknown_price")
  expect(await account.rows()).toEqual([])
  expect(await costOf(await ask("c", gateway.key))).toBe(0)
  const rows = gateway.run(Effect.flatMap(Storage, ({ ledger }) => ledger.rows(keyId(gateway.key), 9)))
  expect(await rows).toMatchObject([{ cost: 0n, priceBasis: "unknown", priceVersion: null, waived: null }])
})

test("estimate: it costs what the dearest host of the model costs", async () => {
  const { gateway, account, ask } = await started("estimate", [cheapAndDear])
  expect(await costOf(await ask("c"))).toBe(0.0036)
  expect(await costOf(await ask("b"))).toBe(0.0036)
  const [listed, estimated] = await account.rows()
  expect(estimated).toMatchObject({ cost: 3_600_000_000n, priceBasis: "estimated", waived: null })
  expect(listed).toMatchObject({ cost: 3_600_000_000n, priceBasis: "listed" })
  expect(estimated?.priceVersion).toBe(listed?.priceVersion ?? -1)
  expect(await account.total()).toBe(7_200_000_000n)
  expect(gateway.log()).toContain("acme/small at acme/c")
})

test("estimate: where the model has no known price, what the dearest host of the same author costs", async () => {
  const { account, ask } = await started("estimate", [
    { id: "acme/new", prices: { a: null } },
    { id: "other/model", prices: { a: "0.1" } },
    cheapAndDear,
  ])
  expect(await costOf(await ask("a"))).toBe(0.0036)
  expect(await account.rows()).toMatchObject([{ priceBasis: "estimated", cost: 3_600_000_000n }])
})

test("estimate: where there is nothing to estimate by, it is denied", async () => {
  const { ask } = await started("estimate", [
    { id: "acme/new", prices: { a: null } },
    { id: "other/model", prices: { a: "0.1" } },
  ])
  expect((await ask("a")).status).toBe(402)
})

test("allow: it costs nothing, also for a key with a limit, and the row says why; it is no free model", async () => {
  const { gateway, account, ask } = await started("allow", [cheapAndDear])
  expect(await costOf(await ask("c"))).toBe(0)
  const [row] = await account.rows()
  expect(row).toMatchObject({
    cost: 0n,
    upstreamCost: 0n,
    promptTokens: 1000,
    priceBasis: "unknown",
    priceVersion: null,
  })
  expect(await account.reserved()).toBe(0n)
  expect(gateway.log()).toContain("acme/small at acme/c")
  const status = await gateway.call("/auth/key", { headers: { authorization: `Bearer ${account.secret}` } })
  expect(await status.text()).toContain('"free_model_daily_requests":{"used":0')
})

test("allow: a key whose limit is used up reaches a local host, which costs nothing", async () => {
  const { gateway, ask } = await started("allow", [cheapAndDear])
  const spent = await gateway.newKey({ limit: 0n })
  expect((await ask("c", spent)).status).toBe(200)
})
