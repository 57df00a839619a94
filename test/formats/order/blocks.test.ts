/**
 * What a model said goes back to a host of its family unmodified and in the same order, whatever format the client
 * speaks, whole and streamed. docs/guarantees.md#g39
 */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import * as fc from "effect/FastCheck"
import { generateContent } from "../../../src/formats/generateContent/generateContentClient.ts"
import { type Client, clients, codex, opencode } from "../../support/formats/conversationClients.ts"
import { afterTurn, type Mode, question, turnsAt } from "../../support/formats/conversationTurns.ts"
import { type Block, type Family, joined, signaturesIn, spoken } from "../../support/formats/families/Family.ts"
import { answersOf, families } from "../../support/formats/families/families.ts"
import { google } from "../../support/formats/families/google.ts"
import { openai } from "../../support/formats/families/openai.ts"

setDefaultTimeout(1_800_000)

/** Where Google's client gets a whole answer of Google's as a stream, signatures are parts of their own. */
const isWrittenAnew = (family: Family, { format }: Client, mode: Mode): boolean =>
  family === google && format === generateContent && mode === "wholeToStream"

describe.each(Object.entries(families))("an answer of %s", (_, family) => {
  describe.each(Object.entries({ ...clients, codex, opencode }))("to a %s client", (_name, client) => {
    test.each<Mode>(["whole", "streamed", "wholeToStream"])("comes back in any order (%s)", (mode) => {
      fc.assert(
        fc.property(answersOf(family), (blocks) => {
          const turns = turnsAt(family, client, afterTurn(family, client, question(client), blocks, mode))
          if (isWrittenAnew(family, client, mode)) {
            expect(turns.map(spoken)).toEqual([spoken(blocks)])
            expect(turns.map(signaturesIn)).toEqual([signaturesIn(blocks)])
          } else expect(turns.map(joined)).toEqual([joined(blocks)])
        }),
        { numRuns: 200, seed: 20_261_128 },
      )
    })

    test.each(Object.entries(families).filter(([, other]) => other !== family))(
      "comes back after a turn at %s",
      (__, other) => {
        fc.assert(
          fc.property(
            answersOf(family),
            answersOf(other, "other"),
            fc.constantFrom<Mode>("whole", "streamed"),
            (blocks, between, mode) => {
              const first = afterTurn(family, client, question(client), blocks, mode)
              turnsAt(other, client, first)
              const second = afterTurn(other, client, first, between, mode)
              const [own = [], others = []] = turnsAt(family, client, second)
              expect(joined(own)).toEqual(joined(blocks))
              // Reasoning of one family is nothing to another.
              expect(spoken(others)).toEqual(spoken(between))
            },
          ),
          { numRuns: 30, seed: 20_261_128 },
        )
      },
    )
  })
})

test("reasoning in two pieces behind a call was taken apart at another place, from Google's clients", () => {
  const [client, thought] = [clients.generateContent, { kind: "thought", text: "a", signature: "siga" } as const]
  const blocks: ReadonlyArray<Block> = [{ kind: "call", id: "call_0" }, thought, { ...thought, text: "b" }]
  expect(turnsAt(openai, client, afterTurn(openai, client, question(client), blocks, "whole"))).toEqual([blocks])
})
