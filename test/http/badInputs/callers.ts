/** Numbers 56 to 64: authentication and authorization. */
import { expect } from "bun:test"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import { wholeBodyOf } from "../../support/clients/answers.ts"
import { expectRefusal, fine, type Refusal } from "../../support/clients/badInputs.ts"
import { answerTo, requestOf } from "../../support/clients/rawCaller.ts"
import { startGateway } from "../../support/gateways/gateway.ts"
import { asKey, asked, asManager, badInput, chatPath, gateway, json, log, refused, secrets } from "./harness.ts"

export const callerTests = (): void => {
  const missing: Refusal = { status: 401, says: "send your key as 'Authorization: Bearer <key>'" }
  const unknown: Refusal = { status: 401, says: /^User not found\. This is no active key of this gateway\.$/ }
  const { authorization: _, ...nobody } = { authorization: "", "Content-Type": "application/json" }
  const routes = [`POST ${chatPath}`, "GET /api/v1/auth/key", "GET /api/v1/keys", "GET /api/v1/models"]

  for (const route of routes) {
    const send = (headers: Record<string, string>) => () =>
      answerTo(gateway.url, requestOf(route, headers, route.startsWith("POST") ? json : ""))
    badInput(56, `no key: ${route}`, () => refused(send(nobody), missing))
    const malformed = ["Basic dXNlcjpwYXNz", "Bearer", "Bearer  ", "Bearer a b", "sk-gw-x", ""]
    for (const value of malformed) {
      badInput(57, `${JSON.stringify(value)}: ${route}`, () =>
        refused(send({ ...nobody, Authorization: value }), unknown),
      )
    }
    badInput(57, `two values: ${route}`, () =>
      refused(
        send({ ...nobody, Authorization: `Bearer ${gateway.key}`, authorization: `Bearer ${gateway.key}` }),
        unknown,
      ),
    )
    for (const [name, key] of [
      ["SQL", "' OR 1=1 --"],
      ["SQL in one word", "'/**/OR/**/1=1--"],
    ] as const) {
      badInput(61, `${name}: ${route}`, () => refused(send({ ...nobody, Authorization: `Bearer ${key}` }), unknown))
    }
    badInput(62, `15 KiB: ${route}`, () =>
      refused(send({ ...nobody, Authorization: `Bearer ${"k".repeat(15_360)}` }), unknown),
    )
  }

  badInput(58, "unknown, disabled, expired and deleted keys are refused with the same message", async () => {
    const [disabled, deleted, live] = [await gateway.newKey(), await gateway.newKey(), await gateway.newKey()]
    const expired = await gateway.newKey({ expiresAt: Date.now() - 1 })
    const patch = await gateway.call(`/keys/${keyId(disabled)}`, asManager("PATCH", { disabled: true }))
    expect(patch.status).toBe(200)
    expect((await gateway.call(`/keys/${keyId(deleted)}`, asManager("DELETE"))).status).toBe(200)
    // A key of another gateway: well formed, but unknown here.
    const elsewhere = await startGateway()
    const { key: stranger } = elsewhere
    await elsewhere.stop()
    const answers = new Set<string>()
    for (const key of [stranger, disabled, expired, deleted]) {
      for (const path of ["/auth/key", "/models"]) {
        const response = await gateway.call(path, asKey(key))
        answers.add(await response.clone().text())
        await expectRefusal(response, unknown, [key])
      }
      await refused(() => gateway.chat(fine, asKey(key)), unknown)
    }
    expect(answers.size).toBe(1)
    await wholeBodyOf(await gateway.chat(fine, asKey(live)))
  })
  badInput(59, "a key with any one character changed does not reach the database", async () => {
    const key = await gateway.newKey()
    const before = asked.keys
    for (let at = 0; at < key.length; at++) {
      const other = key[at] === "x" ? "y" : "x"
      await expectRefusal(
        await gateway.call("/auth/key", asKey(key.slice(0, at) + other + key.slice(at + 1))),
        unknown,
        [key],
      )
    }
    expect(asked.keys).toBe(before)
    expect((await gateway.call("/auth/key", asKey(key))).status).toBe(200)
    expect(asked.keys).toBe(before + 1)
  })
  badInput(60, "a key in the query string is ignored, and is not logged", async () => {
    for (const route of routes) {
      for (const name of ["key", "api_key", "access_token", "Authorization", "x-api-key"]) {
        const line = `${route}?${name}=${gateway.managementKey}`
        await refused(
          () => answerTo(gateway.url, requestOf(line, nobody, route.startsWith("POST") ? json : "")),
          missing,
        )
      }
    }
    // Not even when the request fails by a bug of ours, which is logged.
    const key = await gateway.newKey()
    const lines = log.length
    asked.broken = true
    const answers = [
      await gateway.call(`/auth/key?key=${gateway.managementKey}`, asKey(key)),
      await gateway.chat(fine, asKey(key)),
    ]
    asked.broken = false
    for (const answer of answers) {
      const id = answer.headers.get("x-gw-request-id") ?? ""
      await expectRefusal(answer, { status: 500, says: /^Internal error\.$/, type: "server" }, [...secrets(), key])
      const about = log.slice(lines).filter((line) => line.includes(id))
      expect(about.filter((line) => !line.startsWith('["request",'))).toHaveLength(1)
    }
    for (const secret of [...secrets(), key]) expect(log.join("\n")).not.toContain(secret)
  })

  const managers: Refusal = { status: 403, says: /^Only management keys can perform this operation\.$/ }
  const operations = ["GET /keys", "POST /keys", "GET /keys/x", "PATCH /keys/x", "DELETE /keys/x"]
  for (const operation of operations) {
    const [method = "", path = ""] = operation.split(" ")
    const body = method === "POST" || method === "PATCH" ? '{"name":"n"}' : ""
    const send = (headers: Record<string, string>) => () =>
      answerTo(gateway.url, requestOf(`${method} /api/v1${path}`, { ...nobody, ...headers }, body))
    badInput(63, `${operation} with an ordinary key`, async () => {
      const before = await (await gateway.call("/keys", asManager())).text()
      await refused(send({ "x-api-key": gateway.key }), managers)
      await refused(send({ Authorization: `Bearer ${gateway.key}` }), managers)
      // Of two headers the first counts: a management key beside an ordinary one gives no access.
      await refused(send({ Authorization: `Bearer ${gateway.key}`, "x-api-key": gateway.managementKey }), managers)
      expect(await (await gateway.call("/keys", asManager())).text()).toBe(before)
    })
  }
  badInput(64, "a management key cannot call models", async () => {
    const wanted: Refusal = { status: 403, says: "Management keys cannot call models" }
    await refused(() => gateway.chat(fine, asKey(gateway.managementKey)), wanted)
    const headers = { ...nobody, "x-api-key": gateway.managementKey }
    await refused(() => answerTo(gateway.url, requestOf(`POST ${chatPath}`, headers, json)), wanted)
  })
}
