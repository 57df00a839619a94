/** The request as one host gets it: without what the host is known not to support, with what the model's variant adds. Pure. */

import type { Host } from "../hosts/Host.ts"
import { hostFacts, maySupport } from "../hosts/hostFacts.ts"
import { isJsonObject, type JsonObject, objectsIn } from "../json/json.ts"
import { joinedNames } from "../request/droppedNames.ts"
import { type HostedTool, kindOfType } from "../request/hostedTools.ts"
import { withoutNeutral } from "../request/neutralMembers.ts"
import { type AnyRequest, type AnyUnaryRequest, isUnary, unaryOperations } from "../request/operations.ts"
import { namesWhere } from "../request/placedParameters.ts"
import {
  type Bounds,
  type ChatRequest,
  mostSearches,
  type Needs,
  type Reasoning,
  reading,
  searching,
} from "../request/request.ts"
import { isInForm, runs, takesChoice } from "./routeFilters.ts"
import type { Adjustment } from "./variants.ts"

export interface HostRequest<Request extends AnyRequest = AnyRequest> {
  /** The same object when nothing changes, as usual. */
  readonly request: Request
  /** Members that the caller sent and the host does not get. */
  readonly dropped: ReadonlyArray<string>
}

/** Never removed: fields of `ChatRequest` are no members of the payload. */
const kept: ReadonlySet<string> = new Set(namesWhere(({ support }) => support === "field"))

const none: ReadonlyArray<string> = []

/** Members of the request that this host does not get, since it lists its parameters and these are not among them. */
const droppedParameters = (request: ChatRequest, host: Host): ReadonlyArray<string> => {
  const { routing } = request
  const facts = hostFacts(host)
  let dropped: Array<string> | undefined
  const drop = (name: string): void => {
    dropped ??= []
    dropped.push(name)
  }
  const noTools = !maySupport(facts, "tools")
  for (const name of routing.parameters) {
    if (kept.has(name)) continue
    const ofTools = name === "tool_choice" || name === "parallel_tool_calls"
    if (!maySupport(facts, name) || (ofTools && noTools)) drop(name)
    // Without `none` the host might call tools that it must not call, so that one is left to the host.
    else if (
      name === "tool_choice" &&
      routing.needs.toolChoice !== "none" &&
      !takesChoice(routing.needs.toolChoice, host)
    )
      drop(name)
  }
  if (wantsReasoning(request.reasoning) && !maySupport(facts, "reasoning")) {
    drop(request.reasoning.written["reasoning"] == null ? "reasoning_effort" : "reasoning")
  }
  // A host without a tier would charge for one, and we would not know.
  const { serviceTier } = routing.preferences
  if (facts.tier === null && (serviceTier === "flex" || serviceTier === "priority")) drop("service_tier")
  return dropped ?? none
}

/** Whether the caller said how much reasoning there is to be, and not only how it is shown. */
const wantsReasoning = ({ effort, maxTokens, enabled }: Reasoning): boolean =>
  effort !== undefined || maxTokens !== undefined || enabled !== undefined

/** The request for one host of a plan. `adjustment`: what the variant in the model's name asks for. */
export const requestFor = (request: AnyRequest, host: Host, adjustment: Adjustment | undefined): HostRequest => {
  const fitting = fittingFor(request, host, adjustment)
  const { dropped = none } = request
  return dropped.length === 0 ? fitting : { ...fitting, dropped: [...dropped, ...fitting.dropped] }
}

const fittingFor = (request: AnyRequest, host: Host, adjustment: Adjustment | undefined): HostRequest => {
  return isUnary(request) ? unaryFor(request, host) : chatFor(request, host, adjustment)
}

