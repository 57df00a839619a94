/**
 * Hashes of a conversation, from which a later turn is recognised. 64 bits, seeded, not cryptographic: what a collision
 * can do is discussed in docs/decisions/0013-conversation-memory.md.
 */

import { isJsonObject } from "../json/json.ts"
import type { ChatPayload, Content, Message } from "../request/chat.ts"
import { bytesOf, bytesSaid } from "../request/estimate.ts"

/** The beginning of a prompt, up to some message. */
export interface Prefix {
  /** Of the tools and of every message of it. */
  readonly hash: bigint
  /** UTF-8 bytes of text, tool calls and tools. */
  readonly bytes: number
  /** Whether it has nothing but instructions, which other conversations may begin with, too. */
  readonly isShared: boolean
}

/** Of a longer text only its two ends and its length are hashed, so that a prompt of megabytes costs little. */
const mostHashed = 16_384

/** `seed`: 64 bits. Continues a hash: the result depends on everything that led to `seed`. */
export const hashText = (text: string, seed: bigint): bigint => {
  if (text.length <= mostHashed) return Bun.hash.rapidhash(text, seed)
  const half = mostHashed / 2
  const ends = Bun.hash.rapidhash(text.slice(-half), Bun.hash.rapidhash(text.slice(0, half), seed))
  return Bun.hash.rapidhash(String(text.length), ends)
}

const hashValue = (value: unknown, seed: bigint): bigint => {
  if (typeof value === "string") return hashText(value, seed)
  if (Array.isArray(value)) return value.reduce<bigint>((hash, item) => hashValue(item, hash), hashText("[", seed))
  if (!isJsonObject(value)) return hashText(String(value), seed)
  let hash = seed
  for (const key in value) {
    // Callers move these marks from turn to turn, and they are no part of what the model reads.
    if (key !== "cache_control") hash = hashValue(value[key], hashText(key, hash))
  }
  return hash
}

/** A text and a single part with the same text are the same to a model, and have the same hash. */
const hashContent = (content: Content | null | undefined, seed: bigint): bigint => {
  if (typeof content === "string") return hashText(content, seed)
  let hash = seed
  for (const part of content ?? []) hash = part.type === "text" ? hashText(part.text, hash) : hashValue(part, hash)
  return hash
}

const hashMessage = (message: Message, seed: bigint): bigint => {
  let hash = hashContent(message.content, hashText(message.role, seed))
  for (const key in message) {
    if (key === "role" || key === "content" || key === "cache_control") continue
    hash = hashValue(message[key], hashText(key, hash))
  }
  return hash
}

const textBytes = (message: Message): number => {
  let bytes = bytesSaid(message)
  if (Array.isArray(message.content)) for (const part of message.content) bytes += bytesOf(part["text"])
  return bytes
}

const isInstruction = ({ role }: Message): boolean => role === "system" || role === "developer"

/**
 * The beginnings of a prompt that an earlier request can have had as its whole prompt, or can have shared with it: the
 * leading instructions, what stands before each answer of the model, and all of it. The shortest first.
 */
export const prefixesOf = (
  { messages, tools }: Pick<ChatPayload, "messages" | "tools">,
  seed: bigint,
): ReadonlyArray<Prefix> => {
  const listed = tools == null || tools.length === 0 ? "" : JSON.stringify(tools)
  const prefixes: Array<Prefix> = []
  let hash = hashText(listed, seed)
  let bytes = bytesOf(listed)
  let onlyInstructions = true
  messages.forEach((message, at) => {
    const isShared = onlyInstructions
    if (!isInstruction(message)) onlyInstructions = false
    if (at > 0 && (isShared !== onlyInstructions || message.role === "assistant")) {
      prefixes.push({ hash, bytes, isShared })
    }
    hash = hashMessage(message, hash)
    bytes += textBytes(message)
  })
  prefixes.push({ hash, bytes, isShared: onlyInstructions })
  return prefixes
}

/** Hash of the first instruction and the first other message, which stay the same in all turns of a conversation. */
export const openingHash = (messages: ReadonlyArray<Message>, seed: bigint): bigint => {
  const instruction = messages.find(isInstruction)
  const first = messages.find((message) => !isInstruction(message))
  const hash = instruction === undefined ? seed : hashMessage(instruction, seed)
  return first === undefined ? hash : hashMessage(first, hash)
}
