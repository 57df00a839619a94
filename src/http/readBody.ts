/** Parses a body of any length. A long body is scanned first, over several turns of the event loop. */
import * as Effect from "effect/Effect"
import { type BadRequest, promptTooLong } from "../domain/failures/Failure.ts"
import type { JsonObject } from "../domain/json/json.ts"
import type { Ending, Lifetime } from "../services/request/RequestContext.ts"
import { ownTurn } from "../services/request/turns.ts"
import { escapedBytes, JsonScan, unscannedBytes } from "../wire/JsonScan.ts"
import { excessive, parseBody, parseScanned } from "./parseBody.ts"

/** Bytes that are scanned in one turn: 3 to 10 ms. */
const bytesPerTurn = 4_194_304

/** No token has more bytes of text, so that no prompt is refused that a host could take. */
const mostBytesPerToken = 16

/** Of a body whose text is one prompt: the path of the prompt, and the longest context of any model, in tokens. */
export interface OnePrompt {
  readonly path: string
  readonly longestContext: number
}

/** `prompt`: where the body is one prompt. If that is longer than any context, it is refused before it is parsed. */
export const readBody = (
  bytes: Uint8Array,
  lifetime: Lifetime,
  prompt?: OnePrompt,
): Effect.Effect<JsonObject, BadRequest | Ending> =>
  bytes.length <= unscannedBytes ? parseBody(bytes) : readLongBody(bytes, lifetime, prompt)

const readLongBody = Effect.fnUntraced(function* (
  bytes: Uint8Array,
  lifetime: Lifetime,
  prompt: OnePrompt | undefined,
) {
  const scan = new JsonScan(bytes)
  while (!scan.isDone) {
    yield* turn(lifetime)
    const excess = scan.advance(bytesPerTurn)
    if (excess !== undefined) return yield* excessive[excess]
  }
  if (prompt !== undefined) yield* checkLength(bytes, scan.textBytes, lifetime, prompt)
  yield* turn(lifetime)
  return yield* parseScanned(bytes)
})

const turn = (lifetime: Lifetime): Effect.Effect<void, Ending> =>
  Effect.flatMap(ownTurn, () => {
    lifetime.look()
    return lifetime.ending === undefined ? Effect.void : Effect.fail(lifetime.ending)
  })

const checkLength = Effect.fnUntraced(function* (
  bytes: Uint8Array,
  textBytes: number,
  lifetime: Lifetime,
  { path, longestContext }: OnePrompt,
) {
  const mostBytes = longestContext * mostBytesPerToken
  let left = textBytes
  // Escapes are counted only where the text would be too long without them. One that a part's end cuts in two may count for too many bytes,
  // which refuses nothing.
  for (let at = 0; left > mostBytes; at += bytesPerTurn) {
    if (at >= bytes.length) {
      const fewest = Math.ceil(left / mostBytesPerToken)
      return yield* promptTooLong(path, { fewest, maximum: longestContext })
    }
    yield* turn(lifetime)
    left -= escapedBytes(bytes, at, Math.min(bytes.length, at + bytesPerTurn))
  }
})
