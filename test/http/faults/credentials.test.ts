/** Header names are case-insensitive: a plugin cannot add credentials under another spelling. docs/guarantees.md#g29 */
import { expect, test } from "bun:test"
import { configFor, scriptedHost, streamAnswer, wholeAnswer } from "../../support/host.ts"
import { oddId, withOdd } from "../../support/oddPlugin.ts"
import { closeAfterEach, opened, startWatched } from "../../support/watched.ts"

closeAfterEach()

test.each(["Authorization", "AUTHORIZATION"])(
  "a plugin that set %s had its value joined with our key: it is named in the log, and no host is called",
  async (name) => {
    const host = opened(scriptedHost((body) => (body["stream"] === true ? streamAnswer(["hi"]) : wholeAnswer("hi"))))
    const { providers, models } = configFor({ acme: host })
    const gateway = await startWatched({
      plugins: await withOdd({ headers: { [name]: "Bearer of-the-plugin", "x-of-the-plugin": "passes" } }),
      config: { providers: { acme: { ...providers["acme"], plugin: oddId } }, models },
    })
    for (const stream of [false, true]) {
      const request = { model: "acme/small", messages: [{ role: "user", content: "hi" }], stream }
      const response = await gateway.chat(request)
      expect(response.status).toBe(502)
      await response.text()
    }
    expect(host.calls).toEqual([])
    expect(gateway.log()).toContain("odd.protocols.chat.encode must return")
  },
)
