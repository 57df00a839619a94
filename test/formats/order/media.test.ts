/** Texts and media reach hosts in the order in which a client gives them, or what is lost is named. */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import * as fc from "effect/FastCheck"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { chatUser, clients } from "../../support/formats/conversationClients.ts"
import { sentTo } from "../../support/formats/conversationTurns.ts"
import { families } from "../../support/formats/families/families.ts"
import { google } from "../../support/formats/families/google.ts"
import { openai } from "../../support/formats/families/openai.ts"

setDefaultTimeout(1_800_000)

/** Texts and images of a turn: each is found again in any form by its own word. */
const marks = fc
  .array(fc.boolean(), { minLength: 1, maxLength: 5 })
  .map((all) => all.map((isImage, at) => (isImage ? `IMG${at}` : `TXT${at}`)))
const marksIn = (sent: unknown): ReadonlyArray<string> => JSON.stringify(sent).match(/(?:IMG|TXT)\d/g) ?? []

/** A turn of the user with these, in each client's words. */
const mediaOf: Readonly<Record<keyof typeof clients, (words: ReadonlyArray<string>) => JsonObject>> = {
  chat: (words) => ({ role: "user", content: words.map((word) => (isImage(word) ? chatImage(word) : chatText(word))) }),
  messages: (words) => ({
    role: "user",
    content: words.map((word) => {
      const source = { type: "base64", media_type: "image/png", data: word }
      return isImage(word) ? { type: "image", source } : chatText(word)
    }),
  }),
  responses: (words) => ({
    role: "user",
    content: words.map((word) =>
      isImage(word) ? { type: "input_image", image_url: dataUrl(word) } : { type: "input_text", text: word },
    ),
  }),
  generateContent: (words) => ({
    role: "user",
    parts: words.map((word) => (isImage(word) ? inlineImage(word) : { text: word })),
  }),
}
const isImage = (word: string): boolean => word.startsWith("IMG")
const dataUrl = (data: string): string => `data:image/png;base64,${data}`
const chatText = (text: string): JsonObject => ({ type: "text", text })
const chatImage = (data: string): JsonObject => ({ type: "image_url", image_url: { url: dataUrl(data) } })
const inlineImage = (data: string): JsonObject => ({ inlineData: { mimeType: "image/png", data } })

const clientNames = ["chat", "messages", "responses", "generateContent"] as const

describe.each(Object.entries(families))("what a host of %s is given", (_, family) => {
  test.each(clientNames)("texts and images of the user in order, from a %s client", (name) => {
    fc.assert(
      fc.property(marks, (words) => {
        const { json, dropped } = sentTo(family, clients[name], [mediaOf[name](words)])
        expect([marksIn(json), dropped]).toEqual([words, []])
      }),
      { numRuns: 30, seed: 20_261_128 },
    )
  })

  test("images that a model made, or their place in what is dropped, from a chat client", () => {
    fc.assert(
      fc.property(marks, (words) => {
        const images = words.filter(isImage).map(chatImage)
        const said = { role: "assistant", content: "TXT9", ...(images.length === 0 ? {} : { images }) }
        const { json, dropped } = sentTo(family, clients.chat, [chatUser("x"), said, chatUser("y")])
        const isCarried = family === google || images.length === 0
        expect(dropped).toEqual(isCarried ? [] : ["messages[1].images"])
        expect(marksIn(json)).toEqual(["TXT9", ...(isCarried ? words.filter(isImage) : [])])
      }),
      { numRuns: 30, seed: 20_261_128 },
    )
  })

  test.each(["refusal", "content"])("a refusal in %s, from a chat client", (place) => {
    const content = [{ type: "refusal", refusal: "TXT1" }]
    const said = { role: "assistant", ...(place === "content" ? { content } : { content: "", refusal: "TXT1" }) }
    const { json, dropped } = sentTo(family, clients.chat, [chatUser("x"), said, chatUser("y")])
    expect([marksIn(json), dropped]).toEqual([["TXT1"], []])
    if (family === openai) expect(JSON.stringify(json)).toContain('{"type":"refusal","refusal":"TXT1"}')
  })
})
