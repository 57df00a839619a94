/** Connections on which nothing comes any more, on real sockets. docs/guarantees.md#g23 */
import { expect, test } from "bun:test"
import { rawCaller, requestOf } from "../../support/clients/rawCaller.ts"
import { until } from "../../support/clocks/until.ts"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import { configFor, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"

closeAfterEach()

const path = "POST /api/v1/chat/completions"
const body = JSON.stringify({ model: "acme/small", messages: [{ role: "user", content: "hi" }], max_tokens: 10 })

test(
  "connections that were idle, or had an early refusal and no end of their body, stayed open for ever; one that waits for its answer stays",
  async () => {
    const slow = Promise.withResolvers<Response>()
    let calls = 0
    const host = opened(scriptedHost(() => (calls++ === 0 ? slow.promise : wholeAnswer("at once"))))
    // The runtime counts in steps of four seconds, and one step may be over at once.
    const gateway = await startWatched({ config: configFor({ acme: host }), idleSeconds: 8 })
    const headers = { authorization: `Bearer ${gateway.key}`, "content-type": "application/json" }
    const caller = () => {
      const made = rawCaller(gateway.url)
      opened({ stop: async () => made.hangUp() })
      return made
    }
    const waiting = caller()
    waiting.send(requestOf(path, headers, body))
    await until(() => calls === 1, "the call of the host")
    // Connected only now, since they may be closed before a busy machine has taken what they ask.
    const [silent, served, refused, lost] = [caller(), caller(), caller(), caller()]
    served.send(requestOf(path, headers, body))
    refused.send(requestOf(path, { "content-length": "200" }))
    lost.send(requestOf("POST /nowhere", { "content-length": "200" }))
    const statuses = (await Promise.all([silent, served, refused, lost].map(({ closed }) => closed))).map((received) =>
      received.slice("HTTP/1.1 ".length, "HTTP/1.1 200".length),
    )
    expect(statuses).toEqual(["", "200", "401", "404"])
    slow.resolve(wholeAnswer("after a long thought"))
    expect(await waiting.until((received) => received.includes("thought"))).toStartWith("HTTP/1.1 200")
  },
  { timeout: 1_800_000 },
)
