/** A request in a host's words: the caller's own body where the host speaks its form, else a translation. */
import * as Either from "effect/Either"
import type { Endpoint } from "../catalogue/endpoints.ts"
import { type HostFailed, Unsupported } from "../domain/Failure.ts"
import type { Host } from "../domain/Host.ts"
import type { AnyRequest, ChatRequest, NativeRequest } from "../domain/Request.ts"
import type { Encoded } from "../wire/Protocol.ts"

type Protocol = Endpoint["protocol"]

/** Paths in an `Unsupported` are the caller's own. */
export const encodeFor = (
  { protocol, embeddings, rerank }: Endpoint,
  request: AnyRequest,
  host: Host,
): Either.Either<Encoded, Unsupported | HostFailed> => {
  if (request.operation === "chat") return encodeChat(protocol, request, host)
  // For the type alone: a host whose provider does not serve the operation of its model has no endpoint.
  const notServed = Either.left(
    new Unsupported({ path: "model", reason: "its provider does not serve this operation" }),
  )
  if (request.operation === "embeddings") return embeddings?.encode(request, host) ?? notServed
  return rerank?.encode(request, host) ?? notServed
}

const encodeChat = (
  protocol: Protocol,
  request: ChatRequest,
  host: Host,
): Either.Either<Encoded, Unsupported | HostFailed> => {
  const { native } = request
  if (native === undefined) return protocol.encode(request, host)
  if (protocol.native?.form === native.form) return protocol.native.encode(request, native, host)
  if (native.unsupported !== undefined) return Either.left(native.unsupported)
  return Either.mapBoth(protocol.encode(request, host), {
    onLeft: (left) => (left instanceof Unsupported ? withOwnPath(left, native) : left),
    onRight: (encoded) => withUntranslated(encoded, native),
  })
}

const withOwnPath = ({ path, reason }: Unsupported, { pathOf }: NativeRequest): Unsupported =>
  new Unsupported({ path: pathOf(path), reason })

const withUntranslated = (encoded: Encoded, { untranslated }: NativeRequest): Encoded =>
  untranslated.length === 0 ? encoded : { ...encoded, dropped: [...(encoded.dropped ?? []), ...untranslated] }
