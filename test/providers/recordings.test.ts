/**
 * What was recorded of vendors of the chat completion protocol, through each vendor's own plugin: their answers and errors, and
 * that it would send what clients sent. `openai`, `openai-compatible` and vendors of other protocols have files of their own.
 */
import { describe, expect, test } from "bun:test"
import { isJsonObject, type JsonObject } from "../../src/domain/json/json.ts"
import { routerOnly } from "../../src/domain/request/request.ts"
import { providerOfPlugin } from "../support/hosts/providers.ts"
import { chatRecordingTests } from "../support/recordings/chatRecordings.ts"
import { providerOf } from "../support/recordings/recordedTable.ts"
import { encodedBy, hostFor, type RecordedCase, recordings, requestWith } from "../support/recordings/recordings.ts"

/** The vendors, and how many cases there are of each. */
const vendors: Readonly<Record<string, number>> = {
  azure: 12,
  cerebras: 1,
  deepseek: 11,
  groq: 13,
  huggingface: 2,
  llamacpp: 12,
  minimax: 1,
  mistral: 13,
  openrouter: 21,
  perplexity: 2,
  together: 9,
  vllm: 9,
  xai: 7,
  "z-ai": 1,
}

const all = recordings("openai-chat")

const bounds = ["max_tokens", "max_completion_tokens"]
const added = new Set([...bounds, "model", "stream", "stream_options"])

/** Members that a plugin sends and that a client did not, with the reason. */
const more: Readonly<Record<string, ReadonlyArray<string>>> = {
  // The client asked for an effort only: the host thinks by default.
  deepseek: ["thinking"],
}

/** Requests that a client wrote in another way for the same meaning. */
const otherwise: Readonly<Record<string, string>> = {
  "mistral/chat-test-multimodal-tool-return-matrix-tool-return-content-binar-451663":
    "an empty content is a list there, and a tool has no type",
}

/** What stays of a request once the router's own members and those that the gateway sets are left out. */
const essence = (body: JsonObject, except: ReadonlyArray<string> = []): JsonObject =>
  Object.fromEntries(
    Object.entries(body).filter(([name]) => !added.has(name) && !routerOnly.has(name) && !except.includes(name)),
  )

const boundOf = (body: JsonObject): number | undefined => {
  const bound = bounds.map((name) => body[name]).find((value) => typeof value === "number")
  return typeof bound === "number" ? bound : undefined
}

const hasBody = (recorded: RecordedCase): boolean =>
  isJsonObject(recorded.request?.body) && otherwise[recorded.id] === undefined

for (const [vendor, count] of Object.entries(vendors)) {
  const provider = await providerOfPlugin(vendor)
  const cases = all.filter((recorded) => providerOf(recorded) === vendor)
  describe(vendor, () => {
    chatRecordingTests(provider, cases, count)

    test.each(cases.filter(hasBody).map((recorded) => [recorded.id, recorded] as const))(
      "%s: the request is what the client sent",
      (_id, { request, stream, model }) => {
        const body = isJsonObject(request?.body) ? request.body : {}
        const { chat } = provider.protocols
        if (chat === undefined) throw new Error("no chat protocol")
        const asked = requestWith(body, { stream, maxTokens: boundOf(body) })
        const sent = encodedBy(chat, asked, hostFor(model ?? "model"))
        expect(essence(sent.body, body["thinking"] === undefined ? more[vendor] : [])).toEqual(essence(body))
        expect(boundOf(sent.body)).toEqual(boundOf(body))
        expect(sent.dropped).toEqual([])
      },
    )
  })
}
