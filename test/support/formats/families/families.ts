/** All families, and what their models may say, generated. */
import * as fc from "effect/FastCheck"
import { anthropic } from "./anthropic.ts"
import { bedrock } from "./bedrock.ts"
import type { Block, Family } from "./Family.ts"
import { google } from "./google.ts"
import { openai } from "./openai.ts"

export const families = { anthropic, bedrock, openai, google }

const word = fc.string({ unit: fc.constantFrom("a", "b", "é", "💡"), minLength: 1, maxLength: 6 })

/** What a host of the family may say. `of`: begins the ids of its calls. */
export const answersOf = ({ mayHide, signsAll = false }: Family, of = "call") =>
  fc
    .array(
      fc.oneof(
        fc
          .tuple(word, word)
          .map(([text, signature]): Block => ({ kind: "thought", text, signature: `sig${signature}` })),
        word.map((text): Block => ({ kind: "text", text })),
        fc.constant<Block>({ kind: "call", id: "" }),
        ...(mayHide ? [word.map((data): Block => ({ kind: "hidden", data: `hid${data}` }))] : []),
      ),
      { minLength: 1, maxLength: 7 },
    )
    .map((blocks) =>
      blocks.map((block, at): Block => {
        const signature = signsAll ? { signature: `c2ln${at}` } : {}
        if (block.kind === "call") return { kind: "call", id: `${of}_${at}`, ...signature }
        return block.kind === "text" ? { ...block, ...signature } : block
      }),
    )
    // An answer says something besides reasoning.
    .filter((blocks) => blocks.some(({ kind }) => kind === "text" || kind === "call"))
