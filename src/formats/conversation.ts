/**
 * The order in which an assistant said the parts of its message. Vendors refuse thinking that comes back in another
 * place, but a canonical message has reasoning, text and calls in members of their own. So the number of a part in the
 * answer is the `index` of its reasoning, and where the order is not reasoning, text, calls, or there are several
 * reasoning parts, a last entry of `reasoning_details` lists the parts. Callers give it back with the rest. No host is
 * sent it. See docs/guarantees.md#g39.
 */

import { isCount } from "../domain/price/Usage.ts"
import {
  type AssistantMessage,
  type ContentPart,
  type HostToolCall,
  isOrderEntryId,
  orderEntryId,
  type ReasoningDetail,
  type TextPart,
  type ToolCall,
} from "../domain/request/chat.ts"
import { innerJson } from "../wire/jsonDepth.ts"
import { detailsIn, partsOf } from "./content.ts"

/** A part of what an assistant said. `details`: the pieces of one block of reasoning. */
export type AssistantPart =
  | { readonly type: "content"; readonly content: ContentPart }
  | { readonly type: "reasoning"; readonly details: ReadonlyArray<ReasoningDetail> }
  | { readonly type: "call"; readonly call: ToolCall | HostToolCall }

/** The members of a message that have its parts. */
export type Said = Pick<AssistantMessage, "content" | "reasoning_details" | "tool_calls">

/**
 * What the entry says of each part: the length of a reasoning's text (UTF-16 units), its signature and how many pieces
 * of it are encrypted; the length of a text, or `null` for one that was not counted and has all of the content; the id
 * of a call.
 */
type ListedReasoning = [kind: "reasoning", length: number, signature: string | null, encrypted: number]
export type Listed = ListedReasoning | [kind: "text", length: number | null] | [kind: "call", id: string]

/** Whether a piece is the entry that lists the parts. */
export const isOrderEntry = ({ id }: Pick<ReasoningDetail, "id">): boolean => isOrderEntryId(id)

/** The pieces of reasoning that a host may be sent. Returns the same list where all are. */
export const withoutOrder = (details: ReadonlyArray<ReasoningDetail>): ReadonlyArray<ReasoningDetail> =>
  details.some(isOrderEntry) ? details.filter((detail) => !isOrderEntry(detail)) : details

/** What a piece of reasoning says, if it says it as text. */
export const textOfDetail = ({ text, summary }: ReasoningDetail): string => text ?? summary ?? ""

/** A block of reasoning of which nothing has come. */
export const newBlock = (): ListedReasoning => ["reasoning", 0, null, 0]

/** Adds a piece of a block to what is listed of the block. */
export const countPiece = (block: ListedReasoning, detail: ReasoningDetail): void => {
  const { signature, data } = detail
  block[1] += textOfDetail(detail).length
  if (signature) block[2] = signature
  if (typeof data === "string") block[3] += 1
}

/** Numbers the parts of an answer while it is read, and lists them at its end. */
export class PartOrder {
  private readonly listed: Array<Listed> = []
  /** The number of the next part: that of the last one and its texts, plus one. */
  private next = 0
  private readonly reasonings = new Map<number, ListedReasoning>()
  /** Marks of other parts that came before any reasoning. They are listed as a reasoning that stands first. */
  private marks = 0
  /** The number of the reasoning that began last. */
  private last: number | undefined

  /** A text, or more of the one that was last. */
  text(text: string): void {
    const last = this.listed.at(-1)
    if (last?.[0] === "text") last[1] = (last[1] ?? 0) + text.length
    else if (text !== "") this.add(["text", text.length])
  }

  /** A new part of reasoning. Returns its number: the `index` of its pieces, or of the first text of several. */
  reasoning(): number {
    const index = this.next
    const listed = newBlock()
    this.add(listed)
    this.reasonings.set(index, listed)
    this.last = index
    return index
  }

  /** A piece of the reasoning with this number. */
  reasoned(index: number, detail: ReasoningDetail): void {
    const { index: own = index } = detail
    const listed = this.reasonings.get(index)
    if (listed === undefined) return
    this.next = Math.max(this.next, own + 1)
    countPiece(listed, detail)
  }

  call(id: string): void {
    this.add(["call", id])
  }

