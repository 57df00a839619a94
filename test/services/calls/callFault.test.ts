/** Why a call got no answer, in words for the operator, without credentials. docs/guarantees.md#g27 */
import { expect, test } from "bun:test"
import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import { callFault, placeOf } from "../../../src/services/calls/callFault.ts"

const url = "http://user:sesame@host.test:8080/v1?key=sesame"
const failed = (cause: unknown, reason: HostFailed["reason"] = "unreachable") => new HostFailed({ reason, cause })
const withCode = (code: string, message = "") => Object.assign(new Error(message), { code })

test.each<readonly [HostFailed, string]>([
  [failed(withCode("ENOTFOUND")), "the name host.test:8080 cannot be looked up (DNS)"],
  [failed(new Error("10.0.0.1 may not be called")), "is a private address or one that is never called"],
  [failed(withCode("EHOSTUNREACH")), "no network leads to host.test:8080"],
  [failed(withCode("ECONNREFUSED")), "nothing listens at host.test:8080"],
  [failed(withCode("SELF_SIGNED_CERT_IN_CHAIN")), "TLS to host.test:8080 failed: SELF_SIGNED_CERT_IN_CHAIN"],
  [failed(new Error("no connection after 5 s")), "host.test:8080 does not answer: no connection after 5 seconds"],
  [failed(withCode("ECONNRESET")), "host.test:8080 closed the connection"],
  [failed(new Error("outer", { cause: withCode("ECONNREFUSED") })), "nothing listens at host.test:8080"],
  [failed(undefined, "timeout"), "host.test:8080 does not answer in time"],
  [failed(new Error("no status line"), "malformed"), "what answers at host.test:8080 does not speak HTTP"],
  [failed(withCode("EWEIRD", "strange")), "host.test:8080 cannot be called: EWEIRD"],
  [failed("no error at all"), "host.test:8080 cannot be called: unreachable"],
])("%s", (failure, text) => {
  const said = callFault(failure, { url, proxy: undefined })
  expect(said).toContain(text)
  expect(said).not.toContain("sesame")
})

test("through a proxy, the fault is that of the proxy, and a host that is slow is named as well", () => {
  const proxy = "http://me:sesame@proxy.test:3128"
  expect(callFault(failed(withCode("ECONNREFUSED")), { url, proxy })).toBe(
    "through the proxy proxy.test:3128: nothing listens at proxy.test:3128",
  )
  expect(callFault(failed(undefined, "timeout"), { url, proxy })).toBe(
    "through the proxy proxy.test:3128: host.test:8080 does not answer in time",
  )
})

test("an address that is none is not quoted", () => {
  expect(placeOf("sesame")).toBe("its address")
})
