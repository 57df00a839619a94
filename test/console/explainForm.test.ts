/** A question of the explain view: its body, and its address. */
import { expect, test } from "bun:test"
import { addressOf, bodyOf, emptyExplain, formIn } from "../../console/lib/explainForm.ts"
import { overrideWords, priceLines } from "../../console/lib/prices.ts"

const form = {
  ...emptyExplain,
  model: "acme/small",
  message: "a secret",
  maxTokens: "100",
  sort: "price",
  order: "a, b",
  only: "a",
  ignore: "c",
  maxPrompt: "1.5",
  maxCompletion: "2",
  zdr: true,
  denyCollection: true,
  noFallbacks: true,
}

test("fields come to the members of a request", () => {
  expect(bodyOf(form)).toEqual({
    model: "acme/small",
    messages: [{ role: "user", content: "a secret" }],
    max_tokens: 100,
    provider: {
      sort: "price",
      order: ["a", "b"],
      only: ["a"],
      ignore: ["c"],
      max_price: { prompt: 1.5, completion: 2 },
      zdr: true,
      data_collection: "deny",
      allow_fallbacks: false,
    },
  })
  expect(bodyOf({ ...emptyExplain, model: "a/b" })).toEqual({
    model: "a/b",
    messages: [{ role: "user", content: "Hello" }],
  })
})

test("an address has every field again, and never the message", () => {
  const set = Object.entries(addressOf(form)).filter((entry): entry is [string, string] => entry[1] !== null)
  const parameters = new URLSearchParams(set)
  expect(parameters.toString()).not.toContain("secret")
  expect(formIn(parameters)).toEqual({ ...form, message: emptyExplain.message })
})

test("prices of tokens are told for a million, the others for one, and those of nothing are left out", () => {
  expect(
    priceLines({ prompt: "0.00000025", completion: "0", web_search: "0.01", image: "0", discount: 0, overrides: [] }),
  ).toEqual([
    { title: "prompt", amount: "$0.25", per: "1M tokens" },
    { title: "completion", amount: "$0", per: "1M tokens" },
    { title: "a web search", amount: "$0.01", per: "each" },
  ])
})

test.each([
  [{ min_prompt_tokens: 200_000 }, "from 200,000 prompt tokens on"],
  [{ min_prompt_tokens: 0, starts: "2027-01-01" }, "from 2027-01-01 on"],
  [{ min_prompt_tokens: 0 }, "always"],
])("%p holds %s", (override, words) => {
  expect(overrideWords(override)).toBe(words)
})
