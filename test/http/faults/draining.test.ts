/** A gateway that stops finishes the requests that it has begun to read. docs/guarantees.md#g19 */
import { expect, test } from "bun:test"
import { answersIn, rawCaller, requestOf } from "../../support/clients/rawCaller.ts"
import { until } from "../../support/clocks/until.ts"
import { startGateway } from "../../support/gateways/gateway.ts"
import { closeAfterEach, opened } from "../../support/gateways/watched.ts"
import { configFor, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"

closeAfterEach()

test("a request whose body was still arriving was cut off by the drain: it is awaited and answered", async () => {
  const host = opened(scriptedHost(() => wholeAnswer("fine")))
  const gateway = opened(await startGateway({ config: configFor({ acme: host }, { server: { drain_s: 20 } }) }))
  const body = JSON.stringify({ model: "acme/small", messages: [{ role: "user", content: "hi" }] })
  const caller = rawCaller(gateway.url)
  const headers = {
    authorization: `Bearer ${gateway.key}`,
    "content-type": "application/json",
    "content-length": `${body.length}`,
    expect: "100-continue",
  }
  caller.send(requestOf("POST /api/v1/chat/completions", headers, body.slice(0, 10)))
  // The runtime sends this once it has passed the request to our code.
  await caller.until((received) => received.includes("100 Continue"))

  const stopped = gateway.stop()
  const isRefused = () =>
    fetch(`${gateway.url}/models`).then(
      ({ status }) => status === 503,
      () => true,
    )
  await until(isRefused, "the drain")
  caller.send(body.slice(10))
  // The stop may be over before this process reads what was sent to it.
  const [answer] = answersIn(await caller.until((text) => answersIn(text).length > 0))
  expect(answer?.status).toBe(200)
  expect(await answer?.text()).toContain("fine")
  caller.hangUp()
  await stopped
  expect(host.calls).toHaveLength(1)
})
