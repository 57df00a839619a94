/**
 * What a host finds wrong with a request, in its own words, through every form: agents mend the request by them. docs/guarantees.md#g10
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import type { ClientForm } from "../../support/forms/ClientForm.ts"
import { clientForms } from "../../support/forms/clients.ts"
import { type HostForm, hostForms, inTwoParts } from "../../support/forms/hosts.ts"
import { type FormsScene, formsScene } from "../../support/forms/scene.ts"
import { objectIn, user } from "../../support/forms/script.ts"
import { unaryScene } from "../../support/hosts/unaryHosts.ts"

let scene: FormsScene
beforeAll(async () => {
  scene = await formsScene()
})
afterAll(() => scene.stop())

/** Texts on which Claude Code 2.0.76 acts. */
const sentences = [
  "prompt is too long: 210034 tokens > 200000 maximum",
  "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000, decrease input length or `max_tokens`",
  "messages.3.content.1.image.source.base64: image exceeds 5 MB maximum: 6291456 bytes > 5242880 bytes",
  "messages.1.content.0: image dimensions exceed max allowed size for many-image requests: 2000 pixels",
  "The PDF specified is password protected.",
  "messages.4: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_01.",
]

/** As pi, opencode and Cline look for a prompt that is too long. */
const agentsKnow = /prompt is too long|maximum context length is \d+ tokens|context[_ ]length[_ ]exceeded/i
/** As Claude Code does. */
const claudeCodeKnows = /prompt is too long|input length and `max_tokens` exceed context limit: \d+ \+ \d+ > \d+/

const question = { turns: [user("What is there?")] }

const bodyOf = (message: string) => ({ type: "error", error: { type: "invalid_request_error", message } })

const errorEvent = ({ name }: HostForm, message: string): string =>
  name === "messages"
    ? `event: error\ndata: ${JSON.stringify(bodyOf(message))}\n\n`
    : `data: ${JSON.stringify({ error: { code: 400, message } })}\n\n`

const rows = clientForms.flatMap((client) => hostForms.map((host) => [client.name, host.name, client, host] as const))

const errorTypeOf = (message: string): string =>
  /too long|exceed context limit/.test(message) ? "context_length_exceeded" : "invalid_request"

const shownAs = (client: ClientForm, host: HostForm, message: string): string => {
  if (client.name === "messages" && host.name === "messages") return message
  const written = `${host.name} rejected the request: ${message}`
  const isKnown = errorTypeOf(message) !== "context_length_exceeded" || message.includes("prompt is too long")
  if (client.name !== "messages" && !isKnown) return `${written} (context_length_exceeded).`
  return written.endsWith(".") ? written : `${written}.`
}

describe("the host's sentence was nowhere in Messages, and beside the message elsewhere:", () => {
  test.each(rows)("%s at %s", async (_, __, client, host) => {
    for (const sentence of sentences) {
      const type = errorTypeOf(sentence)
      const says = shownAs(client, host, sentence)
      for (const status of [400, 413, 422]) {
        scene.answers = () => Response.json(bodyOf(sentence), { status })
        for (const stream of [false, true]) {
          const response = await scene.post(client, host, question, { stream })
          expect(response.status).toBe(400)
          const body = objectIn(await response.json())
          expect(client.failed(body, response)).toEqual({ type, message: says })
          const error = objectIn(body["error"])
          if (client.name !== "messages") expect(error["code"]).toBe(400)
          if (client.name === "responses") expect(error["type"]).toBe(type)
          if (client.name !== "messages") expect(objectIn(error["metadata"])["raw"]).toBe(sentence)
        }
      }
      // Before the first event, and after a word.
      const events = host.events([{ text: "Let me see.", finish: "stop" }])
      const { answer, goOn } = inTwoParts(events.slice(0, host.silent + 1), [errorEvent(host, sentence)])
      scene.answers = answer
      const response = await scene.post(client, host, question, { stream: true })
      goOn()
      expect(response.status).toBe(200)
      const text = await response.text()
      // A response that becomes too long while it is written ends as incomplete.
      if (client.name === "responses" && type === "context_length_exceeded")
        expect(text).toContain("response.incomplete")
      else expect(client.broken(client.assembled(text))).toEqual({ type, message: says })
    }
  })
})

test("a rate limit of every host has the host's sentence too", async () => {
  for (const client of clientForms) {
    for (const host of hostForms) {
      scene.answers = () => Response.json({ error: { message: "Slow down: 5 of 5." } }, { status: 429 })
      const response = await scene.post(client, host, question)
      expect(response.status).toBe(429)
      const isAlone = client.name === "messages" && host.name === "messages"
      expect(client.failed(objectIn(await response.json()), response).message).toBe(
        `${isAlone ? "" : `${host.name} rejected the request: `}Slow down: 5 of 5.`,
      )
    }
  }
})

