/** Vectors and scores made of words, for operations that are no chat. A word is a token. */
import { isJsonObject } from "headgate/plugin"

/** In lower case. */
const wordsOf = (text: string): ReadonlyArray<string> => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []

/** Tokens as numbers stand for words, too. */
const wordsIn = (input: unknown): ReadonlyArray<string> =>
  typeof input === "string" ? wordsOf(input) : Array.isArray(input) ? input.map(String) : []

const usageOf = (words: ReadonlyArray<ReadonlyArray<string>>) => {
  const tokens = words.reduce((sum, { length }) => sum + length, 0)
  return { prompt_tokens: tokens, total_tokens: tokens }
}

const usualDimensions = 64

/** FNV-1a, 32 bits. */
const hashOf = (word: string): number => {
  let hash = 0x811c9dc5
  for (let at = 0; at < word.length; at++) hash = Math.imul(hash ^ word.charCodeAt(at), 0x01000193)
  return hash >>> 0
}

/** Each word adds 1 at a place of its own; the length of the vector is 1. One without words has its first component alone. */
const vectorOf = (words: ReadonlyArray<string>, dimensions: number): ReadonlyArray<number> => {
  const counts = new Array<number>(dimensions).fill(0)
  for (const word of words) {
    const at = hashOf(word) % dimensions
    counts[at] = (counts[at] ?? 0) + 1
  }
  if (words.length === 0) counts[0] = 1
  const length = Math.hypot(...counts)
  return counts.map((count) => count / length)
}

/** The answer to a request for embeddings. */
export const embedded = (body: unknown) => {
  const { input, dimensions }: { readonly input?: unknown; readonly dimensions?: unknown } = isJsonObject(body)
    ? body
    : {}
  const inputs = Array.isArray(input) && typeof input[0] !== "number" ? input : [input]
  const words = inputs.map(wordsIn)
  const size = typeof dimensions === "number" ? dimensions : usualDimensions
  return { data: words.map((of, index) => ({ index, embedding: vectorOf(of, size) })), usage: usageOf(words) }
}

/** The answer to a request to rank documents. */
export const ranked = (body: unknown) => {
  const { query, documents }: { readonly query?: unknown; readonly documents?: unknown } = isJsonObject(body)
    ? body
    : {}
  const wanted = wordsIn(query)
  const words = Array.isArray(documents) ? documents.map(wordsIn) : []
  const score = (of: ReadonlyArray<string>) =>
    wanted.length === 0 ? 0 : wanted.filter((word) => of.includes(word)).length / wanted.length
  return {
    results: words.map((of, index) => ({ index, relevance_score: score(of) })),
    usage: usageOf([wanted, ...words]),
  }
}
