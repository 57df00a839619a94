/** `POST /responses/compact`, which was 404: a conversation that a host of the Responses form makes shorter. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test"
import OpenAI from "openai"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { errorOf, picodollars } from "../../support/clients/answers.ts"
import { faultsIn } from "../../support/clients/openApi.ts"
import { responseOf } from "../../support/clients/responsesForm.ts"
import { openAccount, type TestAccount } from "../../support/gateways/account.ts"
import {
  type CompactionScene,
  compacted,
  compactingHost,
  compaction,
  compactionScene,
} from "../../support/gateways/compactionScene.ts"
import { call, hostUsage, message, responseObject, thought } from "../../support/hosts/responsesHost.ts"

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

const model = "agents/responses"
const provider = { order: ["first", "second"] }
const said = { type: "message", role: "user", content: [{ type: "input_text", text: "Read hello.txt" }] }
/** 14 tokens of prompt at the full price and 6 from the cache, 12 of output. */
const cost = 38_600_000n

const ask = (body: JsonObject, headers: Record<string, string> = {}) =>
  scene.post(
    "/responses/compact",
    { model, provider, input: [said], ...body },
    { authorization: `Bearer ${account.secret}`, ...headers },
  )

const calls = () => Object.values(scene.hosts).reduce((sum, host) => sum + host.calls.length, 0)
const last = (name: "first" | "second") => scene.hosts[name].calls.at(-1)

test("is called at the host's own path, and answered with its items, our id and the cost", async () => {
  const response = await ask({ instructions: "Be brief." }, { "x-openrouter-metadata": "enabled" })
  const body = await responseOf(response)
  const generation = response.headers.get("x-generation-id") ?? ""
  expect(body).toEqual({
    ...compaction,
    id: `resp_${generation.slice("gen-".length)}`,
    usage: expect.objectContaining({ input_tokens: hostUsage.input_tokens, cost: Number(cost) / 1e12 }),
    openrouter_metadata: expect.objectContaining({ requested: model, attempt: 1 }),
  })
  expect(faultsIn("CompactAnswer", body)).toEqual([])
  expect(new URL(last("first")?.request.url ?? "").pathname).toBe("/v1/responses/compact")
  expect(last("first")?.body).toEqual({ model: "upstream", input: [said], instructions: "Be brief." })
  expect([response.headers.get("x-gw-host"), picodollars(response.headers.get("x-gw-cost-usd"))]).toEqual([
    "first",
    cost,
  ])
})

test("is in the ledger with its cost, and its caller can read it", async () => {
  const response = await ask({})
  await response.text()
  expect(await account.rows()).toMatchObject([
    {
      form: "compact",
      operation: "chat",
      outcome: "finished",
      finishReason: "stop",
      host: "first",
      cost,
      estimated: false,
    },
  ])
  expect([await account.reserved(), await account.total()]).toEqual([0n, cost])
  const id = response.headers.get("x-generation-id")
  const authorization = `Bearer ${account.secret}`
  const found = await scene.gateway.call(`/generation?id=${id}`, { headers: { authorization } })
  expect(await found.json()).toMatchObject({
    data: { id, api_type: "completions", streamed: false, total_cost: Number(cost) / 1e12, tokens_prompt: 20 },
  })
})

test("an SDK of OpenAI reads it, and its output is the input of the next turn", async () => {
  const client = new OpenAI({ apiKey: account.secret, baseURL: scene.gateway.url, maxRetries: 0 })
  const shorter = await client.responses.compact({ model, input: [{ role: "user", content: "Read hello.txt" }] })
  expect([shorter.object, shorter.usage.input_tokens]).toEqual(["response.compaction", hostUsage.input_tokens])
  expect(shorter.output.at(-1)?.type).toBe("compaction")
  const next = await client.responses.create({
    model,
    store: false,
    // Its types have only what a model says among the items of an answer.
    input: JSON.parse(JSON.stringify([...shorter.output, { role: "user", content: "Go on" }])),
  })
  expect(next.output_text).toBe("out.txt is written.")
})

