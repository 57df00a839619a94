/** A fault while a refusal is written does not keep a request from its end. docs/guarantees.md#g37 */
import { expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import { DataHandlers } from "../../../src/http/data/DataHandlers.ts"
import { forms } from "../../../src/http/data/forms.ts"
import { modelRoute } from "../../../src/http/data/ModelRequest.ts"
import { errorOf } from "../../support/clients/answers.ts"
import { startGateway } from "../../support/gateways/gateway.ts"
import { observe } from "../../support/gateways/observed.ts"
import { closeAfterEach, opened } from "../../support/gateways/watched.ts"
import { configFor, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"

closeAfterEach()

/** A form whose errors cannot be written. */
const speechless = {
  ...forms.chat,
  error: () => {
    throw new Error("no words")
  },
}

test.each(["native", "effect"] as const)("a form that cannot write its error, %s: 500, and one end", async (kind) => {
  const host = opened(scriptedHost(() => wholeAnswer("hello")))
  const gateway = opened(await startGateway({ config: configFor({ acme: host }) }))
  const ends = await observe(gateway)
  const { handler } = await gateway.run(DataHandlers)
  const handle = handler(
    modelRoute({ method: "POST", path: "/api/v1/speechless" }, speechless),
    (_, response) => response,
  )
  const request = new Request("http://gateway.test/api/v1/speechless", { method: "POST", body: "{}" })
  const asked = kind === "native" ? handle.native(request, () => false) : Effect.runPromise(handle.effect(request))
  const response = await asked
  expect([response.status, (await errorOf(response))["message"]]).toEqual([500, "Internal error."])
  expect(ends.map(({ status, failure }) => [status, failure])).toEqual([[500, "defect"]])
})
