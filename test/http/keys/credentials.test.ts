/** A host is sent our key and our headers, whatever its plugin adds. docs/guarantees.md#g29 */
import { expect, test } from "bun:test"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import { configFor, scriptedHost, streamAnswer, wholeAnswer } from "../../support/hosts/host.ts"
import { oddId, withOdd } from "../../support/hosts/oddPlugin.ts"

closeAfterEach()

/** Asks for a whole and a streamed answer of a host whose plugin sets a header and one more. */
const askBoth = async (header: string) => {
  const host = opened(scriptedHost((body) => (body["stream"] === true ? streamAnswer(["hi"]) : wholeAnswer("hi"))))
  const { providers, models } = configFor({ acme: host })
  const gateway = await startWatched({
    plugins: await withOdd({ headers: { [header]: "Bearer of-the-plugin", "x-of-the-plugin": "passes" } }),
    config: { providers: { acme: { ...providers["acme"], plugin: oddId } }, models },
  })
  const statuses: Array<number> = []
  for (const stream of [false, true]) {
    const request = { model: "acme/small", messages: [{ role: "user", content: "hi" }], stream }
    const response = await gateway.chat(request)
    statuses.push(response.status)
    await response.text()
  }
  return { host, gateway, statuses }
}

test.each(["authorization"])("a plugin that sets %s does not take the place of our key", async (name) => {
  const { host, statuses } = await askBoth(name)
  expect(statuses).toEqual([200, 200])
  expect(host.calls.map(({ request: { headers } }) => headers.get("authorization"))).toEqual([
    "Bearer key-of-acme",
    "Bearer key-of-acme",
  ])
  expect(host.calls[0]?.request.headers.get("x-of-the-plugin")).toBe("passes")
})

// Header names are case-insensitive: a plugin cannot add credentials under another spelling.
test.each(["Authorization", "AUTHORIZATION"])(
  "a plugin that set %s had its value joined with our key: it is named in the log, and no host is called",
  async (name) => {
    const { host, gateway, statuses } = await askBoth(name)
    expect(statuses).toEqual([502, 502])
    expect(host.calls).toEqual([])
    expect(gateway.log()).toContain("odd.protocols.chat.encode must return")
  },
)
