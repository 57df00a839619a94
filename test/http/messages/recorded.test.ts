/** Recorded answers of Anthropic's API, through a gateway to a caller of the form: what the host said is what arrives. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { isJsonObject, type JsonObject } from "../../../src/domain/json/json.ts"
import { startGateway, type TestGateway } from "../../support/gateways/gateway.ts"
import { type ScriptedHost, scriptedHost } from "../../support/hosts/host.ts"
import { ask, assembled, eventsOf, messagesConfig } from "../../support/hosts/messages.ts"
import { bodyOf, bytesOf, type RecordedCase, recordings } from "../../support/recordings/recordings.ts"

const answers = recordings("anthropic-messages").filter(({ response }) => response.status === 200)

const objectIn = (value: unknown): JsonObject => (isJsonObject(value) ? value : {})

/** The events in a recording, read without the gateway's code. */
const recordedEvents = (recorded: RecordedCase): ReadonlyArray<JsonObject> =>
  new TextDecoder()
    .decode(bytesOf(recorded))
    .split(/\r?\n/)
    .flatMap((line) => (line.startsWith("data:") ? [JSON.parse(line.slice(5))] : []))

describe.skipIf(answers.length === 0)("recorded", () => {
  let gateway: TestGateway
  let host: ScriptedHost
  let recorded: RecordedCase | undefined

  beforeAll(async () => {
    host = scriptedHost(() => {
      if (recorded === undefined) return new Response("", { status: 500 })
      if (!recorded.stream) return Response.json(bodyOf(recorded))
      return new Response(bytesOf(recorded), { headers: { "content-type": "text/event-stream" } })
    })
    gateway = await startGateway({
      config: messagesConfig({ claude: host }, {}, { limits: { breaker: { open_s: 0 } } }),
    })
  })
  afterAll(async () => {
    await gateway.stop()
    await host.stop()
  })

  test.each(answers.map((one) => [one.id, one] as const))("%s", async (_, one) => {
    recorded = one
    const response = await ask(gateway, { stream: one.stream })
    expect(response.status).toBe(200)
    if (one.stream) {
      const events = await eventsOf(response)
      const theirs = recordedEvents(one)
      expect(events.slice(1, -2)).toEqual(theirs.slice(1, -2))
      const expected = assembled(theirs)
      const { id: _id, model: _model, usage, ...rest } = expected
      expect(assembled(events)).toMatchObject({ ...rest, usage: { ...objectIn(usage), cost: expect.any(Number) } })
    } else {
      const { id: _id, model: _model, usage, ...rest } = objectIn(bodyOf(one))
      expect(await response.json()).toMatchObject({ ...rest, usage: objectIn(usage) })
    }
  })

  const requests = recordings("anthropic-messages").filter(({ request }) => isJsonObject(request?.body))

  test("requests of the recordings reach the host as they were", async () => {
    recorded = answers.find(({ stream }) => !stream)
    let passed = 0
    for (const { request, id } of requests) {
      const body = objectIn(request?.body)
      const response = await ask(gateway, { ...body, model: "acme/small", stream: false })
      const error = response.status === 200 ? "" : await response.text()
      if (response.status === 400) {
        // Members that the gateway refuses on purpose, or what Anthropic refused too.
        expect([id, error]).toEqual([
          id,
          expect.stringMatching(/not supported|operator|no price|max_tokens|at least one|code_execution/),
        ])
        continue
      }
      expect([id, response.status]).toEqual([id, 200])
      const { model: _model, stream: _stream, max_tokens: _max, ...sent } = host.calls.at(-1)?.body ?? {}
      const { model: _, stream: __, max_tokens: ___, ...written } = body
      // Tools that hosts run, which have no price here.
      if (response.headers.get("x-gw-dropped")?.includes("tools[") === true) continue
      expect([id, sent]).toEqual([id, written])
      passed += 1
    }
    expect(passed).toBeGreaterThan(requests.length / 2)
  })
})
