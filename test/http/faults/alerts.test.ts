/** A gateway as a whole tells of what its hosts do. docs/alerts.md */
import { expect, test } from "bun:test"
import { inTimedGateway } from "../../support/gateways/timedGateway.ts"
import { wholeAnswer } from "../../support/hosts/host.ts"

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

/** Anthropic's answer at a spend limit of its console. */
const capped = () =>
  Response.json(
    { error: { type: "invalid_request_error", message: "You have reached your specified API usage limits." } },
    { status: 400 },
  )

const alerts = { webhooks: [{ url: "http://127.0.0.1:9/hook", format: "slack", network: "private" }] }

test("a spend limit that is told with 400 was the client's fault: no second host, and no alert", async () => {
  await inTimedGateway({ alerts, hosts: ["a", "b"] }, async ({ ask, call, calls, pass, settle }) => {
    const answer = ask({ stream: false })
    const refusing = await call(1)
    refusing.whole(capped())
    const other = await call(2)
    other.whole(wholeAnswer("fine"))
    expect((await answer).status).toBe(200)
    await settle()
    await pass(31_000)
    expect(calls.map(({ port }) => port)).toEqual([1, 2, 9])
  })
})

test("with two keys the second one is used, and the alert comes too", async () => {
  const providers = { a: { api_key: undefined, api_keys: [{ key: "key-one" }, { key: "key-two" }] } }
  await inTimedGateway({ alerts, providers }, async ({ ask, call, calls, pass, settle }) => {
    const answer = ask({ stream: false })
    const refusing = await call(1)
    refusing.whole(capped())
    const other = await call(2)
    other.whole(wholeAnswer("fine"))
    expect((await answer).status).toBe(200)
    await settle()
    await pass(31_000)
    expect(calls.map(({ port }) => port)).toEqual([1, 1, 9])
  })
})
