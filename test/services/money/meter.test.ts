/** Metering without the requests around it. docs/guarantees.md#g3 */
import { expect, test } from "bun:test"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { freePricing } from "../../../src/domain/price/price.ts"
import { KeyStore } from "../../../src/services/keys/KeyStore.ts"
import { Meter } from "../../../src/services/money/Meter.ts"
import type { Settlement } from "../../../src/services/money/Reservation.ts"
import { Lifetime, RequestContext } from "../../../src/services/request/RequestContext.ts"
import { gatewayWithoutSocket } from "../../support/gateways/gateway.ts"
import { hostFor } from "../../support/recordings/recordings.ts"

const bounds = {
  ...{ promptBytes: 10, mediaBytes: 0, mediaParts: 0, textBytes: 10, messages: 1, images: 0, searches: 0 },
  ...{ maxTokens: 5, choices: 1 },
}

test("a defect while the cost is computed is a result, not a throw, and what the attempt could cost stays reserved", async () => {
  const gateway = await gatewayWithoutSocket()
  const newKey = { kind: "ordinary" as const, name: "test", limit: 1_000_000_000_000n }
  const { record: key } = await gateway.run(Effect.flatMap(KeyStore, (keys) => keys.create(newKey)))
  const meter = await gateway.run(Meter)
  const facts = {
    requestId: "req-1",
    generationId: "gen-1",
    key,
    attribution: { appTitle: "", appUrl: "" },
    admittedAt: 1,
    lifetime: new Lifetime(),
    form: "chat",
    operation: "chat",
    models: [],
    strategy: "",
    seed: 1,
  }
  const context = new RequestContext(facts, () => 0)
  const host = { ...hostFor("upstream"), pricing: { ...freePricing, prompt: 1n, completion: 1n } }
  const ask = { bounds, maxTokens: 5, sentBytes: 10, streamed: false }
  const reservation = await gateway.run(meter.reserve({ _tag: "Key", key }, context, ask, host))
  const broken: Settlement = {
    ...{ outcome: "finished", outputBytes: 1, finishReason: "stop", latencyMs: 1, isAwaited: true },
    get usage(): never {
      throw new Error("a defect")
    },
  }
  const exit = await gateway.run(Effect.exit(meter.settle(reservation, broken)))
  expect(Exit.isFailure(exit) && Cause.isDie(exit.cause)).toBe(true)
  expect((await gateway.run(meter.spent(key.id))).reserved).toBe(reservation.amount)
  expect(reservation.amount).toBeGreaterThan(0n)
  await gateway.stop()
})
