/** What the decoders of operations without streams have in common. */
import * as Either from "effect/Either"
import type { BadRequest } from "../../domain/failures/Failure.ts"
import { type Issues, onlyFalse } from "../../domain/json/checks.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import { bytesOf } from "../../domain/request/estimate.ts"
import { type MediaTokens, mediaTogether, promptMedia } from "../../domain/request/MediaTokens.ts"
import type { UnaryName, UnaryRequests } from "../../domain/request/operations.ts"
import { type Bounds, type Needs, noNeeds, type UnaryRequest } from "../../domain/request/request.ts"
import { routingOf } from "./chatRequest.ts"
import { base64OfUrl } from "./measure.ts"
import { type MemberTable, readMembers, refusalOf } from "./members.ts"

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

/** What bounds the cost of a payload. */
export interface Measured extends Pick<Bounds, "messages" | "repeatedBytes" | "searchUnits"> {
  readonly sizes: Sizes
}

/** A decoder of JSON. All problems are reported at once, at most ten. The request refers to the body, which must not change any more. */
export const unaryDecoder =
  <Name extends UnaryName>(
    operation: Name,
    table: MemberTable,
    measure: (payload: UnaryRequests[Name]["payload"]) => Measured,
  ) =>
  (body: JsonObject): Either.Either<UnaryRequests[Name], BadRequest> => {
    const issues: Issues = []
    const read = readMembers(body, table, issues)
    const refusal = refusalOf(body, read, issues)
    if (refusal !== undefined) return Either.left(refusal)
    const { payload, preferences, parameters, dropped } = read
    // The checks of the table guarantee the type.
    const { sizes, ...bounds } = measure(payload as unknown as UnaryRequests[Name]["payload"])
    const { textBytes, longestBytes, mediaBytes, mediaParts, images } = sizes
    const request: UnaryRequest<Name> = {
      operation,
      routing: routingOf(body, preferences, parameters, sizes.needs()),
      bounds: {
        ...{ promptBytes: textBytes + mediaBytes, textBytes, longestBytes, mediaBytes, mediaParts, images },
        ...sizes.tokens(),
        ...bounds,
        ...{ searches: 0, maxTokens: 0, choices: 1 },
      },
      stream: false,
      maxTokens: 0,
      payload,
      ...(dropped.length === 0 ? {} : { dropped }),
    }
    // As above.
    return Either.right(request as UnaryRequests[Name])
  }
