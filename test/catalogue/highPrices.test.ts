/** Prices that were probably written per million tokens are warned of. */
import { expect, test } from "bun:test"
import echo from "headgate/providers/echo"
import { highPriceWarning } from "../../src/catalogue/highPrices.ts"
import { resolvedFrom } from "../support/gateways/resolved.ts"

const warningFor = async (prompt: string, completion: string) => {
  const hosts = [{ provider: "echo", pricing: { prompt, completion } }]
  const models = [{ id: "acme/small", context_length: 8192, hosts }]
  return highPriceWarning((await resolvedFrom({ plugins: [echo] }, { models })).models)
}

test("a price of 0.40 USD per token passed without a word", async () => {
  expect(await warningFor("0.0000001", "0.40")).toBe(
    'a token costs more than 0.001 USD (1,000 per million): acme/small at echo. Prices are USD per token, so 0.40 per million is "0.0000004"',
  )
  expect(await warningFor("0.40", "0.0000001")).toContain("acme/small at echo")
  expect(await warningFor("0.001", "0.0006")).toBeUndefined()
})
