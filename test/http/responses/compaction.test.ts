/**
 * Conversations that are compacted by their host: items of the input and of the answer that only hosts of the Responses form
 * know. The sessions of Codex ended at the first of them.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { decodeResponses } from "../../../src/formats/responses/responsesRequest.ts"
import { errorOf, picodollars } from "../../support/clients/answers.ts"
import { responseOf, responsesStreamOf } from "../../support/clients/responsesForm.ts"
import { openAccount, type TestAccount } from "../../support/gateways/account.ts"
import {
  type CompactionScene,
  compacted,
  compactingHost,
  compactionScene,
} from "../../support/gateways/compactionScene.ts"
import { eventsOf, hostUsage, responseObject, streamOf } from "../../support/hosts/responsesHost.ts"

let scene: CompactionScene
let account: TestAccount
beforeAll(async () => {
  scene = await compactionScene()
})
beforeEach(async () => {
  scene.says.first = compactingHost
  scene.says.second = compactingHost
  account = await openAccount(scene.gateway)
})
afterAll(() => scene.stop())

const said = { type: "message", role: "user", content: [{ type: "input_text", text: "Read hello.txt" }] }
const trigger = { type: "compaction_trigger", id: null }
/** 14 tokens of prompt at the full price and 6 from the cache, 12 of output. */
const cost = 38_600_000n

const ask = (body: JsonObject, headers: Record<string, string> = {}) =>
  scene.post(
    "/responses",
    { model: "agents/responses", provider: { order: ["first"] }, store: false, ...body },
    { authorization: `Bearer ${account.secret}`, ...headers },
  )

const calls = () => Object.values(scene.hosts).reduce((sum, host) => sum + host.calls.length, 0)

describe("at a host of the form", () => {
  test("a trigger gets the item that its host has made, whole, and is billed by the host's usage", async () => {
    const response = await ask({ input: [said, trigger] })
    const { output, usage, status } = await responseOf(response)
    expect([output, status]).toEqual([[compacted], "completed"])
    expect(usage).toMatchObject({ input_tokens: hostUsage.input_tokens, cost: Number(cost) / 1e12 })
    expect(scene.hosts.first.calls.at(-1)?.body["input"]).toEqual([said, trigger])
    expect(picodollars(response.headers.get("x-gw-cost-usd"))).toBe(cost)
    expect(await account.rows()).toMatchObject([
      { form: "responses", outcome: "finished", finishReason: "stop", host: "first", cost, estimated: false },
    ])
    expect([await account.reserved(), await account.total()]).toEqual([0n, cost])
  })

  test("a stream whose only output is such an item is no empty answer", async () => {
    const response = await ask({ input: [said, trigger], stream: true })
    const { events, types, response: last } = await responsesStreamOf(response)
    expect(types).toEqual([
      ...["response.created", "response.in_progress", "response.output_item.added", "response.output_item.done"],
      "response.completed",
    ])
    expect(events.filter(({ type }) => type === "response.output_item.done").map(({ item }) => item)).toEqual([
      compacted,
    ])
    expect(last).toMatchObject({ output: [compacted], usage: { cost: Number(cost) / 1e12 } })
    expect(await account.rows()).toMatchObject([
      { outcome: "finished", finishReason: "stop", host: "first", streamed: true, cost, estimated: false },
    ])
    expect([await account.reserved(), await account.total()]).toEqual([0n, cost])
  })

  test.each([2, 3])("the event that says that it is being made passes as event %i", async (at) => {
    const compacting = { type: "response.compaction.compacting", item_id: "cmp_host", output_index: 0 }
    scene.says.first = () => {
      const events = eventsOf([compacted]).toSpliced(at, 0, compacting)
      return streamOf(events.map((event, number) => ({ ...event, sequence_number: number })))
    }
    const { types, response } = await responsesStreamOf(await ask({ input: [said, trigger], stream: true }))
    expect(types).toContain("response.compaction.compacting")
    expect(response["output"]).toEqual([compacted])
  })

  test.each(["compaction", "compaction_summary", "context_compaction"])(
    "an item %s is given back in the next turn as it came",
    async (type) => {
      const input = [said, { ...compacted, type, internal: { of: "Codex" } }, { role: "user", content: "Go on" }]
      for (const stream of [false, true]) {
        const response = await ask({ input, stream })
        expect(await response.text()).toContain("out.txt is written.")
        expect(response.status).toBe(200)
        expect(scene.hosts.first.calls.at(-1)?.body["input"]).toEqual(input)
      }
    },
  )

  test("what it stands for counts for the reservation: its bytes are those of a prompt", async () => {
    const item = { ...compacted, encrypted_content: "x".repeat(50_000) }
    const poor = await openAccount(scene.gateway, { limit: 50_000_000_000n })
    const authorization = `Bearer ${poor.secret}`
    const before = calls()
    expect((await ask({ input: [item, said] }, { authorization })).status).toBe(402)
    expect(calls()).toBe(before)
    expect((await ask({ input: [said, trigger], max_output_tokens: 16 }, { authorization })).status).toBe(200)
  })

  test("a stream without usage is charged for the item by its size", async () => {
    scene.says.first = () => streamOf(eventsOf([{ ...compacted, encrypted_content: "x".repeat(400) }], { usage: null }))
    await (await ask({ input: [said, trigger], stream: true })).text()
    scene.says.first = () =>
      Response.json(responseObject([{ ...compacted, encrypted_content: "x".repeat(400) }], { usage: null }))
    await (await ask({ input: [said, trigger] })).text()
    const rows = await account.rows()
    expect(rows.map(({ estimated, completionTokens }) => [estimated, completionTokens])).toEqual([
      [true, 100],
      [true, 100],
    ])
  })

  test("a key that cannot pay for it is told so, and nobody is called", async () => {
    const poor = await openAccount(scene.gateway, { limit: 1000n })
    const before = calls()
    for (const stream of [false, true]) {
      const response = await ask({ input: [said, trigger], stream }, { authorization: `Bearer ${poor.secret}` })
      expect(response.status).toBe(402)
    }
    expect(calls()).toBe(before)
  })
})

