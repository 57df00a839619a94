/**
 * A request in a host's words: the caller's own body where the host speaks its form, else a translation. What is passed
 * on unread is decided here, and what goes out is judged here, so that both hold for every protocol. See
 * docs/guarantees.md#g36.
 */
import * as Either from "effect/Either"
import type { Endpoint } from "../../catalogue/endpoints.ts"
import { type HostFailed, Unsupported } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import { joinedNames } from "../../domain/request/droppedNames.ts"
import { withoutNeutral } from "../../domain/request/neutralMembers.ts"
import {
  type AnyRequest,
  isUnary,
  type OperationName,
  operations,
  type UnaryName,
} from "../../domain/request/operations.ts"
import type { ChatRequest, NativeRequest, UnaryRequest } from "../../domain/request/request.ts"
import { runs } from "../../domain/routing/routeFilters.ts"
import type { Encoded } from "../../formats/Protocol.ts"
import { isPlain, type Kept, withoutMultiplying } from "../../formats/payload/multiplying.ts"
import { findingInPayload } from "../../formats/payload/walk.ts"
import { refusedToolNames, type ToolNameMap, turned, withToolNames } from "../../formats/request/toolNames.ts"

type Protocol = Endpoint["protocol"]
type Result = Either.Either<Encoded, Unsupported | HostFailed>

/** Paths in an `Unsupported` are the caller's own, but for those of what a plugin wrote. */
export const encodeFor = (endpoint: Endpoint, request: AnyRequest, host: Host): Result => {
  const encoded = encoding(endpoint, request, host)
  return Either.isLeft(encoded) ? encoded : judged(withoutNeutralNames(encoded.right, request), request, host)
}

/** Bytes of the body that a host is sent. */
export const byteLength = (body: string | Uint8Array): number =>
  typeof body === "string" ? Buffer.byteLength(body) : body.byteLength

/** Without names of members that ask for nothing. */
const withoutNeutralNames = (encoded: Encoded, { payload }: AnyRequest): Encoded => {
  const { dropped } = encoded
  if (dropped === undefined || dropped.length === 0) return encoded
  const named = withoutNeutral(dropped, payload)
  return named === dropped ? encoded : { ...encoded, dropped: named }
}

const encoding = ({ protocol, unary }: Endpoint, request: AnyRequest, host: Host): Result =>
  isUnary(request) ? encodeUnary(unary, request, host) : encodeChat(protocol, request, host)

const encodeUnary = (protocol: Endpoint["unary"], request: UnaryRequest<UnaryName>, host: Host): Result => {
  if (protocol === undefined) return notServed
  const { payload, dropped } = passing(request.operation, request.payload, protocol.passes, host)
  return named(protocol.encode(payload === undefined ? request : { ...request, payload }, host), dropped)
}

// For the type alone: a host whose provider does not serve the operation of its model has no endpoint.
const notServed: Result = Either.left(
  new Unsupported({ path: "model", reason: "its provider does not serve this operation" }),
)

const encodeChat = (protocol: Protocol, request: ChatRequest, host: Host): Result => {
  const { native } = request
  if (native !== undefined && protocol.native?.form === native.form)
    return protocol.native.encode(request, native, host)
  const { payload: passed, dropped } = passing(request.operation, request.payload, protocol.passes, host)
  const names = refusedToolNames(request.payload, protocol.longestToolName)
  const payload = names === undefined ? passed : withToolNames(passed ?? request.payload, names)
  const encoded = named(protocol.encode(payload === undefined ? request : { ...request, payload }, host), dropped)
  if (native === undefined) return encoded
  return Either.mapBoth(encoded, {
    onLeft: (left) => (left instanceof Unsupported ? withOwnPath(left, native) : left),
    onRight: (right) => ({ ...right, dropped: joinedNames(right.dropped ?? none, native.untranslated) }),
  })
}

