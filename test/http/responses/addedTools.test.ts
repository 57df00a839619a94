/** Tools that items of the Responses form add: the same rule holds for those that hosts run, and the caller may call the others. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { postResponses } from "../../support/clients/responsesForm.ts"
import { closeAfterEach, routed } from "../../support/gateways/routed.ts"
import { wholeAnswer } from "../../support/hosts/host.ts"
import { message, responseObject } from "../../support/hosts/responsesHost.ts"
import { type Hosts, startHosts } from "../payload/hosts.ts"

closeAfterEach()

let unpriced: Hosts
let priced: Hosts

beforeAll(async () => {
  unpriced = await startHosts()
  priced = await startHosts({ webSearch: "0.01" })
})
afterAll(async () => {
  await unpriced.stop()
  await priced.stop()
})

const search = { type: "web_search" }
const wait = { type: "function", name: "wait", parameters: { type: "object" } }
const hi = { role: "user", content: "hi" }
const added = (...tools: ReadonlyArray<JsonObject>) => ({ type: "additional_tools", role: "developer", tools })
const found = (...tools: ReadonlyArray<JsonObject>) => [
  { type: "tool_search_call", call_id: "c", execution: "client", arguments: {} },
  { type: "tool_search_output", call_id: "c", execution: "client", tools },
]

/** Types of hosted tools anywhere in what a host was sent. */
const hostedIn = (sent: unknown): ReadonlyArray<string> =>
  JSON.stringify(sent).match(/web_search\w*|image_generation|code_interpreter|googleSearch/g) ?? []

describe.each(["responses", "chat", "messages", "google", "converse"] as const)(
  "at a host of the form %s",
  (protocol) => {
    const ask = (hosts: Hosts, body: JsonObject) => hosts.ask("/responses", protocol, body)

    test("a hosted tool without a price in an item is dropped, and named by its place", async () => {
      const input = [
        added(wait, search, { type: "image_generation" }),
        hi,
        ...found({ type: " Code_Interpreter" }, search),
      ]
      const { status, sent, dropped } = await ask(unpriced, { input, tools: [{ type: "web_search_preview" }] })
      expect(status).toBe(200)
      expect(dropped.toSorted()).toEqual([
        ...["input[0].tools[1]", "input[0].tools[2]", "input[3].tools[0]", "input[3].tools[1]", "tools[0]"],
      ])
      expect(hostedIn(sent)).toEqual([])
      expect(JSON.stringify(sent)).toContain('"wait"')
    })

    test("one that is asked for is refused where no host can run it", async () => {
      const chosen = await ask(unpriced, { input: [added(wait, search), hi], tool_choice: { type: "web_search" } })
      expect(chosen).toMatchObject({ status: 404, text: expect.stringContaining("input[0].tools[1]"), sent: undefined })
      const forced = await ask(unpriced, { input: [added(search), hi], tool_choice: "required" })
      expect(forced).toMatchObject({ status: 404, text: expect.stringContaining("input[0].tools[0]"), sent: undefined })
      // The caller's own tool may be meant.
      const open = await ask(unpriced, { input: [added(wait, search), hi], tool_choice: "required" })
      expect([open.status, open.dropped]).toEqual([200, ["input[0].tools[1]"]])
    })

    test("what reaches something stored is refused there too", async () => {
      const refused = { status: 400, sent: undefined }
      for (const tool of [
        { type: "mcp", server_label: "s" },
        { type: "file_search" },
        { type: "image_generation", input_image_mask: { file_id: "f" } },
        { type: "shell", environment: { type: "container_reference", container_id: "c" } },
      ]) {
        for (const input of [
          [added(tool), hi],
          [hi, ...found(tool)],
        ])
          expect(await ask(unpriced, { input })).toMatchObject(refused)
      }
      const space = { type: "namespace", name: "n", tools: [search] }
      expect(await ask(unpriced, { input: [added(space), hi] })).toMatchObject(refused)
      expect(await ask(unpriced, { tools: [space] })).toMatchObject(refused)
    })

    test("a search in an item is paid for like one in tools", async () => {
      const inTools = await ask(priced, { tools: [search] })
      const inItem = await ask(priced, { input: [added(search), hi] })
      expect([inItem.status, hostedIn(inItem.sent).length]).toEqual([200, hostedIn(inTools.sent).length])
      // One dollar pays for ten searches at 0.01 and the context, a tenth of it does not.
      const key = await priced.gateway.newKey({ limit: 50_000_000_000n })
      const poor = (body: JsonObject) => priced.ask("/responses", protocol, body, key)
      const runs = inTools.dropped.length === 0
      expect((await poor({ tools: [search] })).status).toBe(runs ? 402 : 200)
      expect((await poor({ input: [added(search), hi] })).status).toBe(runs ? 402 : 200)
      const searching = { tools: [{ type: "tool_search", execution: "client" }], input: [hi, ...found(search)] }
      expect((await poor(searching)).status).toBe(runs ? 402 : 200)
    })
  },
)

test("a host of the form that runs a search of an item has the bound that is paid for", async () => {
  const { sent } = await priced.ask("/responses", "responses", { input: [added(search), hi], max_tool_calls: 50 })
  expect(sent).toMatchObject({ max_tool_calls: 10, input: [added(search), hi] })
})

test.each(["/chat/completions", "/messages"])("%s: a namespace hides no tool that a host runs", async (form) => {
  const space = { type: "namespace", name: "n", tools: [wait, search] }
  const { status, text, sent } = await priced.ask(form, "responses", { tools: [space] })
  expect([status, text, sent]).toEqual([400, expect.stringContaining("tools[0]"), undefined])
})

describe("a request whose tools come from items alone", () => {
  const body = { input: [added(wait), hi], tool_choice: "auto" }
  test.each([undefined, "responses"])("needs a host with tools (api: %p)", async (api) => {
    const change = (parameters: ReadonlyArray<string>) => ({
      hosts: { a: { supported_parameters: parameters, ...(api === undefined ? {} : { api }) } },
    })
    const answer = () => (api === undefined ? wholeAnswer("fine") : Response.json(responseObject([message("fine")])))
    const strict = { ...body, provider: { require_parameters: true } }
    const settings = { a: { plugin: api === undefined ? "openai-compatible" : "openai" } }
    const lacking = await routed({ a: answer }, { settings, change: change(["temperature"]) })
    expect((await postResponses(lacking, strict)).status).toBe(404)
    const response = await postResponses(lacking, body)
    expect([response.status, response.headers.get("x-gw-dropped")]).toEqual([200, "tools, tool_choice"])
    expect(JSON.stringify(lacking.hosts["a"]?.calls[0]?.body)).not.toContain("wait")
    const able = await routed({ a: answer }, { settings, change: change(["tools", "tool_choice"]) })
    expect((await postResponses(able, strict)).status).toBe(200)
    expect(JSON.stringify(able.hosts["a"]?.calls[0]?.body)).toContain("wait")
  })
})
