/** Images and refusals of a model reach every client, and go back to a host of its family. */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import * as fc from "effect/FastCheck"
import { type JsonObject, objectIn, objectsIn } from "../../../src/domain/json/json.ts"
import { clients } from "../../support/formats/conversationClients.ts"
import { afterTurn, answered, type Mode, question, sentTo } from "../../support/formats/conversationTurns.ts"
import { bedrock } from "../../support/formats/families/bedrock.ts"
import { chatHost } from "../../support/formats/families/chatHost.ts"
import { type Block, type Family, joined } from "../../support/formats/families/Family.ts"
import { google } from "../../support/formats/families/google.ts"
import { openai } from "../../support/formats/families/openai.ts"
import { type ClientName, clientNames, isImage, isText, kindOf, marksIn } from "../../support/formats/marks.ts"

setDefaultTimeout(1_800_000)

const seed = 20_261_128

/** Texts, images, calls, and at most one refusal where the host has them: each is found again by its word. */
const answersOf = (family: Family) =>
  fc
    .array(fc.constantFrom("TXT", "IMG", "call", ...(family === openai || family === chatHost ? ["REF"] : [])), {
      minLength: 1,
      maxLength: 6,
    })
    .map((kinds) => kinds.filter((kind, at) => kind !== "REF" || kinds.indexOf("REF") === at))
    .map((kinds) =>
      kinds.map((kind, at): Block => {
        const signature = family === google ? { signature: `c2ln${at}` } : {}
        if (kind === "call") return { kind, id: `call_${at}`, ...signature }
        const word = `${kind}${at}`
        if (kind === "IMG") return { kind: "image", data: word, ...signature }
        return kind === "REF" ? { kind: "refusal", text: word } : { kind: "text", text: word, ...signature }
      }),
    )

const wordsOf = (blocks: ReadonlyArray<Block>): ReadonlyArray<string> =>
  blocks.flatMap((block) => (block.kind === "image" ? [block.data] : "text" in block ? [block.text] : []))

/** What each client shows of an answer. */
const shown: Readonly<Record<ClientName, (answer: JsonObject) => unknown>> = {
  chat: ({ choices }) => objectIn(objectsIn(choices)[0]?.["message"]),
  messages: ({ content, stop_details }) => [content, stop_details],
  responses: ({ output }) => output,
  generateContent: ({ candidates }) =>
    objectsIn(candidates).map(({ content, finishMessage }) => [objectIn(content)["parts"], finishMessage]),
}

const sorts = [isText, isImage, (mark: string) => kindOf(mark) === "REF"]
const sorted = (marks: ReadonlyArray<string>) => sorts.map((isOne) => marks.filter(isOne))
const placed = (marks: ReadonlyArray<string>) => marks.filter((mark) => kindOf(mark) !== "REF")

const ofKind = (blocks: ReadonlyArray<Block>, ...kinds: ReadonlyArray<Block["kind"]>) =>
  joined(blocks.filter(({ kind }) => kinds.includes(kind)))

describe.each(Object.entries({ bedrock, openai, google, chatHost }))("images and refusals of %s", (_, family) => {
  describe.each(clientNames)("to a %s client", (name) => {
    const client = clients[name]
    const isNative = family.protocol.native?.form === client.format.name
    const refusals: ReadonlyArray<Block["kind"]> = name === "chat" || name === "responses" ? ["refusal"] : []
    const takesImages = family === google || family === chatHost || isNative

    test.each<Mode>(["whole", "streamed", "wholeToStream"])("come, and go back (%s)", (mode) => {
      fc.assert(
        fc.property(answersOf(family), (blocks) => {
          const words = wordsOf(blocks)
          const answer = answered(family, client, question(client), blocks, mode)
          const marks = marksIn(shown[name](answer))
          expect(sorted(marks)).toEqual(sorted(words))
          expect(JSON.stringify(answer)).not.toContain("image/png")
          // A whole answer of another form has its images apart from the text, as a chat completion has them.
          const isInPlace = name !== "chat" && (mode === "streamed" || (mode === "whole" && isNative))
          if (isInPlace) expect(placed(marks)).toEqual(placed(words))

          const { json, dropped } = sentTo(family, client, afterTurn(family, client, question(client), blocks, mode))
          const [said = []] = family.given(json)
          if (isNative && mode !== "wholeToStream") expect(joined(said)).toEqual(joined(blocks))
          expect(ofKind(said, "call").length).toBe(ofKind(blocks, "call").length)
          // Google's parts that say nothing have signatures alone.
          const isWrittenAnew = isNative && family === google && mode === "wholeToStream"
          const kinds = ["text", "call", ...refusals] as const
          for (const kind of isWrittenAnew ? [] : kinds) expect(ofKind(said, kind)).toEqual(ofKind(blocks, kind))
          const images = ofKind(blocks, "image")
          const isLost = !takesImages && images.length > 0
          expect(dropped.filter((lost) => lost.startsWith("messages"))).toEqual(isLost ? ["messages[1].images"] : [])
          if (!isWrittenAnew) expect(ofKind(said, "image")).toEqual(takesImages ? images : [])
        }),
        { numRuns: 30, seed },
      )
    })
  })
})
