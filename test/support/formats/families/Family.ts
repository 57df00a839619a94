/** Hosts as tests of conversations see them: those whose reasoning has one format, and what their models may say. */
import { type JsonObject, objectsIn, textOr } from "../../../../src/domain/json/json.ts"
import type { Protocol } from "../../../../src/formats/Protocol.ts"

/** What a model may say, in the words of no vendor. */
export type Block =
  | { readonly kind: "thought"; readonly text: string; readonly signature: string }
  | { readonly kind: "hidden"; readonly data: string }
  | { readonly kind: "text"; readonly text: string; readonly signature?: string; readonly url?: string }
  | { readonly kind: "call"; readonly id: string; readonly signature?: string }
  /** `data`: base64 of a JPEG. */
  | { readonly kind: "image"; readonly data: string; readonly signature?: string }
  | { readonly kind: "refusal"; readonly text: string }

/** How a host answers. */
export interface Speaker {
  readonly protocol: Protocol
  readonly model: string
  readonly whole: (blocks: ReadonlyArray<Block>) => JsonObject
  /** Name and data of each event. */
  readonly events: (blocks: ReadonlyArray<Block>) => ReadonlyArray<readonly [string, JsonObject]>
}

export interface Family extends Speaker {
  /** The blocks of each turn of the assistant in a request to such a host. */
  readonly given: (body: JsonObject) => ReadonlyArray<ReadonlyArray<Block>>
  readonly mayHide: boolean
  /** Signs texts and calls too, as Gemini does. */
  readonly signsAll?: boolean
}

/** For a host whose models do not say such a thing. */
export const neverSaid = (kind: Block["kind"]): never => {
  throw new Error(`no ${kind} is said here`)
}

export const textIn = (value: unknown): string => textOr(value, "")

/** What the model gives every tool that it calls. */
export const input = { town: "Bern" }
export const written = JSON.stringify(input)

/** Why an answer ended, as Anthropic and Bedrock say it. */
export const stopOf = (blocks: ReadonlyArray<Block>): string =>
  blocks.some(({ kind }) => kind === "call") ? "tool_use" : "end_turn"

/** What each turn of the assistant has. */
export const assistants = (body: JsonObject, read: (block: JsonObject) => Block): ReadonlyArray<ReadonlyArray<Block>> =>
  objectsIn(body["messages"]).flatMap(({ role, content }) =>
    role === "assistant" ? [objectsIn(content).map(read)] : [],
  )

/** Texts that follow each other are one. */
export const joined = (blocks: ReadonlyArray<Block>): ReadonlyArray<Block> => {
  const all: Array<Block> = []
  for (const block of blocks) {
    const last = all.at(-1)
    if (block.kind === "text" && last?.kind === "text" && !block.signature && !last.signature)
      all[all.length - 1] = { kind: "text", text: last.text + block.text }
    else all.push(block)
  }
  return all
}

/** Texts and calls, without signatures. */
export const spoken = (blocks: ReadonlyArray<Block>): ReadonlyArray<Block> =>
  joined(
    blocks.flatMap((block): ReadonlyArray<Block> => {
      if (block.kind === "text") return block.text === "" ? [] : [{ kind: "text", text: block.text }]
      return block.kind === "call" ? [{ kind: "call", id: block.id }] : []
    }),
  )

/** All signatures, in no order. */
export const signaturesIn = (blocks: ReadonlyArray<Block>): ReadonlyArray<string> =>
  blocks.flatMap((block) => ("signature" in block && block.signature ? [block.signature] : [])).toSorted()
