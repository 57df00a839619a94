import * as Either from "effect/Either"
import type { Endpoint } from "../../../catalogue/endpoints.ts"
import { type HostFailed, Unsupported } from "../../../domain/failures/Failure.ts"
import type { Host } from "../../../domain/hosts/Host.ts"
import { inputsOf, partsOf } from "../../../domain/request/embeddings.ts"
import type { AnyRequest } from "../../../domain/request/operations.ts"
import { encodeFor } from "../encodeFor.ts"
import { Batch, type Part } from "./Batch.ts"

/** The request as a batch; `undefined`: the host takes it in one call. */
export const batchFor = (
  endpoint: Endpoint,
  request: AnyRequest,
  host: Host,
): Either.Either<Batch, Unsupported | HostFailed> | undefined => {
  if (request.operation !== "embeddings") return undefined
  const most = endpoint.unary?.mostInputs?.(host) ?? Number.POSITIVE_INFINITY
  if (inputsOf(request.payload.input).length <= most) return undefined
  const parts: Array<Part> = []
  for (const [at, payload] of partsOf(request.payload, most).entries()) {
    const part = { ...request, payload }
    const encoded = encodeFor(endpoint, part, host)
    if (Either.isLeft(encoded)) return Either.left(inBatch(encoded.left, at * most))
    parts.push({ request: part, encoded: encoded.right })
  }
  const [first] = parts
  return first && Either.right(new Batch(first, parts))
}

/** Changes the path in a failure from its part to the whole batch. `before`: the inputs before the part. */
const inBatch = (failure: Unsupported | HostFailed, before: number): Unsupported | HostFailed =>
  failure instanceof Unsupported
    ? new Unsupported({
        path: failure.path.replace(/^input\[(\d+)\]/, (_, at: string) => `input[${Number(at) + before}]`),
        reason: failure.reason,
      })
    : failure
