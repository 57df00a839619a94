/** A gateway as a whole tells of what its hosts do. docs/alerts.md */
import { expect, test } from "bun:test"
import { inTimedGateway } from "../../support/gateways/timedGateway.ts"

test("a host that refuses our account is told to the webhook within half a minute", async () => {
  const webhook = { url: "http://127.0.0.1:9/hook", format: "slack", network: "private" }
  await inTimedGateway({ alerts: { webhooks: [webhook] } }, async ({ ask, call, calls, pass, settle }) => {
    const answer = ask()
    const host = await call(1)
    host.whole(Response.json({ error: { message: "no credit" } }, { status: 402 }))
    expect((await answer).status).toBe(502)
    await settle()
    await pass(20_000)
    expect(calls.map(({ port }) => port)).toEqual([1])
    await pass(11_000)
    expect(calls.map(({ port }) => port)).toEqual([1, 9])
    calls[1]?.whole(new Response("ok"))
    await pass(120_000)
    expect(calls).toHaveLength(2)
  })
})
