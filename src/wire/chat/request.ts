/** A canonical request in the words of one OpenAI-compatible host. Reference 6. On the way of every request: no copies but the outermost object. */
import type { ChatRequest } from "../../domain/Chat.ts"
import type { Host } from "../../domain/Host.ts"
import { isJsonObject, type JsonObject } from "../../domain/Json.ts"
import type { UpstreamRequest } from "../Form.ts"
import type { ChatQuirks } from "./quirks.ts"

/** Members that speak to the router, and members that are written anew below. */
const ours: ReadonlyArray<string> = [
  "__proto__",
  "model",
  "models",
  "route",
  "preset",
  "provider",
  "plugins",
  "transforms",
  "usage",
  "session_id",
  "trace",
  "debug",
  "stop_server_tools_when",
  "stream",
  "stream_options",
  "max_tokens",
  "max_completion_tokens",
  "reasoning",
  "reasoning_effort",
  "include_reasoning",
]

/** The router's additions to the vendor's own API: a host that is strict about its members refuses them. */
const additions: ReadonlyArray<string> = [
  "top_k",
  "top_a",
  "min_p",
  "repetition_penalty",
  "structured_outputs",
  "image_config",
  "cache_control",
]

/**
 * Left out for a host whose list of parameters does not have them. They shade an answer, they do not change what it is,
 * and who cannot do without asks for `require_parameters`.
 */
const shading: ReadonlySet<string> = new Set([
  "temperature",
  "top_p",
  "top_k",
  "top_a",
  "min_p",
  "frequency_penalty",
  "presence_penalty",
  "repetition_penalty",
  "seed",
  "verbosity",
])

type Writer = (request: ChatRequest, host: Host) => UpstreamRequest

/** How requests are written for hosts with these quirks. */
export const chatRequest = (quirks: ChatQuirks): Writer => {
  const { maxTokens = "max_tokens", strict = false, streamUsage = true, history = "reasoning" } = quirks
  const left = new Set([...ours, ...(strict ? additions : []), ...(quirks.drop ?? [])])
  const rewrites = strict || history !== "reasoning"
  return (request, host) => {
    const { body } = request
    const known = host.supportedParameters
    const out: Record<string, unknown> = { model: host.upstreamModel }
    for (const name in body) {
      if (left.has(name)) continue
      if (known.length > 0 && shading.has(name) && !known.includes(name)) continue
      out[name] = body[name]
    }
    const { messages, tools } = body
    if (rewrites && Array.isArray(messages)) {
      out["messages"] = messages.map((message: unknown) => plainMessage(message, strict, history))
    }
    if (strict && Array.isArray(tools)) out["tools"] = withoutCacheControl(tools)
    if (request.maxTokens !== undefined) out[maxTokens] = request.maxTokens
    writeReasoning(out, request, host, quirks)
    out["stream"] = request.stream
    if (request.stream && streamUsage) out["stream_options"] = { include_usage: true }
    return { path: "/chat/completions", body: out }
  }
}

const writeReasoning = (out: Record<string, unknown>, request: ChatRequest, host: Host, quirks: ChatQuirks): void => {
  const { body } = request
  if (body["reasoning"] == null && body["reasoning_effort"] == null && body["include_reasoning"] == null) return
  switch (quirks.reasoning ?? "effort") {
    case "none":
      return
    case "router":
      for (const name of ["reasoning", "reasoning_effort", "include_reasoning"]) {
        if (body[name] != null) out[name] = body[name]
      }
      return
    case "effort": {
      const known = host.supportedParameters
      if (known.length > 0 && !known.includes("reasoning") && !known.includes("reasoning_effort")) return
      const asked = effortAsked(request, host)
      const efforts = quirks.efforts?.(host.upstreamModel) ?? []
      const effort = asked === undefined || efforts.length === 0 ? asked : nearest(asked, efforts)
      if (effort !== undefined) out["reasoning_effort"] = effort
    }
  }
}

/** Efforts from least to most, with the share of the output that each may take. Reference 6.2. */
const ladder = ["minimal", "low", "medium", "high", "xhigh", "max"]
const shares = [0.1, 0.2, 0.5, 0.8, 0.95]

/** What the caller wants, in one word: named, as a token budget, or only switched on or off. */
const effortAsked = ({ body, maxTokens }: ChatRequest, host: Host): string | undefined => {
  const { reasoning, reasoning_effort: shorthand } = body
  if (isJsonObject(reasoning)) {
    const { effort, max_tokens: budget, enabled } = reasoning
    if (typeof effort === "string") return effort
    if (typeof budget === "number") return closestShare(budget / (maxTokens ?? host.maxCompletionTokens))
    if (enabled === false) return "none"
    if (enabled === true && typeof shorthand !== "string") return "medium"
  }
  return typeof shorthand === "string" ? shorthand : undefined
}

const closestShare = (share: number): string | undefined => {
  let best = 0
  for (const [at, one] of shares.entries()) {
    if (Math.abs(one - share) < Math.abs((shares[best] ?? 0) - share)) best = at
  }
  return ladder[best]
}

/** The effort itself, or the host's nearest, of two the lesser. A host that cannot do without reasoning is not asked for `none`. */
const nearest = (effort: string, efforts: ReadonlyArray<string>): string | undefined => {
  if (efforts.includes(effort)) return effort
  const wanted = ladder.indexOf(effort)
  if (wanted === -1) return undefined
  let best: string | undefined
  let distance = Number.POSITIVE_INFINITY
  for (const [at, step] of ladder.entries()) {
    if (!efforts.includes(step) || Math.abs(at - wanted) >= distance) continue
    best = step
    distance = Math.abs(at - wanted)
  }
  return best
}

type History = NonNullable<ChatQuirks["history"]>

const plainMessage = (message: unknown, strict: boolean, history: History): unknown => {
  if (!isJsonObject(message)) return message
  const plain: Record<string, unknown> = {}
  for (const name in message) {
    const value = message[name]
    switch (name) {
      case "__proto__":
        break
      case "cache_control":
        if (!strict) plain[name] = value
        break
      case "content":
        plain[name] = strict && Array.isArray(value) ? withoutCacheControl(value) : value
        break
      case "reasoning":
      case "reasoning_content":
        if (history === "reasoning") plain[name] = value
        else if (history === "reasoning_content" && value != null) plain["reasoning_content"] = value
        break
      case "reasoning_details":
        if (history === "reasoning") plain[name] = value
        break
      default:
        plain[name] = value
    }
  }
  return plain
}

/** The same array when none of its members carries one. */
const withoutCacheControl = (list: ReadonlyArray<unknown>): ReadonlyArray<unknown> => {
  if (!list.some((one) => isJsonObject(one) && one["cache_control"] !== undefined)) return list
  return list.map((one) => {
    if (!isJsonObject(one)) return one
    const { cache_control: _, ...rest }: JsonObject = one
    return rest
  })
}