test("a host's sentence about an account, a permission or itself still reaches nobody", async () => {
  for (const client of clientForms) {
    for (const host of hostForms) {
      for (const status of [401, 402, 403, 404, 405, 424, 500, 503]) {
        scene.answers = () => Response.json(bodyOf("it is about org-77"), { status })
        expect(await (await scene.post(client, host, question)).text()).not.toContain("org-77")
      }
      scene.answers = () => Response.json(bodyOf("Your credit balance is too low, org-77"), { status: 400 })
      const response = await scene.post(client, host, question)
      expect(response.status).toBe(502)
      expect(await response.text()).not.toContain("org-77")
    }
  }
})

/** Vendors' own words for a prompt that is too long. */
const tooLong: ReadonlyArray<readonly [vendor: string, status: number, message: string, code?: string]> = [
  ["OpenAI", 400, "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000."],
  ["OpenAI, Responses", 400, "Your input exceeds the context window of this model. Please adjust your input."],
  ["vLLM", 400, "The decoder prompt (length 9000) is longer than the maximum model length of 8192"],
  ["Moonshot", 400, "Invalid request: Your request exceeded model token limit: 131072"],
  ["xAI", 400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."],
  ["Alibaba", 400, "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]"],
  ["Z.AI", 400, "Prompt exceeds max length", "1261"],
  ["Together", 422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000"],
  ["Perplexity", 400, "The total length of all messages is too long"],
  ["GitHub Models", 413, "Request body too large for gpt-5 model. Max size: 8000 tokens.", "tokens_limit_reached"],
  ["Bedrock", 400, "Input is too long for requested model."],
  ["Google", 400, "The input token count (9000) exceeds the maximum number of tokens allowed (8192)."],
  [
    "Mistral",
    400,
    "Prompt contains 9000 tokens and 0 draft tokens, too large for model with 8192 maximum context length",
  ],
  ["Cohere", 400, "too many tokens: total number of tokens in the prompt cannot exceed 4081"],
  ["Groq", 400, "Please reduce the length of the messages or completion."],
  ["llama.cpp", 400, "the request exceeds the available context size, try increasing it"],
  ["Ollama", 400, "prompt too long; exceeded max context length by 4 tokens"],
  ["LM Studio", 400, "The number of tokens to keep from the initial prompt is greater than the context length"],
  ["MiniMax", 400, "invalid params, context window exceeds limit"],
]

test.each(tooLong)(
  "too long in the words of %s was no reason to try a longer context",
  async (...[, status, message, code]) => {
    scene.answers = () =>
      Response.json(
        { error: { message, ...(code === undefined ? {} : { code, type: "invalid_request_error" }) } },
        { status },
      )
    for (const client of clientForms) {
      for (const host of hostForms) {
        const response = await scene.post(client, host, question)
        const failed = client.failed(objectIn(await response.json()), response)
        expect(failed.type).toBe("context_length_exceeded")
        if (client.name !== "messages") expect(failed.message).toMatch(agentsKnow)
        else if (host.name !== "messages") expect(failed.message).toMatch(claudeCodeKnows)
      }
    }
  },
)

test("our own refusal of a prompt that is too long was one clumsy sentence for all formats", async () => {
  const long = { turns: [user("word ".repeat(400_000))] }
  for (const client of clientForms) {
    const response = await scene.post(client, hostForms[0], long)
    const { type, message } = client.failed(objectIn(await response.json()), response)
    expect(type).toBe("context_length_exceeded")
    // 400,000 words of four letters and a blank, at 16 bytes a token.
    expect(message).toBe(
      client.name === "messages"
        ? "prompt is too long: 125000 tokens > 100000 maximum"
        : "This model's maximum context length is 100000 tokens, but the request has at least 125000.",
    )
  }
})

test.each(["embeddings", "rerank"] as const)("%s: the host's sentence", async (operation) => {
  const unary = await unaryScene(operation, {
    acme: () => Response.json({ error: { message: "input 3 is empty" } }, { status: 422 }),
  })
  try {
    const asked = operation === "embeddings" ? { input: "hi" } : { query: "hi", documents: ["a", "b"] }
    const response = await unary.post(asked)
    expect(response.status).toBe(400)
    expect(objectIn(objectIn(await response.json())["error"])["message"]).toBe(
      "acme rejected the request: input 3 is empty.",
    )
  } finally {
    await unary.stop()
  }
})
