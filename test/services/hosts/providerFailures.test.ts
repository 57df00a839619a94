/** What is remembered of the failures of providers. docs/state.md */
import { expect, test } from "bun:test"
import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import type { HostReason } from "../../../src/domain/failures/HostReason.ts"
import { ProviderFailures } from "../../../src/services/hosts/ProviderFailures.ts"
import { hostsConfig } from "../../support/clocks/services.ts"

const { models } = await hostsConfig({ acme: {} })
const [host] = models[0]?.hosts ?? []
if (host === undefined) throw new Error("no host")

test("a refused account is told of until the provider answers; its last failure stays", () => {
  let now = 1000
  const failures = new ProviderFailures(() => now)
  const error = (at: number, reason: HostReason) => ({ at, reason, host: host.tag, model: host.model })
  failures.answered(host)
  expect(failures.of("acme")).toEqual({ lastError: null, accountRefusedAt: null })
  now = 1007
  failures.failed(host, new HostFailed({ reason: "account" }))
  now = 1009
  failures.failed(host, new HostFailed({ reason: "overloaded" }))
  expect(failures.of("acme")).toEqual({ lastError: error(1009, "overloaded"), accountRefusedAt: 1007 })
  failures.answered(host)
  expect(failures.of("acme")).toEqual({ lastError: error(1009, "overloaded"), accountRefusedAt: null })
  now = 1040
  failures.failed(host, new HostFailed({ reason: "account" }))
  expect(failures.of("acme").accountRefusedAt).toBe(1040)
})

test("providers that a reload removed are forgotten: after a thousand names of them no failure was kept", () => {
  const failures = new ProviderFailures(() => 1000)
  for (let at = 0; at < 1100; at++) {
    failures.failed({ ...host, provider: `p${at}` }, new HostFailed({ reason: "account" }))
    if (at % 100 === 99) failures.keepOnly(new Map([["p0", {}]]))
  }
  expect(failures.of("p0").accountRefusedAt).not.toBeNull()
  expect(failures.of("p1099")).toEqual({ lastError: null, accountRefusedAt: null })
  failures.failed({ ...host, provider: "new" }, new HostFailed({ reason: "overloaded" }))
  expect(failures.of("new").lastError).not.toBeNull()
})
