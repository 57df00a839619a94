/** `limits.body_bytes`, at its exact value. docs/guarantees.md#g30 */
import { expect, test } from "bun:test"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import { configFor, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"

closeAfterEach()

const limit = 2000

/** A request of so many bytes. */
const bodyOf = (bytes: number): string => {
  const asked = (content: string) => JSON.stringify({ model: "acme/small", messages: [{ role: "user", content }] })
  return asked("x".repeat(bytes - asked("").length))
}

/** In three pieces, so that the server cannot know the length. */
const inPieces = (text: string): ReadableStream<Uint8Array> => {
  const bytes = new TextEncoder().encode(text)
  const cuts = [0, 700, bytes.length - 1, bytes.length]
  return new ReadableStream({
    async pull(controller) {
      const from = cuts.shift() ?? 0
      if (cuts[0] === undefined) return controller.close()
      controller.enqueue(bytes.slice(from, cuts[0]))
      await Bun.sleep(1)
    },
  })
}

test.each([
  ["with its length, of the limit", (text: string) => text, limit, 200],
  ["with its length, a byte longer", (text: string) => text, limit + 1, 413],
  ["in chunks, of the limit", inPieces, limit, 200],
  ["in chunks, a byte longer", inPieces, limit + 1, 413],
] as const)("a body %s", async (_, sent, bytes, status) => {
  const host = opened(scriptedHost(() => wholeAnswer("hi")))
  const gateway = await startWatched({ config: { ...configFor({ acme: host }), limits: { body_bytes: limit } } })
  const response = await fetch(`${gateway.url}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json" },
    body: sent(bodyOf(bytes)),
  })
  expect([response.status, host.calls.length]).toEqual([status, status === 200 ? 1 : 0])
  await response.text()
})
