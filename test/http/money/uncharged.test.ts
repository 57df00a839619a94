/** What an estimate may leave unpaid is in the ledger, and is summed by key. docs/billing.md */
import { expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import { unchargedByKey } from "../../../src/services/money/reconcile.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { openAccount } from "../../support/gateways/account.ts"
import { type Answer, closeAfterEach, good, routed } from "../../support/gateways/routed.ts"
import { chunkOf, sse } from "../../support/hosts/host.ts"

closeAfterEach()

const uncounted: Answer = () =>
  sse([
    chunkOf({ delta: { content: "12345678" }, finish_reason: null }),
    chunkOf({ delta: {}, finish_reason: "stop" }),
    "[DONE]",
  ])

test("an estimate keeps by how much the host's bill can be above it; a count keeps nothing", async () => {
  const gateway = await routed({ host: (body, ...more) => (body["seed"] === 1 ? uncounted : good())(body, ...more) })
  const account = await openAccount(gateway)
  const ask = { messages: [{ role: "user", content: "12345678" }], max_tokens: 100, stream: true }
  for (const seed of [0, 1]) await (await account.chat({ ...ask, seed })).text()
  const [estimated, counted] = await account.rows()
  const sent = Buffer.byteLength(JSON.stringify(gateway.hosts["host"]?.calls.at(-1)?.body))
  // All bytes but those of two tokens of the prompt, at a microdollar, and 98 tokens of the output at two.
  const unpaid = BigInt(sent + 16 - 2) * 1_000_000n + 98n * 2_000_000n
  expect(estimated).toMatchObject({ estimated: true, rareUsage: { unchargedAtMost: Number(unpaid) } })
  expect(counted).toMatchObject({ estimated: false, rareUsage: null })
  expect(await gateway.run(Effect.flatMap(Storage, unchargedByKey))).toEqual([
    { key: account.id, rows: 1, free: 0n, atMost: unpaid },
  ])
})
