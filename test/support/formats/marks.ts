/** Texts and media that are found again in any form by their own word: `TXT0`, `IMG1`, `PDF2`, `SND3`. */
import * as fc from "effect/FastCheck"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import type { clients } from "./conversationClients.ts"

export type MarkKind = "TXT" | "IMG" | "PDF" | "SND" | "REF"

export const kindOf = (mark: string): string => mark.slice(0, 3)
export const isText = (mark: string): boolean => kindOf(mark) === "TXT"
export const isImage = (mark: string): boolean => kindOf(mark) === "IMG"

/** Some of these kinds, numbered from `first`. */
export const marksOf = (kinds: ReadonlyArray<MarkKind>, first = 0) =>
  fc
    .array(fc.constantFrom(...kinds), { minLength: 1, maxLength: 5 })
    .map((all) => all.map((kind, at) => `${kind}${first + at}`))

/** All marks in what a client or a host gets, in order. Encrypted reasoning may have one within other letters by chance. */
export const marksIn = (sent: unknown): ReadonlyArray<string> =>
  (
    JSON.stringify(sent)
      .replaceAll("\\n", " ")
      .match(/(?<![\w+/])(?:(?:TXT|IMG|PDF|SND|REF)\d ?)+(?![\w+/=])/g) ?? []
  ).flatMap((words) => words.match(/[A-Z]{3}\d/g) ?? [])

export type ClientName = keyof typeof clients
export const clientNames = ["chat", "messages", "responses", "generateContent"] as const

const mediaTypes: Readonly<Record<string, string>> = { IMG: "image/png", PDF: "application/pdf", SND: "audio/wav" }
const typeOf = (mark: string): string => mediaTypes[kindOf(mark)] ?? ""
const dataUrl = (mark: string): string => `data:${typeOf(mark)};base64,${mark}`

export const chatText = (text: string): JsonObject => ({ type: "text", text })
export const chatImage = (mark: string): JsonObject => ({ type: "image_url", image_url: { url: dataUrl(mark) } })
export const messagesImage = (mark: string): JsonObject => blockOf("image", mark)
const inlinePart = (mark: string): JsonObject => ({ inlineData: { mimeType: typeOf(mark), data: mark } })

const blockOf = (type: string, mark: string): JsonObject => ({
  type,
  source: { type: "base64", media_type: typeOf(mark), data: mark },
})

const sound = (mark: string): JsonObject => ({ type: "input_audio", input_audio: { data: mark, format: "wav" } })

/** A part of a turn of the user, or of the result of a tool. */
const partOf: Readonly<Record<ClientName, (mark: string) => JsonObject>> = {
  chat: (mark) => {
    if (isText(mark)) return chatText(mark)
    if (isImage(mark)) return chatImage(mark)
    const file = { filename: "a.pdf", file_data: dataUrl(mark) }
    return kindOf(mark) === "PDF" ? { type: "file", file } : sound(mark)
  },
  messages: (mark) => (isText(mark) ? chatText(mark) : isImage(mark) ? messagesImage(mark) : blockOf("document", mark)),
  responses: (mark) => {
    if (isText(mark)) return { type: "input_text", text: mark }
    if (isImage(mark)) return { type: "input_image", image_url: dataUrl(mark) }
    const file = { filename: "a.pdf", file_data: dataUrl(mark) }
    return kindOf(mark) === "PDF" ? { type: "input_file", ...file } : sound(mark)
  },
  generateContent: (mark) => (isText(mark) ? { text: mark } : inlinePart(mark)),
}

/** A turn of the user with these. */
export const userTurn = (name: ClientName, marks: ReadonlyArray<string>): JsonObject => {
  const parts = marks.map(partOf[name])
  return name === "generateContent" ? { role: "user", parts } : { role: "user", content: parts }
}

/** The results of calls, each with these. */
export const resultsOf = (
  name: ClientName,
  results: ReadonlyArray<readonly [call: string, marks: ReadonlyArray<string>]>,
): ReadonlyArray<JsonObject> => {
  const each = results.map(([call, marks]) => [call, marks.map(partOf[name]), marks] as const)
  switch (name) {
    case "chat":
      return each.map(([tool_call_id, content]) => ({ role: "tool", tool_call_id, content }))
    case "messages":
      return [
        {
          role: "user",
          content: each.map(([tool_use_id, content]) => ({ type: "tool_result", tool_use_id, content })),
        },
      ]
    case "responses":
      return each.map(([call_id, output]) => ({ type: "function_call_output", call_id, output }))
    case "generateContent": {
      // The form has the texts of a result apart from its media.
      const parts = each.map(([id, , marks]) => ({
        functionResponse: {
          ...{ id, name: "weather", response: { output: marks.filter(isText).join(" ") } },
          parts: marks.filter((mark) => !isText(mark)).map(inlinePart),
        },
      }))
      return [{ role: "user", parts }]
    }
  }
}
