/** What is not an answer, in every client form: errors before and within streams, repeats, routing metadata, explanations. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { ClientForm } from "../../support/forms/ClientForm.ts"
import { clientForms } from "../../support/forms/clients.ts"
import { hostForms, inTwoParts, streamOf } from "../../support/forms/hosts.ts"
import { bodyOf, type FormsScene, formsScene } from "../../support/forms/scene.ts"
import { type Answer, numberIn, objectIn, objectsIn, textIn, user } from "../../support/forms/script.ts"

let scene: FormsScene
beforeAll(async () => {
  scene = await formsScene()
})
afterAll(() => scene.stop())

const question = { turns: [user("What is 2 + 2?")] }
const answer: Answer = { text: "The sum is 4.", finish: "stop" }
const forms = clientForms.map((client) => [client.name, client] as const)
const pairs = clientForms.flatMap((client) => hostForms.map((host) => [client.name, host.name, client, host] as const))
/** The first form of hosts, where it makes no difference which one answers. */
const [anyHost] = hostForms
const streams = [{}, { stream: true }]

const status = (code: number) => () =>
  Response.json({ error: { type: "some_error", message: "the host's own words" } }, { status: code })

describe("an error before the answer", () => {
  const expectFailed = async (client: ClientForm, response: Response, code: number, type: string, end = ".") => {
    const body = objectIn(await response.json())
    expect(response.headers.get("content-type")).toBe("application/json")
    expect([response.status, client.failed(body, response).type]).toEqual([code, type])
    expect(client.failed(body, response).message).toEndWith(end)
  }

  test.each(forms)("of the gateway, in %s", async (_, client) => {
    scene.say(answer)
    const headersOf = (key: string) => ({ authorization: `Bearer ${key}` })
    const poor = headersOf(await scene.gateway.newKey({ limit: 1n }))
    const slow = headersOf(await scene.gateway.newKey({ rateLimit: { requests: 1, intervalSeconds: 3600 } }))
    await (await scene.post(client, anyHost, question, {}, slow)).text()
    for (const stream of streams) {
      const post = (more: object, headers = {}) =>
        scene.post(client, anyHost, question, { ...stream, ...more }, headers)
      await expectFailed(
        client,
        await post({}, { authorization: "Bearer no" }),
        401,
        client.name === "messages" ? "authentication" : "",
      )
      await expectFailed(client, await post({}, poor), 402, "payment_required")
      await expectFailed(client, await post({ model: "acme/none" }), 400, "invalid_request")
      await expectFailed(client, await post({ provider: { only: ["none"] } }), 404, "not_found")
      await expectFailed(client, await post({ temperature: "hot" }), 400, "invalid_request")
      const limited = await post({}, slow)
      expect(Number(limited.headers.get("retry-after"))).toBeGreaterThan(0)
      await expectFailed(client, limited, 429, "rate_limit_exceeded")
    }
  })

  test.each(pairs)("of the host, in %s at %s", async (_, __, client, host) => {
    for (const stream of streams) {
      for (const [given, code, type] of [
        [400, 400, "invalid_request"],
        [429, 429, "rate_limit_exceeded"],
        [500, 502, "provider_unavailable"],
      ] as const) {
        scene.answers = status(given)
        // A Messages client of a Messages host gets the host's sentence alone.
        const isAlone = code !== 502 && client.name === "messages" && host.name === "messages"
        await expectFailed(client, await scene.post(client, host, question, stream), code, type, isAlone ? "" : ".")
      }
    }
  })
})

describe("a stream whose key has no more money", () => {
  test.each(pairs)("ends with what was said, in %s at %s", async (_, __, client, host) => {
    // The host does not count before its end, and ignores the bound that it was given.
    const said = { text: "four".repeat(3000), finish: "stop" } as const
    scene.answers = () => streamOf(host.events([said]))
    const key = await scene.gateway.newKey({ limit: 2_000_000_000n })
    const response = await scene.post(client, host, question, { stream: true }, { authorization: `Bearer ${key}` })
    const body = client.assembled(await response.text())
    const [heard] = client.heard(body)
    expect([client.broken(body), heard?.end]).toEqual([undefined, client.ends.length])
    expect(said.text).toStartWith(heard?.text ?? "-")
    expect(heard?.text.length).toBeWithin(1, said.text.length)
    const row = await scene.gateway.call(`/generation?id=${response.headers.get("x-generation-id")}`, {
      headers: { authorization: `Bearer ${scene.gateway.managementKey}` },
    })
    const { data } = objectIn(await row.json())
    expect(objectIn(data)["total_cost"]).toBe(heard?.cost)
  })
})