const unaryFor = <Request extends AnyUnaryRequest>(request: Request, host: Host): HostRequest<Request> => {
  const facts = hostFacts(host)
  const dropped = request.routing.parameters.filter((name) => !maySupport(facts, name))
  // Tiers are prices of a chat: what a host of another operation would charge for one is not known.
  if (request.payload["service_tier"] != null) dropped.push("service_tier")
  if (dropped.length === 0) return { request, dropped: none }
  const payload: Record<string, unknown> = { ...request.payload }
  for (const name of dropped) delete payload[name]
  const { madeHere } = unaryOperations[request.operation]
  const named = withoutNeutral(dropped, request.payload).filter((name) => !madeHere.has(name))
  return { request: { ...request, payload }, dropped: named }
}

const chatFor = (request: ChatRequest, host: Host, adjustment: Adjustment | undefined): HostRequest<ChatRequest> => {
  const { request: asked, dropped: hosted } = withoutHosted(
    adjustment === undefined ? request : adjusted(request, adjustment),
    host,
    adjustment?.searches === true,
  )
  const lacking = droppedParameters(asked, host)
  const named = withoutNeutral(lacking, asked.payload)
  const dropped = joinedNames(named, hosted)
  const { tier } = hostFacts(host)
  if (lacking.length === 0 && (tier === null || asked.payload.service_tier === tier)) return { request: asked, dropped }
  const payload = { ...asked.payload }
  for (const name of lacking) delete payload[name]
  if (tier !== null) payload.service_tier = tier
  return { request: { ...asked, payload, reasoning: reasoningFor(asked.reasoning, host) }, dropped }
}

/**
 * The request without the tools that this host is not to run. Where no tool is left, the choice among them goes too. `online`:
 * a search is wanted by a variant of the model's name.
 */
const withoutHosted = (request: ChatRequest, host: Host, online: boolean): HostRequest<ChatRequest> => {
  const { needs } = request.routing
  const { hosted } = needs
  if (hosted === undefined) return { request, dropped: none }
  const lost = hosted.filter((tool) => !runs(host, tool, needs))
  const dropped = lost.map(({ path }) => path)
  const searches = online || hosted.some((tool) => tool.kind === "web_search" && !lost.includes(tool))
  const payload = { ...request.payload }
  if (!searches) delete payload["web_search_options"]
  const noFunctions = payload.tools == null || payload.tools.length === 0
  if (noFunctions) delete payload.tools
  const native = request.native && {
    ...request.native,
    body: withoutTools(withoutChoices(request.native.body, lost), lost),
  }
  if (noFunctions && lost.length === hosted.length && !online) {
    for (const name of ["tool_choice", "parallel_tool_calls"]) {
      if (payload[name] == null) continue
      delete payload[name]
      // Beside tools that only hosts of the caller's form know, the choice is sent to them.
      const isSent = isInForm(host, needs) && native?.body[name] != null && !request.routing.parameters.includes(name)
      if (!isSent) dropped.push(name)
    }
  }
  const bounds = boundsFor(needs, request.bounds, host)
  return { request: { ...request, payload, bounds, ...(native === undefined ? {} : { native }) }, dropped }
}

/** The caller's own body without some of its tools. Where no tool is left, the choice among them goes too. */
const withoutTools = (body: JsonObject, lost: ReadonlyArray<HostedTool>): JsonObject => {
  const places = placesOf(lost)
  if (places.size === 0) return body
  const { tools, input, tool_choice: choice, parallel_tool_calls: parallel, ...rest } = body
  const left = leftOf(tools, places.get(undefined))
  const items = Array.isArray(input) ? input.map((item: unknown, at) => itemWithout(item, places.get(at))) : input
  const isAnyLeft = left.length > 0 || objectsIn(items).some((item) => objectsIn(item["tools"]).length > 0)
  return {
    ...rest,
    ...(input === undefined ? {} : { input: items }),
    ...(left.length === 0 ? {} : { tools: left }),
    ...(choice === undefined || !isAnyLeft ? {} : { tool_choice: choice }),
    ...(parallel === undefined || !isAnyLeft ? {} : { parallel_tool_calls: parallel }),
  }
}

