/** Incomplete or impossible counts of a host are replaced by estimates. docs/guarantees.md#g5 */
import { expect, test } from "bun:test"
import { openAccount } from "../../support/gateways/account.ts"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import { chunkOf, configFor, scriptedHost, sse, wholeAnswer } from "../../support/hosts/host.ts"

closeAfterEach()

const text = "word ".repeat(80)
const messages = [{ role: "user", content: "x".repeat(400) }]

const counts: ReadonlyArray<readonly [seen: string, usage: Record<string, unknown>]> = [
  ["no completion_tokens was billed as no output", { prompt_tokens: 10 }],
  ["completion_tokens of null was billed as no output", { prompt_tokens: 10, completion_tokens: null }],
  ["no prompt_tokens", { completion_tokens: 5 }],
  ["2 + 2 milliard tokens were billed", { prompt_tokens: 2_000_000_000, completion_tokens: 2_000_000_000 }],
  ["4 milliard prompt tokens", { prompt_tokens: 4_000_000_000, completion_tokens: 5 }],
  ["4 milliard output tokens", { prompt_tokens: 10, completion_tokens: 4_000_000_000 }],
]

const cases = counts.flatMap(([seen, usage]) =>
  [false, true].map((stream) => [seen, stream ? "streamed" : "whole", usage, stream] as const),
)

test.each(cases)("%s (%s): prompt and output are estimated", async (_seen, _kind, usage, stream) => {
  const host = opened(
    scriptedHost(() => {
      if (!stream) return wholeAnswer(text, usage)
      const word = chunkOf({ delta: { content: text }, finish_reason: null })
      return sse([
        word,
        chunkOf({ delta: {}, finish_reason: "stop" }),
        JSON.stringify({ choices: [], usage }),
        "[DONE]",
      ])
    }),
  )
  const gateway = await startWatched({ config: configFor({ acme: host }) })
  const account = await openAccount(gateway)
  const response = await gateway.chat(
    { model: "acme/small", messages, stream, max_tokens: 200 },
    { headers: { authorization: `Bearer ${account.secret}` } },
  )
  expect(response.status).toBe(200)
  await response.text()
  const [row, ...more] = await account.rows()
  expect(more).toEqual([])
  expect(row).toMatchObject({ outcome: "finished", estimated: true })
  // 400 bytes in each direction, at four bytes per token.
  expect(row?.promptTokens).toBeWithin(50, 250)
  expect(row?.completionTokens).toBeWithin(50, 250)
  expect(await account.total()).toBe(row?.cost ?? -1n)
})