  /**
   * An encrypted piece that belongs to another part, such as the signature of a call, and says so by its `id`. It is no
   * part: it goes with the reasoning before it, else it stands first. Returns its `index`.
   */
  mark(): number {
    if (this.last === undefined && this.listed.length > 0) {
      this.marks += 1
      return 0
    }
    const index = this.last ?? this.reasoning()
    this.reasoned(index, { type: "reasoning.encrypted", data: "" })
    return index
  }

  /** The last piece of the answer's reasoning, or none where the order is the usual one. */
  entry(): ReadonlyArray<ReasoningDetail> {
    const { marks } = this
    const listed: ReadonlyArray<Listed> = marks === 0 ? this.listed : [["reasoning", 0, null, marks], ...this.listed]
    if (listed.filter(([kind]) => kind === "reasoning").length < 2 && isUsual(listed)) return []
    return [orderEntry(listed, this.next)]
  }

  private add(listed: Listed): void {
    this.listed.push(listed)
    this.next += 1
  }
}

/** The entry that lists these parts. */
export const orderEntry = (listed: ReadonlyArray<Listed>, index: number): ReasoningDetail => {
  const data = JSON.stringify(listed)
  // The AI SDK's provider gives back one piece for each `id` in a conversation.
  const id = `${orderEntryId}-${Bun.hash.crc32(data).toString(36)}`
  return { type: "reasoning.encrypted", id, format: "unknown", index, data }
}

/** The same for plugins, as a type without private members. */
export const partOrder = (): Pick<PartOrder, keyof PartOrder> => new PartOrder()

const ranks = { reasoning: 0, text: 1, call: 2 } as const

const isUsual = (listed: ReadonlyArray<Listed>): boolean =>
  listed.every(([kind], at) => ranks[kind] >= ranks[listed[at - 1]?.[0] ?? kind])

/**
 * The members of a message with these parts. Pieces of reasoning are numbered anew; where a block has several texts, as
 * the summaries of OpenAI's reasoning, each keeps a number of its own.
 */
