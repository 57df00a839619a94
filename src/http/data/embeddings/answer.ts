/** An answer with embeddings, in the encoding that the caller wants. */

import { HostFailed } from "../../../domain/failures/Failure.ts"
import type { Charge } from "../../../domain/money/Charge.ts"
import {
  type Embedding,
  type EmbeddingsPayload,
  type EmbeddingsRequest,
  packed,
  unpacked,
} from "../../../domain/request/embeddings.ts"
import type { UnaryWriter } from "../../../services/dispatch/AnswerReader.ts"
import { type AnswerNames, usageBody } from "../chat/answer.ts"

export const embeddingsWriter =
  ({ generationId, metadata }: AnswerNames, { payload }: EmbeddingsRequest): UnaryWriter<"embeddings"> =>
  (host, response) => {
    const { data, usage: _, ...rest } = response
    const entries: Array<string> = []
    for (const entry of data.toSorted((one, other) => one.index - other.index)) {
      const vector = vectorFor(entry, payload)
      if (vector === undefined) return unreadable
      const { embedding: _, index, ...more } = entry
      entries.push(`${JSON.stringify({ ...more, object: "embedding", index }).slice(0, -1)},"embedding":${vector}}`)
    }
    const head = JSON.stringify({
      ...rest,
      id: generationId,
      object: "list",
      model: host.model,
      provider: host.providerName,
      openrouter_metadata: metadata?.(host),
    })
    return (charge) =>
      `${head.slice(0, -1)},"data":[${entries.join()}],"usage":${JSON.stringify(embeddingsUsage(charge))}}`
  }

const unreadable = new HostFailed({ reason: "malformed" })

/** The JSON of a vector in the wanted encoding, by default numbers; `undefined`: it cannot be converted. */
const vectorFor = ({ embedding }: Embedding, { encoding_format: format, dimensions }: EmbeddingsPayload) => {
  if (typeof embedding === "string") {
    const numbers = format === "base64" ? embedding : unpacked(embedding, dimensions)
    return typeof numbers === "string" ? JSON.stringify(numbers) : numbers && listText(numbers)
  }
  if (format !== "base64") return listText(embedding)
  const text = packed(embedding)
  return text && JSON.stringify(text)
}

/** A list of numbers as JSON. Each one reads as the same double, -0 too, which JSON.stringify makes 0. */
const listText = (numbers: ReadonlyArray<number>): string =>
  numbers.includes(0) ? `[${numbers.map(numberText).join()}]` : JSON.stringify(numbers)

const numberText = (number: number): string => (Object.is(number, -0) ? "-0" : String(number))

const embeddingsUsage = (charge: Charge) => {
  const { prompt_tokens, total_tokens, cost, is_byok, cost_details } = usageBody(charge)
  const { promptAudioTokens: audio, promptImageTokens: image, promptVideoTokens: video } = charge.usage
  const details = {
    ...(audio > 0 && { audio_tokens: audio }),
    ...(image > 0 && { image_tokens: image }),
    ...(video > 0 && { video_tokens: video }),
  }
  return {
    ...{ prompt_tokens, total_tokens, cost, is_byok, cost_details },
    ...(audio + image + video > 0 && { prompt_tokens_details: details }),
  }
}
