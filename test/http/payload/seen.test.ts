/** What callers got past the checks of one form or another, each as it was seen. See docs/guarantees.md#g36. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { explainedBy } from "../../support/clients/explained.ts"
import { forms, type Hosts, type ProtocolName, protocols, startHosts } from "./hosts.ts"

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

const chat = "/chat/completions"

describe("a member of the caller's body takes the place of none that the protocol writes", () => {
  const image = { type: "input_image", image_url: "https://images.example/a.png" }
  const members: JsonObject = {
    input: [{ type: "message", role: "user", content: [image] }],
    instructions: "other",
    max_tool_calls: 999,
    include: ["file_search_call.results"],
    truncation: "auto",
    text: { format: { type: "text" } },
    system: [{ type: "text", text: "other" }],
    stop_sequences: ["x"],
    anthropic_version: "1",
    generationConfig: { maxOutputTokens: 9999 },
    systemInstruction: { parts: [{ text: "other" }] },
    contents: [{ role: "user", parts: [{ text: "other" }] }],
    inferenceConfig: { maxTokens: 9999 },
    additionalModelRequestFields: { a: 1 },
    output_format: { type: "json_schema", schema: {} },
    reasoning_format: "raw",
    keep_alive: "10h",
    truncate: true,
  }
  const own: ReadonlyArray<readonly [string, ProtocolName, string]> = [
    "/chat/completions",
    "/completions",
    "/messages",
  ].flatMap((form) =>
    protocols
      .filter((protocol) => protocol !== "compatible" && protocol !== "ollama")
      .flatMap((protocol) =>
        Object.keys(members)
          .filter(
            (name) =>
              form !== "/messages" || (name !== "system" && name !== "stop_sequences" && name !== "output_format"),
          )
          .map((name) => [form, protocol, name] as const),
      ),
  )
  test.each(own)("%s at a host of the protocol %s: %s", async (form, protocol, name) => {
    const plain = await unpriced.ask(form, protocol, {})
    const asked = await unpriced.ask(form, protocol, { [name]: members[name] })
    expect([plain.status, asked.status]).toEqual([200, 200])
    // Anthropic asks for members of its own format that a gateway does not know. Other forms' are among them.
    const { [name]: passed, ...sent } = asked.sent ?? {}
    const isPassed = form === "/messages" && protocol === "messages" && plain.sent?.[name] === undefined
    if (isPassed && passed !== undefined) expect([sent, asked.dropped.length <= 1]).toEqual([plain.sent ?? {}, true])
    else expect([asked.sent, asked.dropped]).toEqual([plain.sent, [name]])
  })

  test("300 images as `input` of a chat, of a key that cannot pay them: the chat was served and they were sent", async () => {
    const input = [{ role: "user", content: Array.from({ length: 300 }, () => image) }]
    const { sent, dropped } = await unpriced.ask(chat, "responses", { input })
    expect([sent?.["input"], dropped]).toEqual([[{ type: "message", role: "user", content: "hi" }], ["input"]])
  })

  test("`thinking` of a chat is written anew at a host of the Messages form", async () => {
    const thinking = { type: "enabled", budget_tokens: 1500, source: { type: "text" }, other: 1 }
    const { sent } = await unpriced.ask(chat, "messages", { thinking, max_tokens: 2000 })
    expect(sent?.["thinking"]).toEqual({ type: "enabled", budget_tokens: 1500 })
  })

  test("`extra_members` of a provider lets more through, and no member that is written or judged", async () => {
    const hosts = await startHosts({ provider: { extra_members: ["logit_fun", "input", "extra"] } })
    try {
      const fun = await hosts.ask(chat, "responses", { logit_fun: { a: 1 }, input: "other", other_fun: 1 })
      expect([fun.status, fun.sent?.["logit_fun"], fun.dropped]).toEqual([200, { a: 1 }, ["input", "other_fun"]])
      const judged = await hosts.ask(chat, "responses", { extra: { deep: [{ file_id: "file_1" }] } })
      expect([judged.status, judged.sent]).toEqual([400, undefined])
    } finally {
      await hosts.stop()
    }
  })
})

describe("a tool inside of another one", () => {
  const inner = (type: string) => ({ type, [type]: { type: "file_search", vector_store_ids: ["vs_1"] } })
  test.each([
    ["an unknown type around it", { tools: [inner("x")] }],
    ["custom around it", { tools: [inner("custom")] }],
    ["a server of the caller's", { tools: [{ type: "x", x: { type: "mcp", server_url: "https://evil.example" } }] }],
    ["a choice of that shape", { tool_choice: { type: "x", x: { type: "file_search", vector_store_ids: ["vs_1"] } } }],
    ["code in a container", { tools: [{ type: "x", x: { type: "code_interpreter", container: "cntr_1" } }] }],
  ])("%s is refused in the chat form", async (_, body) => {
    for (const protocol of protocols) {
      const { status, sent } = await unpriced.ask(chat, protocol, body)
      expect([protocol, status, sent]).toEqual([protocol, 400, undefined])
    }
  })

  test.each([
    "image_generation",
    "x_search",
    "google_maps",
    "CODE_INTERPRETER",
    "code_interpreter ",
    "Web_Search",
    "Custom",
  ])("%s is dropped and named by its place, whatever the host", async (type) => {
    const f = { type: "function", function: { name: "f", parameters: { type: "object" } } }
    for (const protocol of protocols) {
      const { status, sent, dropped } = await unpriced.ask(chat, protocol, { tools: [f, { type }] })
      expect([protocol, status, dropped.includes("tools[1]")]).toEqual([protocol, 200, true])
      expect(JSON.stringify(sent).toLowerCase()).not.toContain(type.trim().toLowerCase())
      expect(JSON.stringify(sent)).toContain('"f"')
    }
  })
})

describe("a search", () => {
  const tools: Readonly<Record<string, JsonObject>> = {
    "/chat/completions": { type: "web_search" },
    "/messages": { type: "web_search_20250305", name: "web_search", max_uses: 999 },
    "/responses": { type: "web_search" },
  }
  const rows = Object.entries(tools).flatMap(([form, tool]) =>
    protocols.map((protocol) => [form, protocol, tool] as const),
  )

  test("999 uses are as many as are reserved", async () => {
    const { sent } = await priced.ask("/messages", "messages", { tools: [tools["/messages"]] })
    expect(sent?.["tools"]).toEqual([{ type: "web_search_20250305", name: "web_search", max_uses: 10 }])
    const { sent: response } = await priced.ask("/responses", "responses", { tools: [tools["/responses"]] })
    expect(response?.["max_tool_calls"]).toBe(10)
  })

  test("`max_uses` in a form that does not have it reserved one search of the ten that the host may do", async () => {
    for (const [form, tool] of Object.entries(tools)) {
      for (const protocol of ["chat", "responses", "google"] as const) {
        const body = { tools: [{ ...tool, max_uses: 1 }] }
        // 100,000 tokens of context at 1 USD per million, ten searches at 0.01, and some output.
        const poor = await priced.gateway.newKey({ limit: 190_000_000_000n })
        expect([form, protocol, (await priced.ask(form, protocol, body, poor)).status]).toEqual([form, protocol, 402])
      }
    }
    const own = { tools: [{ ...tools["/messages"], max_uses: 1 }] }
    const enough = await priced.gateway.newKey({ limit: 230_000_000_000n })
    expect((await priced.ask("/messages", "messages", own, enough)).status).toBe(200)
  })

  test("a beta for a longer context than is priced is not sent, others are", async () => {
    const { gateway, host } = priced
    const ask = (betas: string) =>
      gateway.call("/messages", {
        method: "POST",
        headers: { authorization: `Bearer ${gateway.key}`, "anthropic-beta": betas },
        body: JSON.stringify({ model: "acme/messages", messages: [{ role: "user", content: "hi" }], max_tokens: 9 }),
      })
    for (const [betas, sent] of [
      ["context-1m-2025-08-07", null],
      ["fine-grained-2025-05-14, context-1m-2025-08-07", "fine-grained-2025-05-14"],
    ] as const) {
      const answer = await ask(betas)
      expect([answer.status, answer.headers.get("x-gw-dropped")]).toEqual([200, "anthropic-beta"])
      expect(host.calls.at(-1)?.request.headers.get("anthropic-beta") ?? null).toBe(sent)
    }
  })

  test("what it finds is reserved as prompt: 17 were admitted where one could be paid", async () => {
    // 100,000 tokens of context at 2 USD per million (writing to the cache), ten searches at 0.01, and some output.
    const key = await priced.gateway.newKey({ limit: 290_000_000_000n })
    const body = { tools: [tools["/messages"]] }
    expect((await priced.ask("/messages", "messages", body, key)).status).toBe(402)
    expect((await priced.ask("/messages", "messages", {}, key)).status).toBe(200)
    const rich = await priced.gateway.newKey({ limit: 350_000_000_000n })
    expect((await priced.ask("/messages", "messages", body, rich)).status).toBe(200)
    const fetching = { tools: [{ type: "web_fetch_20250910", name: "web_fetch", max_uses: 999 }] }
    const poor = await priced.gateway.newKey({ limit: 190_000_000_000n })
    expect((await priced.ask("/messages", "messages", fetching, poor)).status).toBe(402)
    const block = { messages: [{ role: "user", content: [{ type: "search_result", source: "s", title: "t" }] }] }
    expect((await priced.ask("/messages", "messages", block, poor)).status).toBe(402)
  })

  test("an offer that is dropped reserves nothing", async () => {
    const key = await unpriced.gateway.newKey({ limit: 10_000_000_000n })
    for (const [form, protocol, tool] of rows)
      expect([form, protocol, (await unpriced.ask(form, protocol, { tools: [tool] }, key)).status]).toEqual([
        form,
        protocol,
        200,
      ])
  })

  test("require_parameters asks for everything that is offered", async () => {
    const body = { tools: [{ type: "image_generation" }], provider: { require_parameters: true } }
    const { status, text } = await priced.ask(chat, "chat", body)
    expect([status, text]).toEqual([404, expect.stringContaining("excluded_by")])
  })

  test("an explanation names what each host would not be sent", async () => {
    const body = {
      model: "acme/responses",
      messages: [{ role: "user", content: "hi" }],
      tools: [{ type: "web_search" }],
    }
    const { dropped_parameters: dropped } = await explainedBy(unpriced.gateway, body)
    expect(dropped).toEqual({ openai: ["tools[0]"] })
  })

  test("Codex's and cline's offers beside their functions: the ninth tool is named, in every form", async () => {
    const functions = Array.from({ length: 8 }, (_, at) => `f${at}`)
    const offered: Readonly<Record<string, ReadonlyArray<JsonObject>>> = {
      "/chat/completions": functions.map((name) => ({ type: "function", function: { name } })),
      "/messages": functions.map((name) => ({ name, input_schema: { type: "object" } })),
      "/responses": functions.map((name) => ({ type: "function", name })),
    }
    for (const [form, tool] of Object.entries(tools)) {
      for (const protocol of protocols) {
        const more = [tool, { type: "image_generation" }]
        const { status, dropped } = await unpriced.ask(form, protocol, { tools: [...(offered[form] ?? []), ...more] })
        expect([form, protocol, status, dropped]).toEqual([form, protocol, 200, ["tools[8]", "tools[9]"]])
      }
    }
  })
})

describe("what is stored in the operator's account", () => {
  const stored: ReadonlyArray<readonly [string, JsonObject]> = [
    ["a prompt", { prompt: { id: "pmpt_1" } }],
    ["attachments", { attachments: [{ file_id: "file_1" }] }],
    ["resources of tools", { tool_resources: { file_search: { vector_store_ids: ["vs_1"] } } }],
    ["an assistant", { assistant_id: "asst_1" }],
    ["a workspace", { workspace_id: "wrkspc_1" }],
    ["a response to compare with", { prompt_cache_options: { comparison_response_id: "resp_1" } }],
    ["a file deep within", { x: [{ y: { "File-ID ": "file_1" } }] }],
    ["several files", { x: { file_ids: ["file_1"] } }],
  ]
  test.each(forms.flatMap((form) => stored.map(([name, body]) => [form, name, body] as const)))(
    "%s refuses %s at every host",
    async (form, _name, body) => {
      if (form === "/completions" && "prompt" in body) return
      for (const protocol of protocols) {
        const { status, sent } = await unpriced.ask(form, protocol, body)
        expect([protocol, status, sent]).toEqual([protocol, 400, undefined])
      }
    },
  )

  test.each(["container_upload", " Container_Upload", "item_reference"])(
    "a block of the type %j is refused whatever its id is called",
    async (type) => {
      const messages = [{ role: "user", content: [{ type, upload: "u-1" }] }]
      for (const protocol of protocols) {
        const { status, sent, text } = await unpriced.ask("/messages", protocol, { messages })
        expect([protocol, status, sent]).toEqual([protocol, 400, undefined])
        expect(text).toContain("messages[0].content[0]: refers to something in the account of the operator")
      }
    },
  )

  test("a file beside an accepted part, a call that is an item, and what stands below a member named input", async () => {
    const part = { type: "text", text: "hi", file_id: "file_1" }
    const content = (...parts: ReadonlyArray<JsonObject>) => ({ messages: [{ role: "user", content: parts }] })
    const call = { role: "assistant", tool_calls: [{ type: "item_reference", id: "rs_1" }] }
    const block = { type: "future_block", input: { source: { type: "file", file_id: "file_1" } } }
    for (const protocol of protocols) {
      const bodies: ReadonlyArray<readonly [string, JsonObject]> = [
        [chat, content(part)],
        [chat, { messages: [{ role: "user", content: "hi" }, call] }],
        ["/messages", content(block)],
      ]
      for (const [form, body] of bodies) {
        const { status, sent } = await unpriced.ask(form, protocol, body)
        expect([protocol, status, sent]).toEqual([protocol, 400, undefined])
      }
    }
  })

  test("a call of another kind was an item of its own at a host of the Responses form", async () => {
    const call = { type: "image_generation_call", id: "ig_1" }
    const messages = [
      { role: "assistant", tool_calls: [call] },
      { role: "user", content: "hi" },
    ]
    expect((await unpriced.ask(chat, "responses", { messages })).status).toBe(400)
  })

  test("names of that kind in schemas, arguments and results are the caller's own", async () => {
    const parameters = { type: "object", properties: { file_id: { type: "string" }, server_url: { type: "string" } } }
    const tools = [{ type: "function", function: { name: "f", parameters } }]
    const called = { id: "c1", type: "function", function: { name: "f", arguments: '{"file_id":"file_1"}' } }
    const messages = [
      { role: "user", content: "hi" },
      { role: "assistant", content: null, tool_calls: [called] },
      { role: "tool", tool_call_id: "c1", content: '{"vector_store_ids":["vs_1"]}' },
    ]
    for (const protocol of protocols)
      expect([protocol, (await unpriced.ask(chat, protocol, { tools, messages })).status]).toEqual([protocol, 200])
    const used = {
      type: "tool_use",
      id: "t1",
      name: "f",
      input: { file_id: "file_1", server_url: "http://localhost/" },
    }
    const turns = [
      { role: "user", content: "hi" },
      { role: "assistant", content: [used] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "1" }] },
    ]
    for (const protocol of protocols) {
      const body = { tools: [{ name: "f", input_schema: parameters }], messages: turns }
      expect([protocol, (await unpriced.ask("/messages", protocol, body)).status]).toEqual([protocol, 200])
    }
  })
})

describe("an address that is not public", () => {
  const urls = [
    ...[
      "file:///etc/passwd",
      "http://169.254.169.254/latest",
      "http://localhost:8080/",
      "http://[::1]/",
      "s3://bucket/key",
    ],
    ...["http://2852039166/", "\u0009fi\nle:///etc/passwd", "http://db.internal/", "gs://bucket/key", "//10.0.0.1/x"],
  ]
  test.each(urls)("%j is refused as a video, an image and a file", async (url) => {
    const parts = [
      { type: "video_url", video_url: { url } },
      { type: "image_url", image_url: { url } },
      { type: "file", file: { filename: "a.pdf", file_data: url } },
    ]
    for (const part of parts) {
      for (const protocol of protocols) {
        const { status, sent } = await unpriced.ask(chat, protocol, { messages: [{ role: "user", content: [part] }] })
        expect([protocol, part.type, status, sent]).toEqual([protocol, part.type, 400, undefined])
      }
    }
  })
})

describe("an address in a spelling that others read otherwise", () => {
  const blanks = " ".repeat(300)
  const spelt: ReadonlyArray<readonly [string, string]> = [
    ["behind 300 blanks", `${blanks}file:///etc/passwd`],
    ["with 300 tabs within", `f${"\t".repeat(300)}ile:///etc/passwd`],
    ["behind a blank that is no space", "\u00a0file:///etc/passwd"],
    ["behind a line separator", "\u2028http://127.0.0.1/"],
    ["behind a character without width", "\u200bfile:///etc/passwd"],
    ["of two hosts, by how a backslash is read", "http://images.example\\@127.0.0.1/a.mp4"],
    ["of two hosts, by how a tab is read", "http://127.0.0.1\t.images.example/a.mp4"],
    ["that is a path", "/srv/videos/a.mp4"],
    ["that is a path upwards", "../a.mp4"],
    ["that is a path at home", "~/a.mp4"],
    ["of a cluster", "http://kubernetes.default.svc/"],
  ]
  const partsOf = (url: string): ReadonlyArray<JsonObject> => [
    { type: "video_url", video_url: { url } },
    { type: "image_url", image_url: { url: "https://images.example/a.png", video: url } },
    { type: "file", file: { file_data: url } },
  ]
  test.each(spelt)("%s is refused in every form", async (_, url) => {
    for (const protocol of protocols) {
      for (const part of partsOf(url)) {
        const { status, sent } = await unpriced.ask(chat, protocol, { messages: [{ role: "user", content: [part] }] })
        expect([protocol, part["type"], status, sent]).toEqual([protocol, part["type"], 400, undefined])
      }
      const video = [{ role: "user", content: [{ type: "input_video", video_url: url }] }]
      expect((await unpriced.ask("/responses", protocol, { input: video })).status).toBe(400)
    }
  })

  test("as the data of sound is refused too, and base64 that begins as a path or has lines is none", async () => {
    const sound = (data: string) => ({
      messages: [{ role: "user", content: [{ type: "input_audio", input_audio: { data, format: "mp3" } }] }],
    })
    for (const url of ["http://169.254.169.254/", "file:///etc/passwd", `${blanks}file:///etc/passwd`])
      expect([url, (await unpriced.ask(chat, "chat", sound(url))).status]).toEqual([url, 400])
    const lines = Array.from({ length: 9 }, () => "A".repeat(76)).join("\r\n")
    for (const data of ["//uQxAAA", "SUQz", lines])
      expect([data, (await unpriced.ask(chat, "chat", sound(data))).status]).toEqual([data, 200])
    const image = { type: "image_url", image_url: { url: "https://images.example/a.png" } }
    const file = { type: "file", file: { filename: "a.jpg", file_data: "/9j/4AAQSkZJRg==" } }
    const text = { type: "file", file: { filename: "a.txt", file_data: `data:text/plain,${blanks}a` } }
    for (const part of [image, file, text])
      expect((await unpriced.ask(chat, "chat", { messages: [{ role: "user", content: [part] }] })).status).toBe(200)
  })
})

describe("a place where the walk did not look", () => {
  test("behind a number in a list", async () => {
    const body = { x: [0, { file_id: "file_1" }, { tools: [{ type: "mcp" }] }] }
    for (const form of forms) expect((await unpriced.ask(form, "compatible", body)).status).toBe(400)
  })

  test("the input of a body that says it is a call of a tool", async () => {
    const file = { type: "input_text", text: "hi", attachments: [{ id: "file_1" }] }
    const body = { type: "tool_use", input: [{ role: "user", content: [file] }] }
    for (const protocol of protocols) {
      const { status, sent } = await unpriced.ask("/responses", protocol, body)
      expect([protocol, status, sent]).toEqual([protocol, 400, undefined])
    }
  })

  test("an image by its id alone is one that a host has stored", async () => {
    for (const item of [
      { id: "ig_1" },
      { id: "ig_1", result: null },
      { id: "ig_1", result: "", status: "completed" },
    ]) {
      const input = [
        { role: "user", content: "hi" },
        { type: "image_generation_call", ...item },
      ]
      for (const protocol of protocols) {
        const { sent } = await unpriced.ask("/responses", protocol, { input })
        expect(JSON.stringify(sent)).not.toContain("ig_1")
      }
    }
  })
})

describe("a member that costs or reaches something", () => {
  const costly = [
    ...["data_sources", "search_parameters", "enable_search", "num_search_results", "kv_transfer_params", "lora_path"],
    ...["chat_template", "min_tokens", "ignore_eos", "num_generations", "MAX_TOKENS", "max_tokens ", "maxTokens", "N"],
    ...["Search_Parameters", "n_predict", "store"],
  ]
  test.each(costly)("%s goes to no host, and is named", async (name) => {
    for (const form of ["/chat/completions", "/completions", "/messages"]) {
      for (const protocol of protocols) {
        const { status, sent, dropped } = await unpriced.ask(form, protocol, { [name]: true })
        expect([form, protocol, status, dropped]).toEqual([form, protocol, 200, [name.trim()]])
        // The protocol's own word that nothing is stored.
        expect(sent?.[name] ?? false).toBe(false)
      }
    }
  })

  test.each([
    [{ prompt_cache_options: { ttl: "12h" } }, "prompt_cache_options.ttl: must be 30m"],
    [{ prompt_cache_options: { prewarm: true } }, "prompt_cache_options.prewarm: is not supported"],
    [{ service_tier: "ultrafast" }, "no price for: use priority"],
    [{ background: true }, "background: must be false"],
  ])("%j is refused with a sentence", async (body, says) => {
    const { status, text } = await unpriced.ask(chat, "chat", body)
    expect([status, text]).toEqual([400, expect.stringContaining(says)])
  })

  test("safeguards of the Messages form go to Anthropic, who checks them at no charge, and are named elsewhere", async () => {
    const safeguards = [{ type: "dangerous_tool_use", classifier_context: { version: 1 } }]
    for (const protocol of protocols) {
      const { status, sent, dropped } = await unpriced.ask("/messages", protocol, { safeguards })
      const isAnthropics = protocol === "messages"
      expect([protocol, status, dropped]).toEqual([protocol, 200, isAnthropics ? [] : ["safeguards"]])
      expect([protocol, sent?.["safeguards"]]).toEqual([protocol, isAnthropics ? safeguards : undefined])
    }
  })

  test("a tool whose calls need no output in the same turn is the caller's own", async () => {
    const f = { type: "function", name: "f", parameters: { type: "object" }, async: true }
    const { status, sent, dropped } = await unpriced.ask("/responses", "responses", { tools: [f] })
    expect([status, sent?.["tools"], dropped]).toEqual([200, [f], []])
    expect((await unpriced.ask("/responses", "chat", { tools: [f] })).dropped).toEqual(["tools[0].async"])
  })
})

test("blocks whose type is the name of a member of every object were 500", async () => {
  for (const type of ["constructor", "__proto__", "toString", "hasOwnProperty", "valueOf"]) {
    for (const [form, body] of [
      ["/messages", { messages: [{ role: "user", content: [{ type }] }] }],
      [chat, { messages: [{ role: "user", content: [{ type }] }] }],
      ["/responses", { input: [{ role: "user", content: [{ type }] }] }],
      ["/responses", { input: [{ type }] }],
      [chat, { messages: [{ role: type, content: "hi" }] }],
      [chat, { response_format: { type } }],
    ] as const) {
      // Hosts of the Messages form may know a block that the gateway does not, so the others are left out of the plan.
      const status = form === "/messages" ? 404 : 400
      expect([form, type, (await unpriced.ask(form, "chat", body)).status]).toEqual([form, type, status])
    }
  }
})
