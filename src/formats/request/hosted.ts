/**
 * The tools of a body that the host is to run. They are taken out of the canonical tools, and each host is asked for those that it
 * can run at a price that is known: `domain/routing/HostRequest.ts`. A web search is `web_search_options` there.
 */

import { isJsonObject, type JsonObject, objectsIn } from "../../domain/json/json.ts"
import type { ChatPayload } from "../../domain/request/chat.ts"
import type { FormName } from "../../domain/request/forms.ts"
import { type HostedTool, kindOfType, runnerOf } from "../../domain/request/hostedTools.ts"
import { addsTools, offeredIn, pathOfOffered } from "./offered.ts"

const messagesForm: FormName = "messages"
const responsesForm: FormName = "responses"

export interface Parted {
  /** Without tools that hosts run. */
  readonly payload: ChatPayload
  readonly hosted: ReadonlyArray<HostedTool>
}

const none: ReadonlyArray<HostedTool> = []

/** `body`: as the caller wrote it, checked. `form`: the caller's. */
export const withoutHosted = (payload: ChatPayload, body: JsonObject, form: string): Parted => {
  const option = body["web_search_options"] != null
  const choice = body["tool_choice"]
  const isChoice = isJsonObject(choice) && !choiceKinds.has(choice["type"])
  const items = form === responsesForm ? body["input"] : undefined
  if (!option && !isChoice && !hasHosted(body["tools"]) && !hasHostedItem(items)) return { payload, hosted: none }
  const offered = offeredIn({ tools: body["tools"], input: items })
  const forced = isForced(choice) && offered.every(({ tool }) => isHosted(tool))
  const isChosen = chosenBy(choice)
  const hosted: Array<HostedTool> = []
  let search: JsonObject | undefined
  for (const one of offered) {
    const { tool, item, index } = one
    const runner = runnerOf(tool)
    if (runner === "client") continue
    // What costs tokens alone in the Messages form may have a price of its own elsewhere.
    const kind = runner === "own-form" && form !== messagesForm ? "unpriced" : runner
    // Other forms have no such member, so their hosts would not keep to it.
    const uses = form === messagesForm ? tool["max_uses"] : undefined
    if (kind === "web_search") search ??= searchOptions(tool)
    hosted.push({
      path: pathOfOffered(one),
      index,
      ...(item === undefined ? {} : { item }),
      kind,
      ...(typeof uses === "number" && uses >= 1 ? { uses: Math.floor(uses) } : {}),
      asked: forced || isChosen(tool),
    })
  }
  if (option) hosted.push({ path: "web_search_options", kind: "web_search", asked: true })
  else if (isChoice && !hosted.some(({ asked }) => asked))
    hosted.push({
      path: "tool_choice",
      kind: runnerOf(choice) === "web_search" ? "web_search" : "unpriced",
      asked: true,
    })
  const chosen = hosted.some(({ index, asked }) => asked && index !== undefined) && isNamedTool(choice)
  return { payload: parted(payload, search, chosen), hosted }
}

const hasHosted = (tools: unknown): boolean => Array.isArray(tools) && tools.some(isHosted)

/** Whether an item adds a tool that hosts run. */
const hasHostedItem = (input: unknown): boolean =>
  Array.isArray(input) && input.some((item) => addsTools(item) && hasHosted(item["tools"]))

const isHosted = (tool: unknown): boolean => isJsonObject(tool) && runnerOf(tool) !== "client"

/** Types of a choice that name no tool of a host. */
const choiceKinds: ReadonlySet<unknown> = new Set([
  ...["function", "custom", "allowed_tools", "auto", "any", "none", "tool", "required", "local_shell", "apply_patch"],
  ...["shell", "computer", "computer_use", "computer_use_preview", "tool_search"],
])

/** Whether some tool has to be called, whichever it is. */
const isForced = (choice: unknown): boolean =>
  choice === "required" ||
  (isJsonObject(choice) &&
    (choice["type"] === "any" || (choice["type"] === "allowed_tools" && allowed(choice)["mode"] === "required")))

const allowed = (choice: JsonObject): JsonObject =>
  isJsonObject(choice["allowed_tools"]) ? choice["allowed_tools"] : choice

/** Whether a choice is a tool: by its type, or, in the Messages form, by its name. */
const chosenBy = (choice: unknown): ((tool: JsonObject) => boolean) => {
  if (!isJsonObject(choice)) return () => false
  if (choice["type"] === "tool") return (tool) => choice["name"] === tool["name"]
  const kind = choice["type"] === "allowed_tools" ? onlyRequired(choice) : kindOfType(choice["type"])
  return (tool) => kind !== undefined && kind === kindOfType(tool["type"])
}

/** The kind that all tools have among which one has to be called; `undefined`: there is none. */
const onlyRequired = (choice: JsonObject): string | undefined => {
  const { mode, tools } = allowed(choice)
  const kinds = new Set(objectsIn(tools).map(({ type }) => kindOfType(type)))
  const [kind] = kinds
  return mode === "required" && kinds.size === 1 ? kind : undefined
}

/** Whether a choice is one of the Messages form, by a tool's name. */
const isNamedTool = (choice: unknown): boolean => isJsonObject(choice) && choice["type"] === "tool"

/** The payload without the tools that hosts run. `search`: options of a search among them. `isHostedChosen`: the choice names one of them. */
const parted = (payload: ChatPayload, search: JsonObject | undefined, isHostedChosen: boolean): ChatPayload => {
  const { tools, tool_choice: choice, ...rest } = payload
  const left = (tools ?? []).filter((tool) => runnerOf(tool) === "client")
  const options = payload["web_search_options"] ?? search
  const kept = isHostedChosen ? undefined : isJsonObject(choice) ? keptChoice(choice) : choice
  return {
    ...rest,
    ...(left.length === 0 ? {} : { tools: left }),
    ...(kept == null ? {} : { tool_choice: kept }),
    ...(options == null ? {} : { web_search_options: options }),
  }
}

/** A choice without tools of hosts. */
const keptChoice = (choice: JsonObject & { readonly type: string }): ChatPayload["tool_choice"] => {
  if (!choiceKinds.has(choice.type)) return undefined
  if (choice.type !== "allowed_tools") return choice
  const within = allowed(choice)
  const tools = objectsIn(within["tools"])
  const left = tools.filter((tool) => !isHosted(tool))
  if (left.length === tools.length) return choice
  if (left.length === 0) return undefined
  return within === choice ? { ...choice, tools: left } : { ...choice, allowed_tools: { ...within, tools: left } }
}

/** The options of a search tool as `web_search_options`, where the place is one level deeper. */
const searchOptions = ({ search_context_size: size, user_location: place }: JsonObject): JsonObject => {
  if (!isJsonObject(place)) return typeof size === "string" ? { search_context_size: size } : {}
  const { type: _, approximate, ...rest }: JsonObject = place
  return {
    ...(typeof size === "string" ? { search_context_size: size } : {}),
    user_location: { type: "approximate", approximate: isJsonObject(approximate) ? approximate : rest },
  }
}
