/**
 * Tools that hosts run: every form at a host of every protocol, a tool with a price, one without and one that nobody knows, offered and
 * asked for. What is looked at is what reached the host over a socket. docs/hosted-tools.md
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { explainedBy } from "../../support/clients/explained.ts"
import { type Hosts, minimal, type ProtocolName, protocols, startHosts } from "./hosts.ts"

let priced: Hosts
let unpriced: Hosts
/** Hosts that say which parameters they support, as `require_parameters` wants. */
let pricedListing: Hosts
let unpricedListing: Hosts
beforeAll(async () => {
  const listing = { supportedParameters: ["max_tokens", "tools", "tool_choice", "web_search_options"] }
  priced = await startHosts({ webSearch: "0.01" })
  unpriced = await startHosts()
  pricedListing = await startHosts({ webSearch: "0.01", ...listing })
  unpricedListing = await startHosts(listing)
})
afterAll(() => Promise.all([priced, unpriced, pricedListing, unpricedListing].map((hosts) => hosts.stop())))

const parameters = { type: "object", properties: {} }

interface Form {
  /** The caller's own tool. */
  readonly own: JsonObject
  readonly hosted: Readonly<Record<Kind, JsonObject>>
  readonly choiceOf: (tool: JsonObject) => JsonObject
  /** Hosts of these protocols can search for callers of the form. */
  readonly searches: ReadonlyArray<ProtocolName>
}

const kinds = ["a search", "an image generation", "a type that nobody knows"] as const
type Kind = (typeof kinds)[number]

const byType = ({ type }: JsonObject): JsonObject => ({ type })
const elsewhere: ReadonlyArray<ProtocolName> = ["chat", "compatible", "responses", "google"]
const hosted = {
  "a search": { type: "web_search" },
  "an image generation": { type: "image_generation" },
  "a type that nobody knows": { type: "hologram" },
}

const forms: Readonly<Record<string, Form>> = {
  "/chat/completions": {
    own: { type: "function", function: { name: "f", parameters } },
    ...{ hosted, choiceOf: byType, searches: elsewhere },
  },
  "/responses": { own: { type: "function", name: "f", parameters }, hosted, choiceOf: byType, searches: elsewhere },
  "/messages": {
    own: { name: "f", input_schema: parameters },
    hosted: {
      "a search": { type: "web_search_20250305", name: "web_search" },
      "an image generation": { type: "image_generation", name: "image" },
      "a type that nobody knows": { type: "hologram_20260101", name: "hologram" },
    },
    choiceOf: ({ name }) => ({ type: "tool", name }),
    searches: [...elsewhere, "messages"],
  },
}

/** What hosts of a protocol are sent of the tools: the caller's own, and a search beside it. */
const wire: Readonly<Record<ProtocolName, { readonly own: JsonObject; readonly search?: JsonObject }>> = (() => {
  const inChat = { type: "function", function: { name: "f", parameters } }
  const inResponses = { type: "function", name: "f", parameters, strict: false }
  const inMessages = { name: "f", input_schema: parameters }
  const inGoogle = { functionDeclarations: [{ name: "f", parametersJsonSchema: parameters }] }
  const chat = { own: { tools: [inChat] }, search: { tools: [inChat], web_search_options: {} } }
  return {
    chat,
    compatible: chat,
    responses: {
      own: { tools: [inResponses] },
      search: { tools: [inResponses, { type: "web_search" }], max_tool_calls: 10 },
    },
    messages: {
      own: { tools: [inMessages] },
      search: { tools: [inMessages, { type: "web_search_20250305", name: "web_search", max_uses: 10 }] },
    },
    google: {
      own: { tools: [inGoogle] },
      search: { tools: [inGoogle, { googleSearch: {} }], toolConfig: { includeServerSideToolInvocations: true } },
    },
    converse: { own: { toolConfig: { tools: [{ toolSpec: { name: "f", inputSchema: { json: parameters } } }] } } },
    cohere: { own: { tools: [inChat] } },
    ollama: { own: { tools: [inChat] } },
  }
})()

/** The form that hosts of the protocol speak themselves: they are sent the caller's own tools and choice. */
const ownForm: Readonly<Record<string, string>> = { responses: "/responses", messages: "/messages" }

const withoutStrict = (tools: JsonObject): unknown =>
  JSON.parse(JSON.stringify(tools, (name, value: unknown) => (name === "strict" ? undefined : value)))

const expected = (form: string, protocol: ProtocolName, what: "own" | "search"): unknown => {
  const sent = wire[protocol][what] ?? {}
  // A caller of the form did not write `strict`.
  return ownForm[protocol] === form ? withoutStrict(sent) : sent
}

