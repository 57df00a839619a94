/** A kept connection that the host closes under a request, as callers see it. docs/guarantees.md#g10 and #g9 */
import { expect, test } from "bun:test"
import { ask } from "../../support/gateways/routed.ts"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import { configFor, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"
import { rawServer } from "../../upstream/rawServer.ts"

closeAfterEach()

const body = JSON.stringify({
  choices: [{ index: 0, message: { role: "assistant", content: "from the first" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 1, completion_tokens: 1 },
})
const answer = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`

test("a request with an Idempotency-Key was sent twice to one host: the next host gets it", async () => {
  const first = rawServer({
    onRequest: ({ peer, nth }) => {
      if (nth === 1) peer.write(answer)
      else peer.reset()
    },
  })
  opened({ stop: first.stop })
  const second = opened(scriptedHost(() => wholeAnswer("from the second")))
  const gateway = await startWatched({
    config: configFor({ first: { url: `${first.url}/v1` }, second }, { routing: { strategy: "price" } }),
  })
  const hostOf = async (headers: Record<string, string> = {}) =>
    (await gateway.chat(ask(), { headers })).headers.get("x-gw-host")
  expect(await hostOf()).toBe("first")
  expect([await hostOf({ "idempotency-key": "one" }), first.requests(), second.calls.length]).toEqual(["second", 2, 1])
  // Without one, a connection that was closed at once is replaced, and the caller notices nothing.
  expect(await hostOf()).toBe("first")
  expect([await hostOf(), first.requests(), second.calls.length]).toEqual(["first", 5, 1])
})
