/** A stream whose host says more than the gateway reads: the caller has had the text before, and may have provoked it. */
import { expect, test } from "bun:test"
import { until } from "../../support/clocks/until.ts"
import { openAccount } from "../../support/gateways/account.ts"
import { closeAfterEach, routed } from "../../support/gateways/routed.ts"
import { chunkOf, type HeldStream, heldStream } from "../../support/hosts/host.ts"

closeAfterEach()

const text = "x".repeat(40_000)
const call = (written: string) =>
  `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f","arguments":${written}}}]},"finish_reason":null}]}`
const beyond: ReadonlyArray<readonly [string, string]> = [
  ["arguments nested 70 deep", call("[".repeat(70) + "]".repeat(70))],
  ["an event above the bound", call(JSON.stringify("y".repeat(200_000)))],
]

test.each(beyond)("after 40,000 bytes of text %s made all of it free: it is cut, and charged", async (_, event) => {
  let host: HeldStream | undefined
  const answer = (_body: unknown, request: Request): Response => {
    host = heldStream(request)
    host.send(chunkOf({ delta: { content: text }, finish_reason: null }))
    return host.response
  }
  const gateway = await routed({ acme: answer }, { limits: { body_bytes: 100_000 } })
  const account = await openAccount(gateway)
  const asked = await account.chat({ messages: [{ role: "user", content: "hi" }], max_tokens: 20_000, stream: true })
  const decoder = new TextDecoder()
  let got = ""
  for await (const bytes of asked.body ?? []) {
    if (got === "") host?.send(event)
    got += decoder.decode(bytes, { stream: true })
  }
  expect([got.includes(text), got.includes('"finish_reason":"error"')]).toEqual([true, true])
  await until(async () => (await account.rows()).length === 1, "the row")
  const [row] = await account.rows()
  expect(row).toMatchObject({ outcome: "cut", waived: null, estimated: true, completionTokens: 10_000 })
  expect(await account.total()).toBeGreaterThan(20_000_000_000n)
  expect(await account.reserved()).toBe(0n)
})