const ofTools = (sent: JsonObject | undefined): JsonObject =>
  Object.fromEntries(Object.entries(sent ?? {}).filter(([name]) => /tool|search|function/i.test(name)))

const rows = Object.entries(forms).flatMap(([name, form]) =>
  protocols.flatMap((protocol) => kinds.map((kind) => [kind, name, protocol, form] as const)),
)
const prices = ["with a price for searches", "without one"] as const

describe.each(prices)("at a host %s", (price) => {
  const hostsOf = () => (price === "without one" ? unpriced : priced)
  const runs = (kind: Kind, protocol: ProtocolName, { searches }: Form) =>
    price !== "without one" && kind === "a search" && searches.includes(protocol)

  test.each(rows)(
    "%s that %s offers to %s is sent, or dropped and named by its place",
    async (kind, name, protocol, form) => {
      const body = { tools: [form.own, form.hosted[kind]] }
      const { status, sent, dropped } = await hostsOf().ask(name, protocol, body)
      const isRun = runs(kind, protocol, form)
      expect([status, dropped]).toEqual([200, isRun ? [] : ["tools[1]"]])
      expect<unknown>(ofTools(sent)).toEqual(expected(name, protocol, isRun ? "search" : "own"))
    },
  )

  test.each(rows)(
    "%s that %s offers to %s alone leaves no choice behind, and is asked for where some tool must be called",
    async (kind, name, protocol, form) => {
      const isMessages = name === "/messages"
      const body = { tools: [form.hosted[kind]], tool_choice: isMessages ? { type: "auto" } : "auto" }
      const { status, sent, dropped } = await hostsOf().ask(name, protocol, body)
      const required = { ...body, tool_choice: isMessages ? { type: "any" } : "required" }
      const asked = await hostsOf().ask(name, protocol, required)
      if (runs(kind, protocol, form)) {
        expect([status, asked.status]).toEqual([200, 200])
        for (const each of [sent, asked.sent]) expect(JSON.stringify(ofTools(each))).toMatch(/search/i)
        return
      }
      expect([asked.status, asked.sent]).toEqual([404, undefined])
      expect(asked.text).toContain("excluded by hosted_tools")
      expect([status, dropped, ofTools(sent)]).toEqual([200, ["tools[0]", "tool_choice"], {}])
    },
  )

  test.each(rows)("%s that %s asks of %s is sent, or 404", async (kind, name, protocol, form) => {
    const tool = form.hosted[kind]
    const choice = form.choiceOf(tool)
    const body = { tools: [form.own, tool], tool_choice: choice }
    const { status, sent, dropped, text } = await hostsOf().ask(name, protocol, body)
    if (runs(kind, protocol, form)) {
      expect([status, dropped]).toEqual([200, []])
      const chosen = ownForm[protocol] === name ? { tool_choice: choice } : {}
      expect<unknown>(ofTools(sent)).toEqual({ ...Object(expected(name, protocol, "search")), ...chosen })
      return
    }
    expect([status, sent, dropped]).toEqual([404, undefined, []])
    const { error } = JSON.parse(text)
    expect(error.message).toBe(`No endpoints found for acme/${protocol}: excluded by hosted_tools.`)
    // The Messages form has no place for more.
    if (name === "/messages") expect(error.type).toBe("not_found_error")
    else {
      expect(error.metadata).toMatchObject({
        error_type: "not_found",
        excluded_by: ["hosted_tools"],
        excluded: [
          {
            model: `acme/${protocol}`,
            by: "hosted_tools",
            reason: "cannot run the tool at tools[1], or has no price for it",
          },
        ],
      })
    }
  })

  test.each(rows)(
    "%s that %s offers to %s is asked for where every parameter is required",
    async (kind, name, protocol, form) => {
      const body = { tools: [form.own, form.hosted[kind]], provider: { require_parameters: true } }
      const { status, sent, text } = await (price === "without one" ? unpricedListing : pricedListing).ask(
        name,
        protocol,
        body,
      )
      if (runs(kind, protocol, form)) {
        expect(status).toBe(200)
        expect<unknown>(ofTools(sent)).toEqual(expected(name, protocol, "search"))
        return
      }
      expect([status, sent]).toEqual([404, undefined])
      expect(text).toContain("excluded by hosted_tools")
    },
  )

  const explained = rows.filter(([, name]) => name === "/chat/completions")
  test.each(explained)("%s of %s at %s: an explanation says the same", async (kind, name, protocol, form) => {
    const offered = { model: `acme/${protocol}`, ...minimal[name], tools: [form.own, form.hosted[kind]] }
    const isRun = runs(kind, protocol, form)
    const { dropped_parameters: dropped } = await explainedBy(hostsOf().gateway, offered)
    expect(Object.values(dropped)).toEqual(isRun ? [] : [["tools[1]"]])
    const { excluded } = await explainedBy(hostsOf().gateway, {
      ...offered,
      tool_choice: form.choiceOf(form.hosted[kind]),
    })
    expect(excluded.map(({ by }) => by)).toEqual(isRun ? [] : ["hosted_tools"])
  })
})

