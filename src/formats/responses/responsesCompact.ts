/**
 * A request to compact a conversation, `POST /responses/compact`: as a client writes it, and as a host of the Responses form gets
 * it. It has little beside the input, and no bound of its output. Source: types of openai 7.55 (`ResponseCompactParams`), and
 * Microsoft's reference of Foundry ("Compact a conversation"), 2026-11.
 */
import * as Either from "effect/Either"
import { BadRequest } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { type JsonSchema, objectSchema, onlyFalse } from "../../domain/json/checks.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import { type ChatRequest, type NativeRequest, routerOnly } from "../../domain/request/request.ts"
import { type Encoded, jsonBody } from "../Protocol.ts"
import { most } from "../request/members.ts"
import type { ResponsesQuirks } from "./ResponsesQuirks.ts"
import { compactionReason } from "./responsesItems.ts"
import { inputOf } from "./responsesNative.ts"
import { decodeResponses, refusedMembers, responsesForm, responsesTable } from "./responsesRequest.ts"

// --- from a client

/** Members of the Responses form that are sent, are the router's, or are refused. */
const read: ReadonlySet<string> = new Set([
  ...["model", "input", "instructions", "image", "service_tier", "stream"],
  ...["prompt_cache_key", "prompt_cache_options", "prompt_cache_retention"],
  ...routerOnly,
  ...Object.keys(refusedMembers),
])

const isWhole = "must be false: a conversation that was compacted comes as a whole"

const readMembers = [...responsesTable.members].filter(([name, { kind }]) => read.has(name) && kind !== "dropped")

export const compactSchema: JsonSchema = {
  title: "CompactRequest",
  ...objectSchema({
    ...Object.fromEntries(readMembers.map(([name, { check }]) => [name, check])),
    stream: onlyFalse(isWhole),
  }),
  description: "Members that are not listed are not sent, and are named in X-GW-Dropped.",
  allOf: responsesTable.before.map(({ schema }) => schema),
}

export const decodeCompact = (body: JsonObject): Either.Either<ChatRequest, BadRequest> => {
  if (body["stream"] === true) return Either.left(noStream)
  const members = Object.entries(body)
  const others = members.filter(([name, value]) => !read.has(name) && asksForSomething(value)).map(([name]) => name)
  // A body with too many members is refused for all of them.
  const kept = members.length > most.members ? body : Object.fromEntries(members.filter(([name]) => read.has(name)))
  return Either.map(decodeResponses(kept), (request) => compacting(request, others))
}

const noStream = new BadRequest({ issues: [{ path: "stream", message: isWhole }] })

const asksForSomething = (value: unknown): boolean =>
  value !== null && value !== false && !(Array.isArray(value) && value.length === 0)

const compacting = (request: ChatRequest, others: ReadonlyArray<string>): ChatRequest => {
  const { routing, native, dropped = [] } = request
  return {
    ...request,
    routing: {
      ...routing,
      needs: { ...routing.needs, form: responsesForm, onlyForm: { path: "input", reason: compactionReason } },
    },
    // No host can be sent a bound, so its own is what money is reserved for.
    maxTokens: most.tokens,
    ...(native === undefined ? {} : { native: { ...native, compacts: true } satisfies NativeRequest }),
    ...(dropped.length + others.length === 0 ? {} : { dropped: [...dropped, ...others] }),
  }
}

// --- to a host

/** Members that are sent as they came. `encodeCompact` writes the others. */
const sentAsTheyCame = ["instructions", "image", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention"]

export const encodeCompact = (
  quirks: ResponsesQuirks,
  request: ChatRequest,
  { body, headers }: NativeRequest,
  { upstreamModel }: Host,
): Either.Either<Encoded> => {
  const sent: Record<string, unknown> = { model: upstreamModel, input: inputOf(body["input"], request, quirks) }
  const { payload } = request
  const dropped: Array<string> = []
  for (const name of sentAsTheyCame) {
    if (body[name] == null) continue
    if (quirks.drop?.includes(name) === true) dropped.push(name)
    else sent[name] = body[name]
  }
  if (typeof payload.service_tier === "string") sent["service_tier"] = payload.service_tier
  return Either.right({ path: "/responses/compact", headers, ...jsonBody(sent), dropped })
}
