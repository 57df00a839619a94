import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import type { Provider } from "headgate/plugin"
import google from "./index.ts"

const provider: Provider = await Promise.resolve(Either.getOrThrow(google.load({})))

describe("the plugin", () => {
  test("has Google's address and its way of authentication", () => {
    expect(google).toMatchObject({
      id: "google-ai-studio",
      baseUrl: "https://generativelanguage.googleapis.com/v1beta",
      auth: { _tag: "Header", name: "x-goog-api-key" },
      keyVariable: ["GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY"],
    })
    expect(Object.keys(provider.protocols)).toEqual(["generate_content"])
    expect(provider.embeddings).toBeDefined()
  })

  test("has no configuration of its own", () => expect(Either.isLeft(google.load({ project: "a" }))).toBe(true))

  test.each([
    ["gemini-2.0-flash", 0.25],
    ["gemini-2.5-pro", 0.1],
    ["gemini-3.8-flash", 0.1],
  ])("%s reads its cache for %d of the price", (model, read) => {
    expect(provider.cacheMultipliers?.({ model, baseUrl: "https://x.example" })).toEqual({ read })
  })

  test("an invalid key is the operator's matter, although it comes as 400", () => {
    const details = [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" }]
    const body = { error: { code: 400, message: "API key not valid.", status: "INVALID_ARGUMENT", details } }
    const { reason, detail } = provider.error(400, new Headers(), body)
    expect([reason as string, detail]).toEqual(["account", undefined])
  })
})
