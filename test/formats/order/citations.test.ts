/** Citations stay with the text that they belong to, and do not keep a conversation from going back. */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import * as fc from "effect/FastCheck"
import { type JsonObject, objectIn, objectsIn } from "../../../src/domain/json/json.ts"
import { clients } from "../../support/formats/conversationClients.ts"
import { afterTurn, answered, type Mode, question, sentTo, turnsAt } from "../../support/formats/conversationTurns.ts"
import { anthropic } from "../../support/formats/families/anthropic.ts"
import { type Block, joined, spoken, textIn } from "../../support/formats/families/Family.ts"
import { answersOf, families } from "../../support/formats/families/families.ts"
import { google } from "../../support/formats/families/google.ts"
import { openai } from "../../support/formats/families/openai.ts"
import { type ClientName, clientNames } from "../../support/formats/marks.ts"

setDefaultTimeout(1_800_000)

/** The texts and the addresses that they cite, as each client sees them. Texts are those that stand at the places. */
const citedIn: Readonly<Record<ClientName, (answer: JsonObject) => ReadonlyArray<readonly [unknown, unknown]>>> = {
  chat: ({ choices }) => {
    const { content, annotations } = objectIn(objectsIn(choices)[0]?.["message"])
    return objectsIn(annotations).map(({ url_citation: cited }) => placed(textIn(content), objectIn(cited)))
  },
  messages: ({ content }) =>
    objectsIn(content).flatMap(({ text, citations }) => objectsIn(citations).map(({ url }) => [text, url] as const)),
  responses: ({ output }) =>
    objectsIn(output)
      .flatMap(({ content }) => objectsIn(content))
      .flatMap(({ text, annotations }) => objectsIn(annotations).map((one) => placed(textIn(text), one))),
  generateContent: ({ candidates }) =>
    objectsIn(candidates).flatMap(({ groundingMetadata: grounding }) => {
      const { groundingChunks: chunks, groundingSupports: supports } = objectIn(grounding)
      const urls = objectsIn(chunks).map(({ web }) => objectIn(web)["uri"])
      if (supports === undefined) return urls.map((url) => [undefined, url] as const)
      return objectsIn(supports).map(({ segment }, at) => [objectIn(segment)["text"], urls[at]] as const)
    }),
}
const placed = (text: string, { url, start_index: from, end_index: to }: JsonObject) =>
  [text.slice(Number(from), Number(to)), url] as const

describe.each(Object.entries(families))("citations of %s", (_, family) => {
  describe.each(clientNames)("to a %s client", (name) => {
    const client = clients[name]
    const isNative = family.protocol.native?.form === client.format.name

    test.each<Mode>(["whole", "streamed", "wholeToStream"])(
      "stay with their text, and disturb no host (%s)",
      (mode) => {
        fc.assert(
          fc.property(answersOf(family), (given) => {
            const blocks = given.map((block, at) =>
              block.kind === "text" ? { ...block, text: `${block.text}${at}`, url: `https://c.test/${at}` } : block,
            )
            const cited = blocks.flatMap((block) => (block.kind === "text" ? [[block.text, block.url] as const] : []))
            const seen = citedIn[name](answered(family, client, question(client), blocks, mode))
            expect(seen.map(([, url]) => url)).toEqual(cited.map(([, url]) => url))
            // Texts that have ended take no more citations, and Google cites at the end of a stream.
            const isLate = family === google && mode === "streamed" && name !== "chat"
            // Google's clients get sources without places, unless events pass as they came.
            const hasPlaces = name === "generateContent" ? isNative && mode !== "wholeToStream" : !isLate || isNative
            for (const [at, [text]] of hasPlaces ? seen.entries() : []) {
              const own = cited[at]?.[0] ?? ""
              // In the Messages form, adjacent texts may be one block, whose citations have no places in it.
              expect(text).toEqual(name === "messages" ? expect.stringContaining(own) : own)
            }

            const said = afterTurn(family, client, question(client), blocks, mode)
            const plain = blocks.map((block): Block => {
              if (block.kind !== "text") return block
              const { url: _, ...rest } = block
              return rest
            })
            const isWrittenAnew = isNative && family === google && mode === "wholeToStream"
            if (!isWrittenAnew) expect(turnsAt(family, client, said).map(joined)).toEqual([joined(plain)])
            for (const next of Object.values(families)) {
              const { json } = sentTo(next, client, said)
              expect(next.given(json).map(spoken)).toEqual([spoken(plain)])
              const sent = JSON.stringify(json)
              // What hosts refuse of what others say.
              expect(sent).not.toContain('"encrypted_index":""')
              if (next === anthropic) expect(sent).not.toContain('"text":""')
              if (next === openai) expect(sent).not.toContain('"content":"c"')
              const areOwn = next === anthropic && family === anthropic && isNative && mode !== "wholeToStream"
              if (areOwn) expect(sent.match(/"encrypted_index":"e"/g) ?? []).toHaveLength(cited.length)
            }
          }),
          { numRuns: 20, seed: 20_261_128 },
        )
      },
    )
  })
})