/** The caller's own body, its choice without some of its tools. A host refuses a choice of a tool that it is not sent. */
const withoutChoices = (body: JsonObject, lost: ReadonlyArray<HostedTool>): JsonObject => {
  const { tool_choice: choice } = body
  if (lost.length === 0 || !isJsonObject(choice) || choice["type"] !== "allowed_tools") return body
  const kinds = new Set(lost.map((tool) => kindOfType(typeAt(body, tool))))
  kinds.delete(undefined)
  const allowed: ReadonlyArray<unknown> = Array.isArray(choice["tools"]) ? choice["tools"] : []
  const left = allowed.filter((tool) => !(isJsonObject(tool) && kinds.has(kindOfType(tool["type"]))))
  if (left.length === allowed.length) return body
  return { ...body, tool_choice: left.length === 0 ? "none" : { ...choice, tools: left } }
}

const typeAt = ({ tools, input }: JsonObject, { item, index }: HostedTool): unknown => {
  const owner = item === undefined ? { tools } : Array.isArray(input) ? input[item] : undefined
  const offered: unknown = isJsonObject(owner) ? owner["tools"] : undefined
  const tool: unknown = Array.isArray(offered) && index !== undefined ? offered[index] : undefined
  return isJsonObject(tool) ? tool["type"] : undefined
}

type Places = ReadonlyMap<number | undefined, ReadonlySet<number>>

/** The indexes of tools by the item that adds them; `undefined`: those of the body itself. */
const placesOf = (lost: ReadonlyArray<HostedTool>): Places => {
  const places = new Map<number | undefined, Set<number>>()
  for (const { item, index } of lost) {
    if (index === undefined) continue
    const known = places.get(item)
    if (known === undefined) places.set(item, new Set([index]))
    else known.add(index)
  }
  return places
}

const leftOf = (tools: unknown, lost: ReadonlySet<number> | undefined): ReadonlyArray<unknown> =>
  Array.isArray(tools) ? tools.filter((_, at) => lost?.has(at) !== true) : []

const itemWithout = (item: unknown, lost: ReadonlySet<number> | undefined): unknown =>
  lost !== undefined && isJsonObject(item) ? { ...item, tools: leftOf(item["tools"], lost) } : item

/** The bounds of a request at a host: with what the tools that the host runs may cost and read. */
export const boundsFor = (needs: Needs, bounds: Bounds, host: Host): Bounds => {
  const run = needs.hosted?.filter((tool) => runs(host, tool, needs)) ?? []
  if (run.length === 0) return bounds
  const searchTools = run.filter(({ kind }) => kind === "web_search")
  if (searchTools.length === 0) return reading(bounds)
  // A caller's bound holds where its tool is sent as it is: other forms have none for a tool.
  const isSentAsItIs = isInForm(host, needs)
  const searches = searchTools.reduce(
    (sum, { uses = mostSearches }) => sum + (isSentAsItIs ? Math.min(uses, mostSearches) : mostSearches),
    0,
  )
  return { ...searching(bounds), searches: Math.max(bounds.searches, searches) }
}

const reasoningFor = (reasoning: Reasoning, host: Host): Reasoning =>
  maySupport(hostFacts(host), "reasoning")
    ? reasoning
    : { effort: undefined, maxTokens: undefined, enabled: undefined, exclude: reasoning.exclude, written: {} }

const adjusted = (request: ChatRequest, { thinks, searches }: Adjustment): ChatRequest => {
  const { payload, reasoning } = request
  const search = searches && payload["web_search_options"] == null
  return {
    ...request,
    bounds: searches ? searching(request.bounds) : request.bounds,
    payload: search ? { ...payload, web_search_options: {} } : payload,
    reasoning: thinks ? thinking(reasoning) : reasoning,
  }
}

/** Reasoning that is on by default: what the caller says of it counts. */
const thinking = (reasoning: Reasoning): Reasoning => {
  const { effort, maxTokens, enabled, written } = reasoning
  if (effort !== undefined || maxTokens !== undefined || enabled !== undefined) return reasoning
  const before = isJsonObject(written["reasoning"]) ? written["reasoning"] : {}
  return { ...reasoning, enabled: true, written: { ...written, reasoning: { ...before, enabled: true } } }
}
