/** What the decoders of operations without streams have in common. */

import { onlyFalse } from "../../domain/json/checks.ts"
import { bytesOf } from "../../domain/request/Estimate.ts"
import { type MediaTokens, mediaTogether, promptMedia } from "../../domain/request/mediaTokens.ts"
import { type Needs, noNeeds } from "../../domain/request/Request.ts"
import { base64OfUrl } from "./measure.ts"

/** `stream: true` asks for what these operations do not have. */
export const noStream = onlyFalse("must be false: this operation has no streams")

/** Sizes of what is read one by one. */
export class Sizes {
  textBytes = 0
  longestBytes = 0
  mediaBytes = 0
  mediaParts = 0
  images = 0
  private counted: MediaTokens | undefined
  private readonly kinds = new Set<string>()

  /** `bytes`: of a text that is read by itself. */
  text(bytes: number): void {
    this.textBytes += bytes
    this.longestBytes = Math.max(this.longestBytes, bytes)
  }

  /** `kind`: of input, such as `image`. `data`: base64, or a URL that may have some. */
  media(kind: string, data: unknown): void {
    this.kinds.add(kind)
    this.mediaParts += 1
    const base64 = typeof data === "string" && data.startsWith("data:") ? base64OfUrl(data) : mediaBytesOf(kind, data)
    this.mediaBytes += base64
    if (kind === "image") this.images += 1
    this.counted = mediaTogether(this.counted, promptMedia(kind, base64))
  }

  /** What an estimate counts for the media, as a member of `Bounds`. */
  tokens(): { readonly media?: MediaTokens } {
    return this.counted === undefined ? {} : { media: this.counted }
  }

  needs(): Needs {
    return this.kinds.size === 0 ? noNeeds : { ...noNeeds, inputs: [...this.kinds] }
  }
}

/** An image without a data URL is an address. */
const mediaBytesOf = (kind: string, data: unknown): number => (kind === "image" ? 0 : bytesOf(data))
