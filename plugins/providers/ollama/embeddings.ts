/** `POST /api/embed`: texts as vectors. */
import * as Either from "effect/Either"
import {
  type EmbeddingInput,
  type EmbeddingsProtocol,
  inputsOf,
  isJsonObject,
  jsonBody,
  malformed,
  Unsupported,
} from "headgate/plugin"
import type { Options } from "./Options.ts"
import { failureIn, usageOf } from "./ollamaAnswer.ts"

/** Members that the server would ignore without a word. The gateway itself writes vectors as base64. */
const lacking: ReadonlySet<string> = new Set(["input_type", "user"])
const own: ReadonlySet<string> = new Set(["__proto__", "model", "input", "encoding_format", "options", "truncate"])

export const embeddings = ({ contextTokens }: Options): EmbeddingsProtocol => ({
  passes: "any",
  encode: ({ payload }, host) => {
    const texts: Array<string> = []
    for (const [at, input] of inputsOf(payload.input).entries()) {
      const text = textIn(input)
      if (text === undefined)
        return Either.left(new Unsupported({ path: `input[${at}]`, reason: "this host takes text alone" }))
      texts.push(text)
    }
    const body: Record<string, unknown> = { model: host.upstreamModel, input: texts, truncate: false }
    const dropped: Array<string> = []
    for (const name in payload) {
      if (payload[name] == null || own.has(name)) continue
      if (lacking.has(name)) dropped.push(name)
      else body[name] = payload[name]
    }
    const given = isJsonObject(payload["options"]) ? payload["options"] : {}
    const options = contextTokens === undefined ? given : { ...given, num_ctx: contextTokens }
    if (Object.keys(options).length > 0) body["options"] = options
    return Either.right({ path: "/api/embed", ...jsonBody(body), dropped })
  },
  decode: (_head, body) => {
    if (!isJsonObject(body)) return malformed()
    const failure = failureIn(body)
    if (failure !== undefined) return failure
    const { embeddings: vectors } = body
    if (!Array.isArray(vectors)) return malformed()
    const usage = usageOf(body, false)
    return {
      data: vectors.map((embedding, index) => ({ object: "embedding", index, embedding })),
      ...(usage === undefined ? {} : { usage }),
    }
  },
})

const textIn = (input: EmbeddingInput): string | undefined => {
  if (typeof input === "string") return input
  if (!("content" in input) || !input.content.every(({ type }) => type === "text")) return undefined
  return input.content.map(({ text }) => text).join("")
}
