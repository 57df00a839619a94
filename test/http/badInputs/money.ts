/** Numbers 69 to 71: requests that the key's budget or its rate limit does not cover. */
import { expect } from "bun:test"
import * as Effect from "effect/Effect"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { wholeBodyOf } from "../../support/clients/answers.ts"
import { fine } from "../../support/clients/badInputs.ts"
import { row as ledgerRow } from "../../support/gateways/control.ts"
import { asKey, badInput, gateway, refused } from "./harness.ts"

export const moneyTests = (): void => {
  const spent = async (limitReset: "monthly" | null): Promise<string> => {
    const key = await gateway.newKey({ limit: 1_000_000_000_000n, limitReset })
    await gateway.run(Effect.flatMap(Storage, (storage) => storage.ledger.append([ledgerRow(key, "1", Date.now())])))
    return key
  }
  const figures = (usd: number, spend: number) => ({ limit_usd: usd, spend_usd: spend, held_usd: 0 })

  badInput(69, "a limit that is used up", async () => {
    const key = await spent(null)
    const metadata = await refused(() => gateway.chat(fine, asKey(key)), {
      status: 402,
      says: /^The key's total limit of \$1 is used up\.$/,
    })
    expect(metadata).toMatchObject({ reason: "limit_exhausted", ...figures(1, 1), resets_at: null })
  })
  badInput(69, "a limit that is used up until the month ends", async () => {
    const key = await spent("monthly")
    const metadata = await refused(() => gateway.chat({ ...fine, stream: true }, asKey(key)), {
      status: 402,
      says: /^The key's monthly limit of \$1 is used up\.$/,
    })
    expect(metadata).toMatchObject({ reason: "limit_exhausted", limit_source: "monthly", ...figures(1, 1) })
    const now = new Date()
    const next = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1)
    expect(metadata["resets_at"]).toBe(new Date(next).toISOString())
  })
  badInput(70, "a request that costs more than what is left", async () => {
    const key = await gateway.newKey({ limit: 1_000_000_000n })
    const response = () => gateway.chat({ ...fine, max_tokens: 4096 }, asKey(key))
    const metadata = await refused(response, {
      status: 402,
      says: "lower max_tokens, shorten the prompt, or raise the limit",
    })
    expect(metadata).toMatchObject({ reason: "request_exceeds_budget", ...figures(0.001, 0), resets_at: null })
    await wholeBodyOf(await gateway.chat({ ...fine, max_tokens: 10 }, asKey(key)))
  })
  badInput(71, "more requests than the key's rate limit", async () => {
    const key = await gateway.newKey({ rateLimit: { requests: 1, intervalSeconds: 86_400 } })
    await wholeBodyOf(await gateway.chat(fine, asKey(key)))
    for (const stream of [false, true]) {
      const metadata = await refused(
        async () => {
          const response = await gateway.chat({ ...fine, stream }, asKey(key))
          expect(Number(response.headers.get("retry-after"))).toBeWithin(86_300, 86_401)
          expect(response.headers.get("x-ratelimit-limit")).toBe("1")
          return response
        },
        { status: 429, says: /^Rate limit exceeded: requests of this key\.$/ },
      )
      expect(metadata).toMatchObject({ limit_source: "gateway_key_rate_limit" })
    }
  })
}
