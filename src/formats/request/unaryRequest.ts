/** What the decoders of operations without streams have in common. */
import * as Either from "effect/Either"
import type { BadRequest } from "../../domain/failures/Failure.ts"
import { type Issues, onlyFalse } from "../../domain/json/checks.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import type { UnaryName, UnaryRequests } from "../../domain/request/operations.ts"
import { type Bounds, noNeeds, type UnaryRequest } from "../../domain/request/request.ts"
import { routingOf } from "./chatRequest.ts"
import type { Sizes } from "./measure.ts"
import { type MemberTable, readMembers, refusalOf } from "./members.ts"

/** `stream: true` asks for what these operations do not have. */
export const noStream = onlyFalse("must be false: this operation has no streams")

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
    const { textBytes, longestBytes, mediaBytes, mediaParts, tokens, images, inputs } = sizes
    const request: UnaryRequest<Name> = {
      operation,
      routing: routingOf(body, preferences, parameters, inputs.length === 0 ? noNeeds : { ...noNeeds, inputs }),
      bounds: {
        ...{ promptBytes: textBytes + mediaBytes, textBytes, longestBytes, mediaBytes, mediaParts, images },
        ...(tokens === undefined ? {} : { media: tokens }),
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
