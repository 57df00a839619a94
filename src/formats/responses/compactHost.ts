/**
 * A conversation that a host of the Responses form is to compact: `POST /responses/compact`. The endpoint takes little beside the
 * input, and no bound of its output. Source: types of openai 7.55 (`ResponseCompactParams`), and Microsoft's reference of Foundry
 * ("Compact a conversation"), 2026-11.
 */
import * as Either from "effect/Either"
import type { Host } from "../../domain/hosts/Host.ts"
import type { ChatRequest, NativeRequest } from "../../domain/request/request.ts"
import { type Encoded, jsonBody } from "../Protocol.ts"
import { inputOf } from "./nativeResponses.ts"
import type { ResponsesQuirks } from "./ResponsesQuirks.ts"

/** Members that are sent as they came, beside those that are written anew. */
const known = ["instructions", "image", "prompt_cache_key", "prompt_cache_options", "prompt_cache_retention"]

export const encodeCompact = (
  quirks: ResponsesQuirks,
  request: ChatRequest,
  { body, headers }: NativeRequest,
  { upstreamModel }: Host,
): Either.Either<Encoded> => {
  const sent: Record<string, unknown> = { model: upstreamModel, input: inputOf(body["input"], request, quirks) }
  const { payload } = request
  const dropped: Array<string> = []
  for (const name of known) {
    if (body[name] == null) continue
    if (quirks.drop?.includes(name) === true) dropped.push(name)
    else sent[name] = body[name]
  }
  if (typeof payload.service_tier === "string") sent["service_tier"] = payload.service_tier
  return Either.right({ path: "/responses/compact", headers, ...jsonBody(sent), dropped })
}
