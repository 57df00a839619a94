/** Every client form at every host form: what is asked arrives, or the caller is told that it cannot. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { ReasoningDetail } from "../../../src/domain/request/chat.ts"
import type { ClientForm } from "../../support/forms/ClientForm.ts"
import { clientForms } from "../../support/forms/clients.ts"
import { type HostForm, hostForms } from "../../support/forms/hosts.ts"
import { bodyOf, type FormsScene, formsScene } from "../../support/forms/scene.ts"
import {
  type Answer,
  objectIn,
  type Part,
  type Turn,
  textIn,
  textPart,
  user,
  type Wishes,
} from "../../support/forms/script.ts"

let scene: FormsScene
beforeAll(async () => {
  scene = await formsScene()
})
afterAll(() => scene.stop())

const chatForms = clientForms.filter(({ isChat }) => isChat)

const tools = [
  {
    name: "look",
    description: "Looks at something.",
    parameters: { type: "object", properties: { at: { type: "string" } }, required: ["at"] },
  },
  { name: "now", description: "What time it is.", parameters: { type: "object", properties: {} } },
]

/** Each client form at each host form. */
const pairs = (clients: ReadonlyArray<ClientForm>) =>
  clients.flatMap((client) => hostForms.map((host) => [client.name, host.name, client, host] as const))

describe("members of the request", () => {
  test.each(pairs(clientForms))("%s at %s", async (_, __, client, host) => {
    // As Anthropic wants it.
    const schema = {
      type: "object",
      properties: { sum: { type: "integer" } },
      required: ["sum"],
      additionalProperties: false,
    }
    const system: Turn = { role: "system", parts: [textPart("Answer in JSON.")] }
    const asks: Wishes & { readonly turns: ReadonlyArray<Turn> } = {
      turns: client.isChat ? [system, user("What is 2 + 2? Zwölf 月 👩‍👧 \u2028")] : [user("What is 2 + 2? \u2028")],
      ...(client.isChat ? { tools } : {}),
      stop: ["END", "\n\nQ"],
      schema,
      temperature: 0.5,
    }
    scene.say({ text: "4", finish: "stop" })
    const response = await scene.post(client, host, asks)
    await bodyOf(response)
    expect(response.headers.get("x-gw-dropped")).toBeNull()
    expect(scene.asked(host)).toEqual(asks)
  })
})