describe("what the host is sent", () => {
  test("is what its endpoint takes; the rest is named", async () => {
    const input = [
      said,
      { ...thought("", "c2VjcmV0"), internal: 1 },
      call("exec", "{}"),
      { type: "function_call_output", call_id: "call_exec", output: "done" },
      { type: "custom_tool_call", call_id: "c", name: "patch", input: "*** Begin" },
      compacted,
      { type: "compaction_trigger" },
    ]
    const response = await ask({
      input,
      prompt_cache_key: "k",
      prompt_cache_options: { mode: "explicit" },
      prompt_cache_retention: "24h",
      image: { context_compression: "auto" },
      service_tier: "default",
      session_id: "s",
      models: [model],
      tools: [{ type: "function", name: "exec" }, { type: "web_search" }],
      tool_choice: "required",
      include: [],
      store: false,
      stream: false,
      parallel_tool_calls: true,
      reasoning: { effort: "low" },
      max_output_tokens: 100,
      temperature: null,
      future_member: 1,
    })
    expect(response.status).toBe(200)
    expect(last("first")?.body).toEqual({
      model: "upstream",
      input,
      prompt_cache_key: "k",
      prompt_cache_options: { mode: "explicit" },
      prompt_cache_retention: "24h",
      image: { context_compression: "auto" },
      service_tier: "default",
    })
    expect(response.headers.get("x-gw-dropped")).toBe(
      "tools, tool_choice, parallel_tool_calls, reasoning, max_output_tokens, future_member",
    )
  })

  const many = Object.fromEntries(Array.from({ length: 1030 }, (_, at) => [`m${at}`, at]))
  test.each<readonly [path: string, says: string, given: JsonObject]>([
    ["previous_response_id", "nothing is stored", { previous_response_id: "resp_1" }],
    ["input[0]", "nothing is stored", { input: [{ type: "item_reference", id: "msg_1" }] }],
    ["input", "is required", { input: null }],
    ["stream", "comes as a whole", { stream: true }],
    ["stream", "a boolean", { stream: "yes" }],
    ["messages", "use input here", { messages: [] }],
    ["model", "is required", { model: undefined }],
    ["prompt_cache_options.ttl", "must be 30m", { prompt_cache_options: { ttl: "24h" } }],
    ["", "at most 1024 members", many],
  ])("is refused at %p: %s", async (path, says, given) => {
    const before = calls()
    const { code, message: sentence, metadata } = await errorOf(await ask(given))
    expect([code, metadata?.["path"] ?? ""]).toEqual([400, path])
    expect(sentence).toContain(says)
    expect(calls()).toBe(before)
  })
})

