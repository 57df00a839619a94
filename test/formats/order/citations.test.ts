/** Citations stay with the text that they belong to, and do not keep a conversation from going back. */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import * as fc from "effect/FastCheck"
import { type JsonObject, objectIn, objectsIn } from "../../../src/domain/json/json.ts"
import { clients } from "../../support/formats/conversationClients.ts"
import { afterTurn, question, turnsAt } from "../../support/formats/conversationTurns.ts"
import { anthropic } from "../../support/formats/families/anthropic.ts"
import { type Block, joined, textIn } from "../../support/formats/families/Family.ts"
import { answersOf } from "../../support/formats/families/families.ts"
import { openai } from "../../support/formats/families/openai.ts"

setDefaultTimeout(1_800_000)

/** What is said and the addresses that it cites, as a client sees it. Texts are those that stand at the places. */
const citedIn: Readonly<Record<"chat" | "messages" | "responses", (said: JsonObject) => ReadonlyArray<unknown>>> = {
  chat: ({ content, annotations }) =>
    objectsIn(annotations).map(({ url_citation: cited }) => placed(textIn(content), objectIn(cited))),
  messages: ({ content }) =>
    objectsIn(content).flatMap(({ text, citations }) => objectsIn(citations).map(({ url }) => [text, url])),
  responses: ({ content }) =>
    objectsIn(content).flatMap(({ text, annotations }) =>
      objectsIn(annotations).map((one) => placed(textIn(text), one)),
    ),
}
const placed = (text: string, { url, start_index: from, end_index: to }: JsonObject) => [
  text.slice(Number(from), Number(to)),
  url,
]

describe.each(Object.entries({ anthropic, openai }))("citations of %s", (_, family) => {
  test.each(
    (["chat", "messages", "responses"] as const).flatMap((name) =>
      (["whole", "streamed", "wholeToStream"] as const).map((mode) => [name, mode] as const),
    ),
  )("stay with their text: %s, %s", (name, mode) => {
    fc.assert(
      fc.property(answersOf(family), (given) => {
        const blocks = given.map((block, at) =>
          block.kind === "text" ? { ...block, text: `${block.text}${at}`, url: `https://c.test/${at}` } : block,
        )
        const client = clients[name]
        const said = afterTurn(family, client, question(client), blocks, mode)
        const cited = blocks.flatMap((block) => (block.kind === "text" ? [[block.text, block.url]] : []))
        // Texts that follow each other may be one block of the Messages form, whose citations have no places in it.
        const holding = cited.map(([text, url]) => [expect.stringContaining(text ?? ""), url])
        expect(said.flatMap(citedIn[name])).toEqual(name === "messages" ? holding : cited)
        // They do not keep the conversation from going back.
        const turns = turnsAt(family, client, said)
        const plain = blocks.map((block): Block => (block.kind === "text" ? { kind: "text", text: block.text } : block))
        expect(turns.map(joined)).toEqual([joined(plain)])
      }),
      { numRuns: 40, seed: 20_261_128 },
    )
  })
})
