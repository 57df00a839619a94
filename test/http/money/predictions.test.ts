/** A predicted answer: what the model did not say of it is billed as output, beside the answer. docs/guarantees.md#g1 */
import { expect, test } from "bun:test"
import { openAccount } from "../../support/gateways/account.ts"
import { closeAfterEach, routed } from "../../support/gateways/routed.ts"
import { wholeAnswer } from "../../support/hosts/host.ts"

closeAfterEach()

const content = "x".repeat(7000)
const billed = {
  prompt_tokens: 10,
  completion_tokens: 7000,
  completion_tokens_details: { rejected_prediction_tokens: 6990 },
}
const ask = {
  messages: [{ role: "user", content: "hi" }],
  max_tokens: 10,
  prediction: { type: "content", content },
}

test("of 7,000 tokens was reserved as a prompt: a key with less than they cost as output spent it", async () => {
  const gateway = await routed({ acme: () => wholeAnswer("fine", billed) })
  // As a prompt they cost 7 millidollars, as output 14.
  const poor = await openAccount(gateway, { limit: 10_000_000_000n })
  expect((await poor.chat(ask)).status).toBe(402)
  expect(await poor.total()).toBe(0n)
  const rich = await openAccount(gateway, { limit: 25_000_000_000n })
  expect((await rich.chat(ask)).status).toBe(200)
  expect(await rich.total()).toBe(14_010_000_000n)
})

test("reserves nothing more at a host that is not sent it", async () => {
  const gateway = await routed(
    { acme: () => wholeAnswer("fine") },
    { change: { hosts: { acme: { supported_parameters: ["max_tokens"] } } } },
  )
  const account = await openAccount(gateway, { limit: 10_000_000_000n })
  expect((await account.chat(ask)).status).toBe(200)
  expect(gateway.hosts["acme"]?.calls[0]?.body).not.toHaveProperty("prediction")
})