/** `AnswerContext.toolNames` of a request that was written for this host. */
export const clientToolNames = ({ protocol }: Endpoint, { native, payload }: ChatRequest): ToolNameMap | undefined => {
  if (native !== undefined && protocol.native?.form === native.form) return undefined
  const names = refusedToolNames(payload, protocol.longestToolName)
  return names === undefined ? undefined : turned(names)
}

/**
 * A member of the chat format that multiplies the cost of images, and that some protocols translate. For all other
 * hosts it is an unknown member.
 */
const unmetered = "image_config"

const none: ReadonlyArray<string> = []
const unchanged = { payload: undefined, dropped: none }

/**
 * The payload without members that may not pass to the host unread, and their names. `undefined`: it has none of these.
 */
const passing = <Payload extends JsonObject>(
  operation: OperationName,
  payload: Payload,
  passes: Protocol["passes"],
  { extraMembers }: Host,
): { readonly payload: Payload | undefined; readonly dropped: ReadonlyArray<string> } => {
  const { members: canonical } = operations[operation]
  let dropped: Array<string> | undefined
  let changed: Map<string, Kept> | undefined
  for (const name in payload) {
    if ((canonical.has(name) && name !== unmetered) || extraMembers?.includes(name) === true) continue
    if (name === unmetered && passes !== "any") continue
    if (passes === "any" && isPlain.test(name)) {
      const kept = withoutMultiplying(name, payload[name])
      if (kept === undefined) continue
      changed ??= new Map()
      changed.set(name, kept)
      continue
    }
    if (passes !== "any" && passes?.includes(name) === true) continue
    // Appended to in place: a caller may send as many such members as a body may have.
    dropped ??= []
    dropped.push(name)
  }
  if (dropped === undefined && changed === undefined) return unchanged
  const kept: Payload & Record<string, unknown> = { ...payload }
  for (const name of dropped ?? none) Reflect.deleteProperty(kept, name)
  const named = (dropped ?? none).filter((name) => payload[name] != null)
  for (const [name, part] of changed ?? []) {
    if (part.value === undefined) Reflect.deleteProperty(kept, name)
    else Reflect.set(kept, name, part.value)
    named.push(...part.dropped)
  }
  return { payload: kept, dropped: named }
}

const named = (encoded: Result, dropped: ReadonlyArray<string>): Result =>
  Either.map(encoded, (right) => withNames(right, dropped))

const withNames = (encoded: Encoded, names: ReadonlyArray<string>): Encoded =>
  names.length === 0 ? encoded : { ...encoded, dropped: [...(encoded.dropped ?? []), ...names] }

const withOwnPath = ({ path, reason }: Unsupported, { pathOf }: NativeRequest): Unsupported =>
  new Unsupported({ path: pathOf(path), reason })

/** The request, unless what it says to the host is not the caller's to say. */
const judged = (encoded: Encoded, request: AnyRequest, host: Host): Result => {
  const payload = payloadOf(encoded)
  const found = payload === undefined ? undefined : findingInPayload(payload, maySearch(request, host))
  return found === undefined
    ? Either.right(encoded)
    : Either.left(new Unsupported({ path: found.path, reason: found.reason }))
}

/** Whether the request asks this host for a search, so that money for it is reserved. */
const maySearch = (request: AnyRequest, host: Host): boolean => {
  if (host.searches === undefined || isUnary(request)) return false
  const { needs } = request.routing
  return (
    request.payload["web_search_options"] != null ||
    needs.hosted?.some((tool) => tool.kind === "web_search" && runs(host, tool, needs)) === true
  )
}

/** The JSON that is sent. A body that is no JSON was written by a plugin for a protocol of its own. */
const payloadOf = ({ method, body, source }: Encoded): JsonObject | undefined => {
  if (method === "GET") return undefined
  if (source !== undefined && source.text === body) return source.json
  try {
    const parsed: unknown = JSON.parse(typeof body === "string" ? body : new TextDecoder().decode(body))
    return isJsonObject(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}