describe("an Idempotency-Key", () => {
  test.each(pairs)("has the answer sent again, byte for byte, in %s at %s", async (_, hostName, client, host) => {
    const headers = { "idempotency-key": `whole-${client.name}-${hostName}` }
    scene.say(answer)
    const first = await scene.post(client, host, question, {}, headers)
    const text = await first.text()
    const calls = scene.calls(host).length
    scene.say({ text: "Something else.", finish: "stop" })
    const again = await scene.post(client, host, question, {}, headers)
    expect([again.status, await again.text()]).toEqual([200, text])
    expect(again.headers.get("idempotent-replayed")).toBe("true")
    for (const name of ["x-generation-id", "x-gw-cost-usd", "x-gw-host", "content-type"]) {
      expect(again.headers.get(name)).toBe(first.headers.get(name))
    }
    expect(scene.calls(host).length).toBe(calls)
  })

  test.each(forms)("of a stream, or of another body, is refused the second time, in %s", async (_, client) => {
    scene.say(answer)
    const headers = { "idempotency-key": `stream-${client.name}` }
    const streamed = await scene.post(client, anyHost, question, { stream: true }, headers)
    client.assembled(await streamed.text())
    const again = await scene.post(client, anyHost, question, { stream: true }, headers)
    expect(again.status).toBe(400)
    expect(client.failed(objectIn(await again.json()), again).type).toBe("idempotency_answer_not_kept")
    const other = await scene.post(client, anyHost, { turns: [user("And 3 + 3?")] }, { stream: true }, headers)
    expect(other.status).toBe(400)
    expect(client.failed(objectIn(await other.json()), other).type).toBe("idempotency_key_reused")
  })

  test("of one form is free in another", async () => {
    const headers = { "idempotency-key": "shared" }
    for (const client of clientForms) {
      scene.say({ text: client.name, finish: "stop" })
      const body = await bodyOf(await scene.post(client, anyHost, question, {}, headers))
      expect(client.heard(body)[0]?.text).toBe(client.name)
    }
  })
})

describe("X-OpenRouter-Metadata", () => {
  const headers = { "x-openrouter-metadata": "enabled" }

  test.each(pairs)("is in answers, streams and errors: %s at %s", async (_, hostName, client, host) => {
    const expected = { requested: scene.model(host), strategy: "direct", endpoints: { total: 1 } }
    const done = { ...expected, attempts: [{ provider: hostName, status: 200 }] }
    scene.say(answer)
    const body = await bodyOf(await scene.post(client, host, question, {}, headers))
    expect(body["openrouter_metadata"]).toMatchObject(done)
    const streamed = await scene.post(client, host, question, { stream: true }, headers)
    expect(client.assembled(await streamed.text())["openrouter_metadata"]).toMatchObject(done)
    const { answer: twoParts, goOn } = inTwoParts(host.events([answer]).slice(0, 5), [host.failure(500)])
    scene.answers = twoParts
    const breaking = await scene.post(client, host, question, { stream: true }, headers)
    goOn()
    const broken = client.assembled(await breaking.text())
    expect(client.broken(broken)?.type).toBe("provider_unavailable")
    expect(broken["openrouter_metadata"]).toMatchObject(expected)
    scene.answers = status(500)
    const failed = await scene.post(client, host, question, {}, headers)
    const error = objectIn(await failed.json())
    client.failed(error, failed)
    expect(error["openrouter_metadata"]).toMatchObject({ ...expected, attempts: [{ provider: hostName, status: 500 }] })
  })
})

describe("POST /route/explain", () => {
  test.each(forms)(
    "takes the body of a chat completion, and names what is wrong in one of %s",
    async (name, client) => {
      const response = await scene.gateway.call("/route/explain", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ model: scene.model(anyHost), ...client.body({ ...question, tools: [tool] }) }),
      })
      const { data, error } = objectIn(await response.json())
      if (name === "chat") {
        expect(objectsIn(objectIn(data)["attempts"]).length).toBe(1)
        return
      }
      expect(response.status).toBe(400)
      expect(numberIn(objectIn(error)["code"])).toBe(400)
      expect(textIn(objectIn(error)["message"])).toContain(name === "messages" ? "tools[0]" : "messages: is required")
    },
  )
})

const tool = { name: "look", description: "Looks.", parameters: { type: "object", properties: {} } }