describe("media", () => {
  const image: Part = { kind: "image", url: `data:image/png;base64,${btoa("a picture")}` }
  const file: Part = { kind: "file", name: "a.pdf", data: `data:application/pdf;base64,${btoa("a document")}` }
  const media: ReadonlyArray<readonly [name: string, part: Part, refusedBy: ReadonlyArray<string>]> = [
    ["an image", image, []],
    ["an image of the web", { kind: "image", url: "https://example.com/a.png?x=1&y=%20" }, []],
    ["a file", file, []],
    ["a file of the web", { kind: "file", name: "b.pdf", data: "https://example.com/b.pdf" }, []],
    ["audio", { kind: "audio", data: btoa("a sound"), format: "wav" }, ["messages"]],
    ["video", { kind: "video", url: "https://example.com/a.mp4" }, ["messages"]],
  ]
  const rows = pairs(chatForms).flatMap(([clientName, hostName, client, host]) =>
    media
      .filter(([, part]) => client.partOf(part) !== undefined)
      .map(([name, part, refusedBy]) => [name, clientName, hostName, part, refusedBy, client, host] as const),
  )
  test.each(rows)("%s, from %s to %s", async (_, __, hostName, part, refusedBy, client, host) => {
    const asks = { turns: [user("What is this?", part, "And why?")] }
    scene.say({ text: "A thing.", finish: "stop" })
    const before = scene.calls(host).length
    const response = await scene.post(client, host, asks)
    if (refusedBy.includes(hostName)) {
      const body = objectIn(await response.json())
      expect(response.status).toBe(400)
      const { message } = client.failed(body, response)
      expect(message).toContain(client.name === "responses" ? "input[0].content[1]" : "messages[0].content[1]")
      expect(scene.calls(host).length).toBe(before)
    } else {
      await bodyOf(response)
      expect(scene.asked(host).turns).toEqual(asks.turns)
    }
  })

  test.each(chatForms.map((client) => [client.name, client] as const))(
    "a file that a host has stored is refused: %s",
    async (_, client) => {
      for (const host of hostForms) {
        const response = await scene.post(client, host, {
          turns: [user("What is this?", { kind: "stored", id: "f_1" })],
        })
        const body = objectIn(await response.json())
        expect(response.status).toBe(400)
        expect(client.failed(body, response).message).toMatch(/has stored|account of the operator|operator's account/)
      }
    },
  )
})

describe("several choices", () => {
  const one = clientForms.filter(({ choices }) => choices === 1)
  test.each(one.map((client) => [client.name, client] as const))("cannot be asked for in %s", async (_, client) => {
    for (const host of hostForms) {
      const response = await scene.post(client, host, { turns: [user("hi")] }, client.several(2))
      const body = objectIn(await response.json())
      expect(response.status).toBe(400)
      expect(client.failed(body, response).message).toStartWith("n: is not known in this API format")
    }
  })
  const many = clientForms.filter(({ choices }) => choices > 1)
  test.each(many.map((client) => [client.name, client] as const))(
    "are dropped at a host of one: %s",
    async (_, client) => {
      for (const host of hostForms.filter(({ choices }) => choices === 1)) {
        scene.say({ text: "one", finish: "stop" })
        const response = await scene.post(client, host, { turns: [user("hi")] }, client.several(2))
        const body = await bodyOf(response)
        expect(response.headers.get("x-gw-dropped")).toBe("n")
        expect(client.heard(body).length).toBe(1)
      }
    },
  )
})

describe("the second turn", () => {
  const claudes = "anthropic-claude-v1"
  const openais = "openai-responses-v1"
  const reasonings: ReadonlyArray<readonly [name: string, thoughts: ReadonlyArray<ReasoningDetail>]> = [
    ["no reasoning", []],
    [
      "signed and hidden reasoning",
      [
        { type: "reasoning.text", text: "First,\nwe look.", signature: "c2ln+/==", format: claudes },
        { type: "reasoning.encrypted", data: "ZW5j+/==", format: claudes },
        { type: "reasoning.text", text: "Then 月.", signature: "c2lnMg==", format: claudes },
      ],
    ],
    ["hidden reasoning", [{ type: "reasoning.encrypted", data: "ZW5jMw==", format: claudes }]],
    [
      "a summary with encrypted reasoning",
      [
        { type: "reasoning.summary", summary: "It looks.", format: openais, id: "rs_1" },
        { type: "reasoning.encrypted", data: "Z0FBQUE+/=", format: openais, id: "rs_1" },
      ],
    ],
    [
      "text with encrypted reasoning",
      [
        { type: "reasoning.text", text: "Hm.", format: "google-gemini-v1" },
        { type: "reasoning.encrypted", data: "Z2VtaW5p", format: "google-gemini-v1", id: "tool_1" },
      ],
    ],
  ]
  const calls = [
    { id: "call_1", name: "look", input: { at: 'a "quoted" 月', n: [1, null] } },
    { id: "call_2", name: "now", input: {} },
  ]
  const saids: ReadonlyArray<readonly [name: string, said: Pick<Answer, "text" | "calls" | "finish">]> = [
    ["text and two calls", { text: "Let me see.", calls, finish: "tool_calls" }],
    ["a call without text", { calls: calls.slice(1), finish: "tool_calls" }],
    ["text", { text: "  An answer.\n", finish: "stop" }],
  ]
  const rows = pairs(chatForms).flatMap(([clientName, firstName, client, first]) =>
    reasonings
      .filter(([, thoughts]) => thoughts.every(({ format }) => first.writes(format ?? "")))
      .map(([name, thoughts]) => [clientName, firstName, name, client, first, thoughts] as const),
  )

  test.each(rows)("of %s after a host of %s has %s", async (_, __, ___, client, first, thoughts) => {
    for (const [, said] of saids) {
      for (const second of hostForms) {
        for (const stream of [false, true]) await secondTurn(client, first, second, { thoughts, ...said }, stream)
      }
    }
  })

  const secondTurn = async (
    client: ClientForm,
    first: HostForm,
    second: HostForm,
    answer: Answer,
    stream: boolean,
  ): Promise<void> => {
    const turns: ReadonlyArray<Turn> = [{ role: "system", parts: [textPart("Be brief.")] }, user("What is there?")]
    scene.say(answer)
    const response = await scene.post(client, first, { turns, tools }, { stream })
    expect(response.status).toBe(200)
    const body = stream ? client.assembled(await response.text()) : await bodyOf(response)
    const { thoughts = [], text = "", calls: made = [] } = answer
    const results = made.map(({ id }): Turn => ({ role: "result", id, text: `what ${id} found: 月` }))
    const next = results.length > 0 ? results : [user("Go on.")]
    scene.say({ text: "Done.", finish: "stop" })
    const asks = { turns: [...turns, { role: "assistant", items: client.given(body) } as const, ...next], tools }
    const again = await scene.post(client, second, asks)
    await bodyOf(again)
    expect(again.headers.get("x-gw-dropped")).toBeNull()
    expect(scene.asked(second).turns).toEqual([
      ...turns,
      {
        role: "assistant",
        // Other vendors' reasoning is not sent to a host that would refuse it.
        thoughts: thoughts.filter(({ format }) => second.writes(textIn(format))),
        text,
        refusal: "",
        calls: made,
      },
      ...next,
    ])
  }
})
