/** What a host says is cut for callers: the cut may not go through our key and leave its beginning. docs/guarantees.md#g27 */
import { expect, test } from "bun:test"
import { configFor, scriptedHost, sse } from "../../support/host.ts"
import { closeAfterEach, opened, startWatched } from "../../support/watched.ts"

closeAfterEach()

const key = `sk-of-the-provider-${"0123456789".repeat(4)}`
/** The key stands across the place where a text of so many characters is cut. */
const across = (longest: number) => `${"x".repeat(longest - 30)} ${key}`

test.each<readonly [string, boolean, () => Response]>([
  ["message", false, () => Response.json({ error: { message: across(1024) } }, { status: 400 })],
  ["code", false, () => Response.json({ error: { message: "no", code: across(100) } }, { status: 400 })],
  ["error event", true, () => sse([JSON.stringify({ error: { message: across(1024), code: 400 } })])],
])("a key that was cut in a long %s was shown in part: nothing of it is", async (_where, stream, answer) => {
  const host = opened(scriptedHost(answer))
  const { providers, models } = configFor({ acme: host })
  const config = { providers: { acme: { ...providers["acme"], api_key: key } }, models }
  const gateway = await startWatched({ config })
  const body = { model: "acme/small", messages: [{ role: "user", content: "hi" }], stream }
  const text = await (await gateway.chat(body)).text()
  expect(text).toContain("xxxx")
  expect(text).not.toContain(key.slice(0, 8))
  expect(gateway.log()).not.toContain(key.slice(0, 8))
})
