/** The most that a request can cost, for requests whose media count apart. docs/guarantees.md#g1 */
import { expect, test } from "bun:test"
import type { Host } from "../../../src/domain/hosts/Host.ts"
import { reservationSize } from "../../../src/domain/money/reservation.ts"
import type { Bounds } from "../../../src/domain/request/request.ts"
import { plannerFor } from "../../support/gateways/planner.ts"
import { hostFor } from "../../support/recordings/recordings.ts"

const { hosts } = await plannerFor([
  {
    id: "acme/embed",
    hosts: [
      {
        provider: "a",
        context_length: 1000,
        max_completion_tokens: 1000,
        pricing: { prompt: "0.000001", completion: "0" },
      },
    ],
  },
])
const host: Host = hosts[0] ?? hostFor("embed")

const budget = { limit: 10n ** 15n, spend: 0n, reserved: 0n, source: "total", resetsAt: null }

/** What is reserved, in tokens of the prompt, beside 16 for each message. */
const tokensReserved = (bounds: Partial<Bounds>): bigint => {
  const all: Bounds = {
    ...{ choices: 1, images: 0, searches: 0, mediaParts: 0, mediaBytes: 0, messages: 0 },
    ...bounds,
  } as Bounds
  const size = reservationSize(budget, { bounds: all, maxTokens: 1, sentBytes: 0 }, host)
  if (typeof size === "string") throw new Error(size)
  return size.amount / 1_000_000n
}

test("media of one prompt can take the host's context once", () => {
  expect(tokensReserved({ mediaParts: 3 })).toBe(1000n)
})

test("of texts that are read one by one, the media of each can take the host's context", () => {
  expect(tokensReserved({ mediaParts: 3, longestBytes: 10 })).toBe(3000n)
})

test("a key whose limit is used up calls a host without a price only where that is local", () => {
  const unpriced: Host = { ...host, pricing: null, unpriced: "allowed" }
  const usedUp = { ...budget, spend: budget.limit }
  const basis = { bounds: { choices: 1, images: 0, searches: 0, mediaParts: 0, mediaBytes: 0, messages: 0 } as Bounds }
  const sizeAt = (local: boolean) =>
    reservationSize(usedUp, { ...basis, maxTokens: 1, sentBytes: 0 }, { ...unpriced, local })
  expect(sizeAt(false)).toBe("limit_exhausted")
  expect(sizeAt(true)).toMatchObject({ amount: 0n })
})
