/** Streams that an app has from an embedded gateway, and does not read to their end. docs/embedding.md and docs/guarantees.md#g18 */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { inTimedGateway } from "../../support/gateways/timedGateway.ts"
import { chunkOf } from "../../support/hosts/host.ts"

const delta = (content: string) => chunkOf({ delta: { content }, finish_reason: null })

const unhandled: Array<unknown> = []
const note = (cause: unknown) => void unhandled.push(cause)
beforeAll(() => void process.on("unhandledRejection", note))
afterAll(() => void process.off("unhandledRejection", note))

/** What apps do with the body of a response. */
const doings: ReadonlyArray<readonly [string, (body: ReadableStream<Uint8Array>) => unknown]> = [
  ["is never touched", () => {}],
  ["has a reader that never reads", (body) => body.getReader()],
  ["was read once", (body) => body.getReader().read()],
  [
    "was given up by its reader",
    async (body) => {
      const reader = body.getReader()
      await reader.read()
      reader.releaseLock()
    },
  ],
  ["was copied into two", (body) => body.tee()],
  ["is in another response", (body) => new Response(body)],
  ["goes through a transformation that nobody reads", (body) => body.pipeThrough(new TextDecoderStream() as never)],
]

test.each(doings)("one that %s is cut after a minute, and nothing is rejected", (_, act) =>
  inTimedGateway({}, async ({ ask, call, pass, settle, ends }) => {
    const asked = ask()
    const host = (await call()).head().events(delta("x".repeat(100_000)))
    const { body } = await asked
    if (body === null) throw new Error("no body")
    await act(body)
    host.events(delta("y".repeat(100_000)))
    await pass(65_000)
    await settle()
    expect([host.aborted, ends.length]).toEqual([true, 1])
    expect(unhandled).toEqual([])
  }),
)

test.each(doings)("one that %s, and whose request is aborted, is left, and nothing is rejected", (_, act) =>
  inTimedGateway({}, async ({ ask, call, pass, settle, ends }) => {
    const leaving = new AbortController()
    const asked = ask({}, leaving.signal)
    const host = (await call()).head().events(delta("x".repeat(100_000)))
    const { body } = await asked
    if (body === null) throw new Error("no body")
    await act(body)
    leaving.abort()
    await pass(2000)
    await settle()
    expect([host.aborted, ends.length]).toEqual([true, 1])
    expect(unhandled).toEqual([])
  }),
)
