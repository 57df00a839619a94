/** A defect after the head of a stream is logged with the id of its request. Its reservation and its place are released. */
import { expect, test } from "bun:test"
import { until } from "../../support/clocks/until.ts"
import { openAccount } from "../../support/gateways/account.ts"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import { chunkOf, type HeldStream, heldStream, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"
import { configWithOdd, type Odd, withOdd } from "../../support/hosts/oddPlugin.ts"

closeAfterEach()

/** A usage whose counts can be read, but not its details. */
const unreadable = {
  prompt_tokens: 10,
  completion_tokens: 5,
  get prompt_tokens_details(): never {
    throw new Error("a usage that cannot be read")
  },
}

const defects: ReadonlyArray<readonly [what: string, event: NonNullable<Odd["event"]>]> = [
  [
    "a finish that JSON cannot hold",
    (right) =>
      right.map((chunk) => ({
        ...chunk,
        choices: chunk.choices.map((choice) =>
          choice.finish_reason === null ? choice : { ...choice, delta: { odd: 1n } },
        ),
      })),
  ],
  [
    "usage that throws when it is read",
    (right) => right.map((chunk) => (chunk.usage === undefined ? chunk : { ...chunk, usage: unreadable })),
  ],
]

test.each(defects)("%s was not logged: it is, and its place and its reservation are released", async (_what, event) => {
  const streams: Array<HeldStream> = []
  const host = opened(
    scriptedHost((body, request) => {
      if (body["stream"] !== true) return wholeAnswer("fine")
      const held = heldStream(request)
      streams.push(held)
      held.send(chunkOf({ delta: { content: "so far" }, finish_reason: null }))
      return held.response
    }),
  )
  const gateway = await startWatched({
    plugins: await withOdd({ event }),
    config: configWithOdd(
      { first: host },
      { server: { drain_s: 0 }, limits: { max_in_flight: 1, deadline_ms: 30_000 } },
    ),
  })
  const account = await openAccount(gateway)
  const ask = (stream: boolean) =>
    gateway.chat(
      { model: "acme/small", messages: [{ role: "user", content: "hi" }], max_tokens: 10, stream },
      { headers: { authorization: `Bearer ${account.secret}` } },
    )
  const response = await ask(true)
  expect(response.status).toBe(200)
  const usage = { prompt_tokens: 10, completion_tokens: 5 }
  for (const held of streams) {
    held.send(chunkOf({ delta: {}, finish_reason: "stop" }, { usage }))
    held.send("[DONE]")
  }
  // Whether the stream breaks off or ends with an error does not matter here.
  await response.text().catch(() => "broken")
  await until(async () => (await account.reserved()) === 0n, "the release of what was reserved")
  expect((await ask(false)).status).toBe(200)
  expect(gateway.log()).toContain(response.headers.get("x-gw-request-id") ?? "no id")
})
