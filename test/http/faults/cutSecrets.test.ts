/**
 * A host's message is truncated for callers. A key at the place of the cut must not be shown in part.
 * docs/guarantees.md#g27
 */
import { expect, test } from "bun:test"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import { configFor, scriptedHost, sse } from "../../support/hosts/host.ts"

closeAfterEach()

const key = `sk-of-the-provider-${"0123456789".repeat(4)}`
/** A text whose character number `longest` is in the middle of the key, so that a cut there would leave a part of it. */
const across = (longest: number) => `${"x".repeat(longest - 30)} ${key}`

test.each<readonly [string, boolean, () => Response]>([
  ["message", false, () => Response.json({ error: { message: across(1024) } }, { status: 400 })],
  ["code", false, () => Response.json({ error: { message: "no", code: across(100) } }, { status: 400 })],
  ["error event", true, () => sse([JSON.stringify({ error: { message: across(1024), code: 400 } })])],
])(
  "a key that was truncated in a long %s was shown in part: nothing of it is shown",
  async (_where, stream, answer) => {
    const host = opened(scriptedHost(answer))
    const { providers, models } = configFor({ acme: host })
    const config = { providers: { acme: { ...providers["acme"], api_key: key } }, models }
    const gateway = await startWatched({ config })
    const body = { model: "acme/small", messages: [{ role: "user", content: "hi" }], stream }
    const text = await (await gateway.chat(body)).text()
    expect(text).toContain("xxxx")
    expect(text).not.toContain(key.slice(0, 8))
    expect(gateway.log()).not.toContain(key.slice(0, 8))
  },
)
