/**
 * Vectors as lists of numbers in the JSON of an answer. Each is converted only when it is written, because numbers take more
 * memory than the host's text.
 */
import { textOfNumbers } from "../domain/json/numberList.ts"
import { type Embedding, floatPieces, unpacked } from "../domain/request/embeddings.ts"

export interface VectorText {
  readonly pieces: () => Iterable<string>
  /** An upper estimate of its length in characters. */
  readonly length: number
}

/** Characters of a float32 in an answer, with a comma: most have eight or nine digits. */
export const floatLength = 13

/** `undefined`: it is base64 that holds no such vector. `dimensions`: as the request has them. */
export const vectorText = (embedding: Embedding["embedding"], dimensions?: number | null): VectorText | undefined => {
  if (typeof embedding !== "string") {
    const text = textOfNumbers(embedding) ?? listText(embedding)
    return { pieces: () => [text], length: text.length }
  }
  const floats = unpacked(embedding, dimensions)
  return floats && { pieces: () => floatPieces(floats), length: floats.length * floatLength }
}

/** A list of numbers as JSON. Each one reads as the same double, -0 too, which JSON.stringify makes 0. */
const listText = (numbers: ReadonlyArray<number>): string =>
  numbers.includes(0) ? `[${numbers.map(numberText).join()}]` : JSON.stringify(numbers)

const numberText = (number: number): string => (Object.is(number, -0) ? "-0" : String(number))

/** Characters of a piece of a long answer. A shorter answer is written at once. */
const pieceLength = 262_144

/** An answer from its parts. `length`: about how many characters they have. */
export const answerText = (parts: Iterable<string>, length: number): string | { readonly pieces: Iterable<string> } =>
  length > pieceLength ? { pieces: inPieces(parts) } : Array.from(parts).join("")

function* inPieces(parts: Iterable<string>): Generator<string> {
  let piece = ""
  for (const part of parts) {
    piece += part
    if (piece.length < pieceLength) continue
    yield piece
    piece = ""
  }
  if (piece !== "") yield piece
}
