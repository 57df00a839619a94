/** Google's clients may write their key into the address: it gets no further than the check of the key. docs/guarantees.md#g27 */
import { expect, test } from "bun:test"
import { until } from "../../support/clocks/until.ts"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import { configFor, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"

closeAfterEach()

test("a key in the query is in no log and no record, and no host is sent it", async () => {
  const seen: Array<string> = []
  const host = opened(
    scriptedHost((body, request) => {
      seen.push(`${request.url} ${JSON.stringify([...request.headers])} ${JSON.stringify(body)}`)
      return wholeAnswer("fine")
    }),
  )
  const gateway = await startWatched({ config: { ...configFor({ acme: host }), server: { access_log: "all" } } })
  const key = await gateway.newKey()
  const at = (model: string, secret: string) =>
    fetch(`${gateway.url.replace(/\/v1$/, "")}/v1beta/models/${model}:generateContent?key=${secret}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ contents: [{ role: "user", parts: [{ text: "Hi" }] }] }),
    })
  expect((await at("acme/small", key)).status).toBe(200)
  expect((await at("acme/none", key)).status).toBe(400)
  expect((await at("acme/small", `${key}x`)).status).toBe(401)
  const records = async () => {
    const response = await gateway.call("/requests", { headers: { authorization: `Bearer ${gateway.managementKey}` } })
    return response.text()
  }
  await until(async () => (await records()).includes("generateContent"), "the records")
  for (const text of [...seen, gateway.log(), await records()]) expect(text).not.toContain(key)
  expect(gateway.log()).toContain("generateContent")
})
