/** What a plugin of somebody else writes is judged as well, just before it is sent. docs/guarantees.md#g36 */
import { expect, test } from "bun:test"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import { scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"
import { configWithOdd, withOdd } from "../../support/hosts/oddPlugin.ts"

closeAfterEach()

const asked = async (members: Readonly<Record<string, unknown>>) => {
  const host = opened(scriptedHost(() => wholeAnswer("hi")))
  const gateway = await startWatched({ plugins: await withOdd({ members }), config: configWithOdd({ first: host }) })
  const { status } = await gateway.chat({ model: "acme/small", messages: [{ role: "user", content: "hi" }] })
  return { status, calls: host.calls.length }
}

test("a plugin may add what refers to nothing", async () => {
  expect(await asked({ seed: 5 })).toEqual({ status: 200, calls: 1 })
})

test.each([
  ["a stored file", { attachments: [{ file_id: "file-1" }] }],
  ["a conversation", { previous_response_id: "resp-1" }],
  ["a server", { tools: [{ type: "mcp", server_url: "https://a.test" }] }],
  ["a tool without a price", { tools: [{ type: "code_interpreter", container: { type: "auto" } }] }],
  ["an address within the network", { image_url: { url: "http://10.0.0.1/a.png" } }],
])("a plugin that adds %s: nothing is sent", async (_, members) => {
  const { status, calls } = await asked(members)
  expect([status, calls]).toEqual([400, 0])
})
