/** Numbers 72 and 73: values of Idempotency-Key. */
import { expect } from "bun:test"
import { fine } from "../../support/clients/badInputs.ts"
import { answerTo, requestOf } from "../../support/clients/rawCaller.ts"
import { badInput, chatPath, gateway, host, json, ordinary, refused } from "./harness.ts"

const path = "Idempotency-Key"

export const repeatTests = (): void => {
  const post = (...values: ReadonlyArray<string>) => {
    const [first = "", ...more] = values
    const headers = { ...ordinary(), [path]: first }
    const others = Object.fromEntries(
      more.map((value, at) => [at === 0 ? path.toLowerCase() : path.toUpperCase(), value]),
    )
    return answerTo(gateway.url, requestOf(`POST ${chatPath}`, { ...headers, ...others }, json))
  }
  const malformed: ReadonlyArray<readonly [name: string, ...values: ReadonlyArray<string>]> = [
    ["of 256 characters", "k".repeat(256)],
    ["that is empty", ""],
    ["of spaces", "   "],
    ["with a space", "a b"],
    ["with a tab", "a\tb"],
    ["with a letter that is not ASCII", "clé"],
    ["twice", "one", "two"],
  ]
  for (const [name, ...values] of malformed) {
    badInput(72, `a value ${name}`, () =>
      refused(() => post(...values), { status: 400, says: "must be 1 to 255 visible ASCII characters", path }),
    )
  }
  for (const [name, value] of [
    ["NUL", "a\0b"],
    ["another control character", "a\x01b"],
    ["DEL", "a\x7fb"],
  ] as const) {
    badInput(72, `a value with ${name}: the runtime or the gateway refuses it`, async () => {
      const calls = host.calls.length
      expect((await post(value)).status).toBe(400)
      expect(host.calls.length).toBe(calls)
    })
  }
  for (const value of ["!", "~", "k".repeat(255), '"quoted"', "8e03978e-40d5-43e8-bc93-6894a57f9324"]) {
    badInput(72, `a value that is valid: ${value.slice(0, 40)}`, async () => {
      expect((await post(value)).status).toBe(200)
      const again = await post(value)
      expect([again.status, again.headers.get("idempotent-replayed")]).toEqual([200, "true"])
    })
  }

  badInput(73, "the value of a request with another body", async () => {
    const headers = { [path]: "reused" }
    const first = await gateway.chat(fine, { headers })
    const bodies = [
      { ...fine, max_tokens: 9 },
      { ...fine, stream: true },
    ]
    const texts = [...bodies.map((body) => JSON.stringify(body)), ` ${JSON.stringify(fine)}`]
    for (const body of texts) {
      const send = () => gateway.call("/chat/completions", { method: "POST", body, headers })
      const type = "idempotency_key_reused"
      const metadata = await refused(send, { status: 400, type, says: "use a new one", path })
      expect(metadata["first_request_id"]).toBe(first.headers.get("x-gw-request-id"))
    }
  })
}
