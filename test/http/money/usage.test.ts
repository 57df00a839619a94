/** A host that reports usage several times: which of its figures are billed. docs/guarantees.md#g5 */
import { expect, test } from "bun:test"
import { openAccount } from "../../support/gateways/account.ts"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import { chunkOf, configFor, scriptedHost, sse } from "../../support/hosts/host.ts"

closeAfterEach()

const text = chunkOf({ delta: { content: "Hello" }, finish_reason: null })
const finish = chunkOf({ delta: {}, finish_reason: "stop" })
const usage = (prompt: number, completion: number) =>
  JSON.stringify({ choices: [], usage: { prompt_tokens: prompt, completion_tokens: completion } })

const large = usage(100, 50)
const small = usage(10, 5)

test.each([
  ["the smaller second", [text, finish, large, small]],
  ["the larger second", [text, finish, small, large]],
  ["the larger before the text has ended", [text, large, text, finish, small]],
  ["the larger in the middle", [text, small, finish, large, small]],
] as const)("usage that comes twice, %s: the larger one is billed", async (_name, events) => {
  const host = opened(scriptedHost(() => sse([...events, "[DONE]"])))
  const gateway = await startWatched({ config: configFor({ acme: host }) })
  const account = await openAccount(gateway)
  const request = { model: "acme/small", messages: [{ role: "user", content: "hi" }], stream: true }
  const response = await gateway.chat(request, { headers: { authorization: `Bearer ${account.secret}` } })
  // 100 tokens at a millionth of a dollar and 50 at two.
  expect(await response.text()).toContain('"cost":0.0002,')
  expect(await account.rows()).toMatchObject([
    { promptTokens: 100, completionTokens: 50, cost: 200_000_000n, estimated: false },
  ])
  expect(await account.total()).toBe(200_000_000n)
})