export const saidInOrder = (parts: ReadonlyArray<AssistantPart>): Said => {
  const order = new PartOrder()
  const content: Array<ContentPart> = []
  const details: Array<ReasoningDetail> = []
  const calls: Array<ToolCall | HostToolCall> = []
  for (const part of parts) {
    switch (part.type) {
      case "content":
        content.push(part.content)
        if (part.content.type === "text") order.text(part.content.text)
        break
      case "reasoning": {
        const index = order.reasoning()
        const first = part.details[0]?.index ?? 0
        for (const detail of part.details) {
          const numbered = { ...detail, index: index + Math.max(0, (detail.index ?? first) - first) }
          order.reasoned(index, numbered)
          details.push(numbered)
        }
        break
      }
      case "call":
        calls.push(part.call)
        order.call(idOf(part.call))
    }
  }
  details.push(...order.entry())
  return {
    content: content.length === 0 ? null : shortest(content),
    ...(details.length === 0 ? {} : { reasoning_details: details }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  }
}

/**
 * Adds a piece of reasoning, if there is one. Those of one item of OpenAI's reasoning have its id, and are one part.
 */
export const addReasoning = (parts: Array<AssistantPart>, detail: ReasoningDetail | undefined): void => {
  if (detail === undefined) return
  const last = parts.at(-1)
  const before = last?.type === "reasoning" ? last.details.at(-1) : undefined
  if (last?.type === "reasoning" && before?.id && before.id === detail.id && before.format === detail.format) {
    parts[parts.length - 1] = { type: "reasoning", details: [...last.details, detail] }
  } else parts.push({ type: "reasoning", details: [detail] })
}

const idOf = ({ id }: ToolCall | HostToolCall): string => (typeof id === "string" ? id : "")

/** Texts without marks are one string, which every host takes. */
const shortest = (content: ReadonlyArray<ContentPart>): string | ReadonlyArray<ContentPart> =>
  content.every(isPlain) ? content.map(({ text }) => text).join("") : content

const isPlain = (part: ContentPart): part is TextPart => part.type === "text" && part.cache_control == null

export interface OrderedParts {
  readonly parts: ReadonlyArray<AssistantPart>
  /** `false`: the caller lost the order, so the parts are in the usual one. */
  readonly isInOrder: boolean
}

/** The parts of a message in the order in which they were said. */
export const partsInOrder = (message: Said): OrderedParts => {
  const given = detailsIn(message.reasoning_details)
  const reasonings = blocksOf(withoutOrder(given))
  const content = partsOf(message.content)
  const calls = message.tool_calls ?? []
  const entry = given.find(isOrderEntry)
  if (entry !== undefined) {
    const parts = arranged(listedIn(entry.data), reasonings, content, calls)
    if (parts !== undefined) return { parts, isInOrder: true }
  }
  return {
    parts: [
      ...reasonings.map((details): AssistantPart => ({ type: "reasoning", details })),
      ...content.map((part): AssistantPart => ({ type: "content", content: part })),
      ...calls.map((call): AssistantPart => ({ type: "call", call })),
    ],
    isInOrder: entry === undefined && !hasGap(reasonings),
  }
}

/**
 * The pieces of reasoning that a host of the chat form is sent, taken apart and numbered where a caller merged them.
 */
export const reasoningApart = (given: unknown): Block => {
  const details = detailsIn(given)
  const entry = details.find(isOrderEntry)
  if (entry === undefined) return details
  const came = withoutOrder(details)
  const blocks = blocksOf(came)
  const said = blocksAs(listedIn(entry.data) ?? [], blocks)
  if (said === undefined || said.length === blocks.length) return came
  return said.flatMap((block, index) => block.map((detail) => ({ ...detail, index })))
}

type Block = ReadonlyArray<ReasoningDetail>

/**
 * Pieces of one block: those of one number, or, where a caller has lost the numbers, of one id, or texts up to the one
 * that is signed.
 */
const blocksOf = (details: ReadonlyArray<ReasoningDetail>): ReadonlyArray<Block> => {
  const blocks: Array<Array<ReasoningDetail>> = []
  for (const detail of details) {
    const last = blocks.at(-1)
    const before = last?.at(-1)
    if (last !== undefined && before !== undefined && continues(before, detail)) last.push(detail)
    else blocks.push([detail])
  }
  return blocks
}

/** Whether a piece belongs to the block of the one before it. */
export const continues = (before: ReasoningDetail, detail: ReasoningDetail): boolean => {
  if (before.format !== detail.format) return false
  if (before.id && before.id === detail.id) return true
  if (before.id && detail.id && before.index === undefined) return false
  if (before.index !== undefined || detail.index !== undefined) return before.index === detail.index
  return before.type === "reasoning.text" && detail.type === "reasoning.text" && !before.signature
}

/** Whether a part that had a number between these is missing. Blocks without numbers tell nothing. */
const hasGap = (blocks: ReadonlyArray<Block>): boolean => {
  const indexes = new Set<number>()
  let last = -1
  for (const { index } of blocks.flat()) {
    if (index === undefined) return false
    indexes.add(index)
    last = Math.max(last, index)
  }
  return last >= indexes.size
}

const listedIn = (data: unknown): ReadonlyArray<Listed> | undefined => {
  const listed = typeof data === "string" ? innerJson(data) : undefined
  return Array.isArray(listed) && listed.every(isListed) ? listed : undefined
}

const isListed = (entry: unknown): entry is Listed => {
  if (!Array.isArray(entry)) return false
  const [kind, of, signature, encrypted]: ReadonlyArray<unknown> = entry
  if (kind === "call") return typeof of === "string"
  if (kind === "text" && of === null) return true
  if (!isCount(of)) return false
  if (kind === "text") return true
  return kind === "reasoning" && (signature === null || typeof signature === "string") && isCount(encrypted)
}

/** The parts as they are listed; `undefined`: the list is not one of this message. */
const arranged = (
  listed: ReadonlyArray<Listed> | undefined,
  reasonings: ReadonlyArray<Block>,
  content: ReadonlyArray<ContentPart>,
  calls: ReadonlyArray<ToolCall | HostToolCall>,
): ReadonlyArray<AssistantPart> | undefined => {
  if (listed === undefined) return undefined
  const blocks = blocksAs(listed, reasonings)
  const texts = textsAs(listed, content)
  if (blocks === undefined || texts === undefined) return undefined
  const left = [...calls]
  const parts: Array<AssistantPart> = []
  for (const entry of listed) {
    if (entry[0] === "reasoning") parts.push({ type: "reasoning", details: blocks.shift() ?? [] })
    else if (entry[0] === "text") parts.push(...(texts.shift() ?? []).map(contentPart))
    else {
      const at = left.findIndex((call) => idOf(call) === entry[1])
      const [call] = at === -1 ? [] : left.splice(at, 1)
      if (call === undefined) return undefined
      parts.push({ type: "call", call })
    }
  }
  return left.length === 0 ? parts : undefined
}

const contentPart = (content: ContentPart): AssistantPart => ({ type: "content", content })

const lengthOf = (block: Block): number => block.reduce((sum, detail) => sum + textOfDetail(detail).length, 0)

/**
 * The blocks as they came, or taken apart where a caller merged them: all text is in the first one then, with its
 * signature.
 */
const blocksAs = (listed: ReadonlyArray<Listed>, blocks: ReadonlyArray<Block>): Array<Block> | undefined => {
  const wanted = listed.filter((entry) => entry[0] === "reasoning")
  if (blocks.length === wanted.length && wanted.every(([, length], at) => lengthOf(blocks[at] ?? []) === length)) {
    return [...blocks]
  }
  const details = blocks.flat()
  const hidden = details.filter(({ type }) => type === "reasoning.encrypted")
  const text = details.map(textOfDetail).join("")
  const [pattern] = details.filter(({ type }) => type !== "reasoning.encrypted")
  const pieces = cutAs(
    text,
    wanted.map(([, length]) => length),
  )
  if (pieces === undefined || sumOf(wanted.map(([, , , encrypted]) => encrypted)) !== hidden.length) return undefined
  return wanted.map(([, length, signature, encrypted], at) => {
    const isSaid = length > 0 || signature !== null
    return [
      ...(isSaid && pattern !== undefined ? [pieceOf(pattern, pieces[at] ?? "", signature)] : []),
      ...hidden.splice(0, encrypted),
    ]
  })
}

const pieceOf = (pattern: ReasoningDetail, text: string, signature: string | null): ReasoningDetail => {
  const { text: _, summary: __, signature: ___, ...common } = pattern
  const said = pattern.type === "reasoning.summary" ? { summary: text } : { text }
  return { ...common, ...said, ...(signature === null ? {} : { signature }) }
}

/** The content of each listed text as it came, or taken apart where a caller merged the texts. */
const textsAs = (
  listed: ReadonlyArray<Listed>,
  content: ReadonlyArray<ContentPart>,
): Array<ReadonlyArray<ContentPart>> | undefined => {
  const lengths = listed.flatMap((entry) => (entry[0] === "text" ? [entry[1]] : []))
  const counted = lengths.filter((length) => length !== null)
  if (counted.length < lengths.length) return lengths.length === 1 ? [content] : undefined
  return asTheyCame(counted, content) ?? takenApart(counted, content)
}

/** What is no text stands behind the text before it. */
const asTheyCame = (
  lengths: ReadonlyArray<number>,
  content: ReadonlyArray<ContentPart>,
): Array<ReadonlyArray<ContentPart>> | undefined => {
  const left = [...content]
  const texts = lengths.map((length) => {
    const own: Array<ContentPart> = []
    let said = 0
    for (let next = left[0]; next !== undefined; next = left[0]) {
      if (next.type === "text" && said >= length) break
      if (next.type === "text") said += next.text.length
      own.push(next)
      left.shift()
    }
    return said === length ? own : undefined
  })
  return left.length === 0 && texts.every((text) => text !== undefined) ? texts : undefined
}

const takenApart = (
  lengths: ReadonlyArray<number>,
  content: ReadonlyArray<ContentPart>,
): Array<ReadonlyArray<ContentPart>> | undefined => {
  if (!content.every((part) => part.type === "text")) return undefined
  return cutAs(content.map((part) => part.text).join(""), lengths)?.map((text) => [{ type: "text", text }])
}

const sumOf = (lengths: ReadonlyArray<number>): number => lengths.reduce((sum, length) => sum + length, 0)

/** A text in pieces of these lengths; `undefined`: it has another length. */
const cutAs = (text: string, lengths: ReadonlyArray<number>): ReadonlyArray<string> | undefined => {
  if (sumOf(lengths) !== text.length) return undefined
  let at = 0
  return lengths.map((length) => {
    at += length
    return text.slice(at - length, at)
  })
}
