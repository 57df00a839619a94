/** `status` in the listing of hosts: -10 is disabled, -3 is a cooldown after a 429 and nothing else. */
import { expect, test } from "bun:test"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import { configFor, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"

closeAfterEach()

const ask = { model: "acme/small", messages: [{ role: "user", content: "hi" }] }

test.each([
  [429, {}, -3],
  [401, {}, 0],
  [402, {}, 0],
  [404, {}, 0],
  [503, { "retry-after": "60" }, 0],
])("a host that cools down after %p %j was always -3", async (code, headers, status) => {
  const host = opened(scriptedHost(() => Response.json({ error: { message: "no" } }, { status: code, headers })))
  const gateway = await startWatched({ config: configFor({ acme: host }) })
  await (await gateway.chat(ask)).text()
  // It cools down, whatever its status is.
  expect((await gateway.chat(ask)).status).toBe(code === 429 ? 429 : 503)
  expect(host.calls).toHaveLength(1)
  expect(await gateway.listed()).toMatchObject([{ tag: "acme", status }])
})

test("a host of a disabled provider was listed as normal: it is -10", async () => {
  const host = opened(scriptedHost(() => wholeAnswer("fine")))
  const { providers, models } = configFor({ off: host, on: host })
  const gateway = await startWatched({
    config: { providers: { ...providers, off: { ...providers["off"], enabled: false } }, models },
  })
  expect(await gateway.listed()).toMatchObject([
    { tag: "off", status: -10 },
    { tag: "on", status: 0 },
  ])
})
