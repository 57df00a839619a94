/** What of a failure may be seen. docs/guarantees.md#g27 */
import { describe, expect, test } from "bun:test"
import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import { PluginFault } from "../../../src/plugin/checks/PluginFault.ts"
import { withoutSecrets } from "../../../src/services/calls/withoutSecrets.ts"
import { closeServices } from "../../support/clocks/services.ts"
import { oneEndpoint } from "../../support/hosts/oneEndpoint.ts"

closeServices()

const endpoint = await oneEndpoint()

describe("a failure is shown without our secrets", () => {
  const shown = (members: object, added: ReadonlyArray<string> = []) =>
    withoutSecrets(new HostFailed({ reason: "request", ...members }), endpoint, added)

  test("in what the host said, its code, and the cause with its stack", () => {
    const cause = new Error("at https://a.test/?key=secret-of-a")
    const failure = shown({ detail: "no key secret-of-a", code: "secret-of-a", cause })
    expect(failure.reason).toBe("request")
    expect(failure.detail).toStartWith("no key ")
    expect(JSON.stringify([failure.detail, failure.code])).not.toContain("secret-of-a")
    const hidden = failure.cause
    if (!(hidden instanceof Error)) throw new Error("the cause is lost")
    expect(`${hidden.message} ${hidden.stack}`).not.toContain("secret-of-a")
    expect(cause.message).toContain("secret-of-a")
  })

  test("in a cause that is a text, or a fault of a plugin, which stays one", () => {
    expect(shown({ cause: "secret-of-a" }).cause).not.toContain("secret-of-a")
    const fault = new PluginFault({ plugin: "p", member: "m", hook: "sign", problem: "secret-of-a", cause: undefined })
    const hidden = shown({ cause: fault }).cause
    if (!(hidden instanceof PluginFault)) throw new Error("no fault any more")
    expect([hidden.plugin, hidden.hook, hidden.problem.includes("secret-of-a")]).toEqual(["p", "sign", false])
  })

  test("and without what a signature added", () => {
    expect(shown({ detail: "bad signature-0123456789abcdef" }, ["signature-0123456789abcdef"]).detail).not.toContain(
      "0123456789abcdef",
    )
  })

  test("one that says nothing is the same one", () => {
    const failure = new HostFailed({ reason: "timeout" })
    expect(withoutSecrets(failure, endpoint)).toBe(failure)
  })
})
