/** A host is sent our key and our headers, whatever its plugin adds. docs/guarantees.md#g29 */
import { expect, test } from "bun:test"
import { configFor, scriptedHost, streamAnswer, wholeAnswer } from "../support/host.ts"
import { oddId, withOdd } from "../support/oddPlugin.ts"
import { closeAfterEach, opened, startWatched } from "../support/watched.ts"

closeAfterEach()

test.each(["authorization"])("a plugin that sets %s does not take the place of our key", async (name) => {
  const host = opened(scriptedHost((body) => (body["stream"] === true ? streamAnswer(["hi"]) : wholeAnswer("hi"))))
  const { providers, models } = configFor({ acme: host })
  const gateway = await startWatched({
    plugins: await withOdd({ headers: { [name]: "Bearer of-the-plugin", "x-of-the-plugin": "passes" } }),
    config: { providers: { acme: { ...providers["acme"], plugin: oddId } }, models },
  })
  for (const stream of [false, true]) {
    const request = { model: "acme/small", messages: [{ role: "user", content: "hi" }], stream }
    const response = await gateway.chat(request)
    expect(response.status).toBe(200)
    await response.text()
  }
  expect(host.calls.map(({ request: { headers } }) => headers.get("authorization"))).toEqual([
    "Bearer key-of-acme",
    "Bearer key-of-acme",
  ])
  expect(host.calls[0]?.request.headers.get("x-of-the-plugin")).toBe("passes")
})
