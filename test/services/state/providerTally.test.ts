/** What is remembered of the failures of providers. docs/state.md */
import { expect, test } from "bun:test"
import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import type { HostReason } from "../../../src/domain/failures/HostReason.ts"
import type { ObservedAttempt } from "../../../src/services/request/Observation.ts"
import { ProviderTally } from "../../../src/services/state/ProviderTally.ts"
import { hostsConfig } from "../../support/clocks/services.ts"
import { sampleAttempt, sampleEnd } from "../../support/gateways/observed.ts"

const times = { ...sampleEnd().times, receivedAt: 1000 }

const { models } = await hostsConfig({ acme: {} })
const [host] = models[0]?.hosts ?? []
if (host === undefined) throw new Error("no host")

const attempt = (ended: number, reason?: HostReason, more: Partial<ObservedAttempt> = {}) =>
  sampleAttempt(host, {
    ended,
    ...(reason === undefined ? {} : { outcome: "failed", failure: new HostFailed({ reason }) }),
    ...more,
  })

test("a refused account is told of until the provider answers; its last failure stays", () => {
  const tally = new ProviderTally()
  const end = (...attempts: ReadonlyArray<ObservedAttempt>) => tally.observe(sampleEnd({ times, attempts }))
  const error = (at: number, reason: HostReason) => ({ at, reason, host: host.tag, model: host.model })
  end(attempt(5))
  expect(tally.of("acme")).toEqual({ lastError: null, accountRefusedAt: null })
  end(attempt(7.4, "account"), attempt(9, "overloaded"))
  expect(tally.of("acme")).toEqual({ lastError: error(1009, "overloaded"), accountRefusedAt: 1007 })
  // Nobody has waited for what it would have said.
  end(attempt(20, undefined, { outcome: "abandoned" }))
  expect(tally.of("acme").accountRefusedAt).toBe(1007)
  end(attempt(30))
  expect(tally.of("acme")).toEqual({ lastError: error(1009, "overloaded"), accountRefusedAt: null })
  end(attempt(40, "account"))
  expect(tally.of("acme").accountRefusedAt).toBe(1040)
})

test("providers that a reload removed are forgotten: after a thousand names of them no failure was kept", () => {
  const tally = new ProviderTally()
  for (let at = 0; at < 1100; at++) {
    const one = attempt(5, "account", { host: { ...host, provider: `p${at}` } })
    tally.observe(sampleEnd({ times, attempts: [one] }))
    if (at % 100 === 99) tally.keepOnly(new Map([["p0", {}]]))
  }
  expect(tally.of("p0").accountRefusedAt).not.toBeNull()
  expect(tally.of("p1099")).toEqual({ lastError: null, accountRefusedAt: null })
  tally.observe(sampleEnd({ times, attempts: [attempt(5, "overloaded", { host: { ...host, provider: "new" } })] }))
  expect(tally.of("new").lastError).not.toBeNull()
})
