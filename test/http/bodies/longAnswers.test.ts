/** Answers without end: each is read to its bound, and its connection is closed. docs/guarantees.md#g10 */
import { expect, test } from "bun:test"
import { until } from "../../support/clocks/until.ts"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import { configFor, scriptedHost } from "../../support/hosts/host.ts"
import { part, rawHost } from "../../support/hosts/rawHost.ts"

closeAfterEach()

const ask = { model: "acme/small", messages: [{ role: "user", content: "hi" }] }

test.each([
  [500, 502, false],
  [500, 502, true],
  [429, 429, false],
  [400, 400, true],
])(
  "an error body without end after %p: the answer comes, and the host's connection is closed",
  async (status, expected, stream) => {
    const page = part("x".repeat(16_384))
    const host = opened(
      rawHost((peer) => {
        peer.write(`HTTP/1.1 ${status} No\r\ncontent-type: text/plain\r\ntransfer-encoding: chunked\r\n\r\n`)
        const more = setInterval(() => (peer.isOpen() ? peer.write(page) : clearInterval(more)), 2)
      }),
    )
    // The deadline is far longer than the answer takes. An answer at the deadline would be a 408.
    const gateway = await startWatched({ config: { ...configFor({ acme: host }), limits: { deadline_ms: 30_000 } } })
    const response = await gateway.chat({ ...ask, stream })
    expect(response.status).toBe(expected)
    await response.text()
    await until(() => host.open() === 0, "the end of the host's connection")
  },
)

test("a compressed answer counts by its decompressed size", async () => {
  const bomb = Bun.gzipSync(
    new TextEncoder().encode(`{"choices":[{"message":{"content":"${"x".repeat(3_000_000)}"}}]}`),
  )
  const headers = { "content-type": "application/json", "content-encoding": "gzip" }
  const host = opened(scriptedHost(() => new Response(bomb, { headers })))
  const gateway = await startWatched({ config: { ...configFor({ acme: host }), limits: { body_bytes: 1_000_000 } } })
  expect((await gateway.chat(ask)).status).toBe(502)
})