test("to the router such an item is no message", () => {
  const decoded = decodeResponses({ model: "m", input: [said, compacted, said, trigger] })
  expect(Either.getOrThrow(decoded).payload.messages.map(({ role }) => role)).toEqual(["user", "user"])
})

const needs: ReadonlyArray<readonly [what: string, body: JsonObject, path: string]> = [
  ["a trigger", { input: [said, trigger] }, "input[1]"],
  ["an item of an earlier turn", { input: [compacted, said] }, "input[0]"],
]

describe.each(needs)("elsewhere, %s", (_, body, path) => {
  const reason = `cannot carry ${path}: only hosts of the Responses format compact a conversation`
  const others = ["chat", "claude", "gemini", "converse", "cohere"]

  test.each([false, true])("is 404 with the reason of every host, stream: %s", async (stream) => {
    const before = calls()
    const response = await ask({ ...body, model: "agents/others", stream }, { "x-openrouter-metadata": "enabled" })
    expect(response.status).toBe(404)
    const { message, metadata, availability } = await errorOf(response)
    expect(message).toBe(
      `No endpoints found for agents/others that can carry ${path}: only hosts of the Responses format compact a conversation, and none of these is left.`,
    )
    expect(metadata).toMatchObject({
      excluded_by: ["form"],
      excluded: others.map((host) => ({ host, model: "agents/others", by: "form", reason })),
    })
    expect(availability).toMatchObject({
      code: "constraint_filtered",
      retryable: false,
      excluded_by: ["form"],
      constraint: { field: path, detail: reason },
    })
    expect(calls()).toBe(before)
    expect(await account.rows()).toEqual([])
  })

  test("only hosts of the form of a mixed model are called, and its metadata says so", async () => {
    const before = scene.hosts.chat.calls.length
    for (const stream of [false, true]) {
      const response = await ask(
        { ...body, model: "agents/mixed", provider: { sort: "price" }, stream },
        { "x-openrouter-metadata": "enabled" },
      )
      const text = await response.text()
      expect([response.status, response.headers.get("x-gw-host")]).toEqual([200, "first"])
      expect(text).toContain(
        '"endpoints":{"total":2,"available":[{"provider":"first","model":"agents/mixed","selected":true}]}',
      )
    }
    expect(scene.hosts.chat.calls.length).toBe(before)
  })

  test("a host of the form that fails is not followed by one of another form", async () => {
    scene.says.first = () => Response.json({ error: { message: "no" } }, { status: 503 })
    const before = scene.hosts.chat.calls.length
    const response = await ask({ ...body, model: "agents/mixed" })
    expect(response.status).toBe(502)
    expect(scene.hosts.chat.calls.length).toBe(before)
  })
})
