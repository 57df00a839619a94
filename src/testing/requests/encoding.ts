/** How checks call `Protocol.encode`, and what of a request they compare. */
import * as Either from "effect/Either"
import type { Unsupported } from "../../domain/failures/Failure.ts"
import type { ChatRequest } from "../../domain/request/request.ts"
import type { Encoded } from "../../formats/Protocol.ts"
import { attempt, must, shown } from "../Check.ts"
import { host } from "../samples.ts"
import type { ProtocolSubject } from "../subject.ts"

/** Whether a stream is wanted, and what messages call that. */
export const kinds = [
  [false, "a whole answer"],
  [true, "a stream"],
] as const

export const encodedBy = (given: ProtocolSubject, request: ChatRequest): Either.Either<Encoded, Unsupported> => {
  const encoded = attempt("encode()", "Protocol.encode", () => given.protocol().encode(request, host))
  must(Either.isEither(encoded), `encode() gave ${shown(encoded)}, which is no Either`, "Protocol.encode")
  return encoded
}

/** What reaches the host. */
export const essence = ({ method = "POST", path, headers = {}, body }: Encoded) => ({ method, path, headers, body })