describe("its routing", () => {
  test.each([404, 503])("a host that answers %i is followed by the next one, which alone is billed", async (status) => {
    scene.says.first = () => Response.json({ error: { message: "no" } }, { status })
    const response = await ask({})
    expect([response.status, response.headers.get("x-gw-host")]).toEqual([200, "second"])
    await response.text()
    expect((await account.rows()).map((row) => [row.host, row.cost])).toEqual([["second", cost]])
  })

  test("a host that answers in place of compacting is followed by the next one", async () => {
    scene.says.first = () => Response.json(responseObject([message("I am a model.")]))
    expect((await ask({})).headers.get("x-gw-host")).toBe("second")
    scene.says.second = scene.says.first
    expect((await ask({})).status).toBe(502)
    expect(await account.rows()).toHaveLength(1)
  })

  test.each([
    ["nothing", []],
    ["only what the user said", compaction["output"]],
  ])("an answer of %s was passed on, and the conversation was lost: the next host compacts it", async (_, output) => {
    const kept = (Array.isArray(output) ? output : []).filter((item) => item !== compacted)
    scene.says.first = () => Response.json({ ...compaction, output: kept })
    const response = await ask({})
    expect(response.headers.get("x-gw-host")).toBe("second")
    await response.text()
    expect((await account.rows()).map((row) => [row.host, row.cost])).toEqual([["second", cost]])
  })

  test("hosts of other forms are left out, each with the reason", async () => {
    const before = calls()
    const response = await ask({ model: "agents/others", provider: {} })
    const { code, message: sentence, metadata } = await errorOf(response)
    const reason = "cannot carry input: only hosts of the Responses format compact a conversation"
    expect([code, metadata?.["excluded_by"]]).toEqual([404, ["form"]])
    expect(sentence).toContain("only hosts of the Responses format compact a conversation")
    expect(metadata?.["excluded"]).toEqual(
      ["chat", "claude", "gemini", "converse", "cohere"].map((host) => ({
        ...{ host, model: "agents/others", by: "form", reason },
      })),
    )
    expect(calls()).toBe(before)
    expect((await ask({ model: "agents/mixed", provider: { sort: "price" } })).headers.get("x-gw-host")).toBe("first")
    expect((await ask({ model: "agents/others", models: [model], provider })).headers.get("x-gw-host")).toBe("first")
  })

  test("the host that served the conversation compacts it", async () => {
    const authorization = `Bearer ${account.secret}`
    for (const [served, other] of [
      ["second", "first"],
      ["first", "second"],
    ] as const) {
      const conversation = { session_id: `served by ${served}`, input: [said] }
      const turn = { model, ...conversation, provider: { ignore: [other] } }
      expect((await scene.post("/responses", turn, { authorization })).headers.get("x-gw-host")).toBe(served)
      expect((await ask({ ...conversation, provider: {} })).headers.get("x-gw-host")).toBe(served)
    }
  })
})

describe("its budget", () => {
  const needed = 4096n * 2_000_000n

  test("the longest answer of the host is reserved, since no bound can be sent", async () => {
    const limited = async (limit: bigint) => {
      const key = await openAccount(scene.gateway, { limit })
      return { key, response: await ask({}, { authorization: `Bearer ${key.secret}` }) }
    }
    const before = calls()
    const poor = await limited(needed)
    expect([poor.response.status, calls()]).toEqual([402, before])
    const { message: sentence, metadata } = await errorOf(poor.response)
    expect(sentence).toEndWith("is left; shorten the prompt, or raise the limit.")
    expect(Object.keys(metadata ?? {})).not.toContain("affordable_tokens")
    const rich = await limited(needed + 1_000_000_000n)
    expect([rich.response.status, await rich.key.total(), await rich.key.reserved()]).toEqual([200, cost, 0n])
  })
})

test("a host's word for the gateway's own metadata was passed on", async () => {
  scene.says.first = () => Response.json({ ...compaction, openrouter_metadata: { attempt: 7 } })
  expect(Object.keys(await responseOf(await ask({})))).not.toContain("openrouter_metadata")
})

test("one that its host has not ended is billed as the most that it can cost, and no other host is asked", async () => {
  scene.says.first = () => Response.json({ ...compaction, status: "in_progress", output: [] })
  const response = await ask({})
  expect([response.status, response.headers.get("x-gw-host")]).toEqual([200, "first"])
  await response.text()
  expect(await account.rows()).toMatchObject([{ host: "first", estimated: true, completionTokens: 4096 }])
})

test.each(["compaction", "compaction_summary", "context_compaction"])(
  "without usage a %s is charged by its size",
  async (type) => {
    const output = [{ id: "cmp_host", type, encrypted_content: "x".repeat(4000) }]
    scene.says.first = () => Response.json({ ...compaction, output, usage: undefined })
    await (await ask({})).text()
    expect(await account.rows()).toMatchObject([{ estimated: true, completionTokens: 1000 }])
  },
)

test("with an Idempotency-Key it is carried out once", async () => {
  const headers = { "idempotency-key": crypto.randomUUID() }
  const first = await ask({}, headers)
  const before = calls()
  const second = await ask({}, headers)
  expect(await second.text()).toBe(await first.text())
  expect([calls(), (await account.rows()).length]).toEqual([before, 1])
})