describe("a search asked for otherwise", () => {
  const options = { web_search_options: { search_context_size: "low" } }
  const searching: Readonly<Partial<Record<ProtocolName, JsonObject>>> = {
    chat: options,
    compatible: options,
    responses: { tools: [{ type: "web_search", search_context_size: "low" }], max_tool_calls: 10 },
    google: { tools: [{ googleSearch: {} }] },
  }
  const asking = ["/chat/completions", "/completions"].flatMap((form) =>
    protocols.map((protocol) => [form, protocol] as const),
  )

  test.each(asking)("by web_search_options of %s at a host of the protocol %s", async (form, protocol) => {
    const sent = searching[protocol]
    const asked = await priced.ask(form, protocol, options)
    if (sent === undefined) expect([asked.status, asked.sent]).toEqual([404, undefined])
    else expect([asked.status, asked.dropped, ofTools(asked.sent)]).toEqual([200, [], sent])
    const refused = await unpriced.ask(form, protocol, options)
    expect([refused.status, refused.sent]).toEqual([404, undefined])
    expect(JSON.parse(refused.text).error.metadata.excluded_by).toEqual(["hosted_tools"])
  })

  test("tools are no member of /completions", async () => {
    const { status, sent, text } = await priced.ask("/completions", "chat", { tools: [{ type: "web_search" }] })
    expect([status, sent]).toEqual([400, undefined])
    expect(text).toContain("tools: is not a member of this API format: use /chat/completions, which has tools")
  })

  test.each(protocols)("by `:online` at a host of the protocol %s", async (protocol) => {
    const online = { model: `acme/${protocol}:online` }
    const can = searching[protocol] !== undefined
    expect((await priced.ask("/chat/completions", protocol, online)).status).toBe(can ? 200 : 400)
    expect((await unpriced.ask("/chat/completions", protocol, online)).status).toBe(400)
  })
})

describe("tools that a caller allows itself", () => {
  const own = { type: "function", name: "f", parameters }
  const search = { type: "web_search" }
  const allowed = (mode: string, ...tools: ReadonlyArray<JsonObject>) => ({
    tools: [own, search],
    tool_choice: { type: "allowed_tools", mode, tools },
  })
  const f = { type: "function", name: "f" }

  test("with a search that the host has no price for were 400 at a host of the form: the search is dropped, from the choice too", async () => {
    const { status, sent, dropped } = await unpriced.ask("/responses", "responses", allowed("auto", f, search))
    expect([status, dropped, ofTools(sent)]).toEqual([
      200,
      ["tools[1]"],
      { tools: [own], tool_choice: { type: "allowed_tools", mode: "auto", tools: [f] } },
    ])
  })

  test.each(protocols)("with such a search do not keep a host of the protocol %s away", async (protocol) => {
    expect(await unpriced.ask("/responses", protocol, allowed("auto", f, search))).toMatchObject({
      status: 200,
      dropped: ["tools[1]"],
    })
    const { status } = await unpriced.ask("/responses", protocol, allowed("required", search))
    expect(status).toBe(404)
  })

  test("go as they are where the host runs the search", async () => {
    const body = allowed("auto", f, search)
    const { status, sent, dropped } = await priced.ask("/responses", "responses", body)
    expect([status, dropped, ofTools(sent)]).toEqual([200, [], { ...body, max_tool_calls: 10 }])
  })

  test("a choice of a search by another of its names goes by the tool's", async () => {
    const body = { tools: [search], tool_choice: { type: "web_search_preview_2025_03_11" } }
    const { sent } = await priced.ask("/responses", "responses", body)
    expect(sent).toMatchObject({ tools: [search], tool_choice: { type: "web_search" } })
  })
})

test("a hosted tool at a host that has no tools at all was named beside them: they are named once", async () => {
  const listing = await startHosts({ supportedParameters: ["max_tokens"] })
  try {
    for (const [path, { own, hosted }] of Object.entries(forms)) {
      const { status, dropped } = await listing.ask(path, "compatible", { tools: [own, hosted["an image generation"]] })
      expect([path, status, dropped]).toEqual([path, 200, ["tools"]])
    }
  } finally {
    await listing.stop()
  }
})
