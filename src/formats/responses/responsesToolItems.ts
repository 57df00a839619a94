/** Items about tools that the caller runs: their checks, and their translation to the canonical form. */

import { anyObject, type Check, filledText, listOf, objectOf, oneOf, text } from "../../domain/json/checks.ts"
import { isJsonObject, type JsonObject, objectsIn, textOr } from "../../domain/json/json.ts"
import type { Message, ToolCall } from "../../domain/request/chat.ts"
import { type Dropped, dropOthers } from "../request/Dropped.ts"
import { agentContent, readableParts, translatedContent } from "./responsesParts.ts"
import {
  byClient,
  callerToolKinds,
  identityOf,
  kindOfCall,
  kindOfResult,
  kindOfTool,
  membersOf,
} from "./responsesToolKinds.ts"
import type { ToolNames } from "./responsesToolNames.ts"
import { tools } from "./responsesTools.ts"

export const toolItems: ReadonlyArray<readonly [type: string, check: Check]> = [
  ...callerToolKinds.flatMap(({ call, result }) => [call, result].map(({ type, check }) => [type, check] as const)),
  // Replaces the check of its kind, which does not look at the tools.
  ["tool_search_output", objectOf({ call_id: filledText, execution: byClient, tools }, "call_id", "tools")],
  ["additional_tools", objectOf({ role: oneOf("developer"), tools }, "tools")],
  ["computer_call", objectOf({ call_id: filledText, action: anyObject, actions: listOf(anyObject) }, "call_id")],
  ["computer_call_output", objectOf({ call_id: filledText, output: anyObject }, "call_id", "output")],
  ["agent_message", objectOf({ author: text, recipient: text, content: agentContent }, "content")],
]

/** What the items of one input are translated with. */
export interface ItemContext {
  readonly names: ToolNames
  readonly dropped: Dropped
  /** The id of the call that a result of a local shell belongs to, by the result's own. */
  readonly shellCallId: (id: unknown) => string
}

/** `items`: of the whole input. */
export const itemContext = (items: ReadonlyArray<unknown>, names: ToolNames, dropped: Dropped): ItemContext => {
  let callIds: Map<unknown, unknown> | undefined
  return {
    names,
    dropped,
    shellCallId: (id) => {
      callIds ??= shellCallIds(items)
      return textOr(callIds.get(id) ?? id, "")
    },
  }
}

/** In the vendor's types the result of a local shell has only `id`: that of the call, which is the call's own or its item's. */
const shellCallIds = (items: ReadonlyArray<unknown>): Map<unknown, unknown> => {
  const calls = objectsIn(items).filter(({ type }) => type === "local_shell_call")
  return new Map(calls.map((call) => [call["id"], call["call_id"]]))
}

/** The call that an item is; `undefined`: it is none. */
export const callOf = (item: JsonObject, path: string, { names, dropped }: ItemContext): ToolCall | undefined => {
  const kind = kindOfCall(item)
  if (kind === undefined) return undefined
  dropOthers(item, kind.call.members, path, dropped)
  return {
    id: textOr(item["call_id"], ""),
    type: "function",
    function: { name: names.nameOf(identityOf(kind, item)), arguments: kind.argumentsOf(item) },
  }
}

/** The result of a call that an item is; `undefined`: it is none. */
export const resultOf = (
  item: JsonObject,
  path: string,
  { names, dropped, shellCallId }: ItemContext,
): Message | undefined => {
  const kind = kindOfResult(item)
  if (kind === undefined) return undefined
  dropOthers(item, kind.result.members, path, dropped)
  const isSearch = item["type"] === "tool_search_output"
  const content = isSearch ? foundTools(item["tools"], names) : kind.contentOf(item, path, dropped)
  return { role: "tool", tool_call_id: textOr(item["call_id"], undefined) ?? shellCallId(item["id"]), content }
}

/** What a search has found, by the names under which the model may call it. */
const foundTools = (found: unknown, names: ToolNames): string => {
  const lines = objectsIn(found).flatMap((tool) =>
    tool["type"] === "namespace"
      ? membersOf(tool).flatMap((inner) => foundTool(inner, textOr(tool["name"], ""), names))
      : foundTool(tool, undefined, names),
  )
  return lines.length === 0 ? "No tools were found." : ["These tools can be called now:", ...lines].join("\n")
}

/** `namespace`: in which it was found. What the tool itself says of one counts no more than where it is offered. */
const foundTool = (tool: JsonObject, namespace: string | undefined, names: ToolNames): ReadonlyArray<string> => {
  const kind = kindOfTool(tool)
  if (kind === undefined) return []
  const { description } = tool
  const about = typeof description === "string" && description !== "" ? `: ${description}` : ""
  return [`- ${names.nameOf({ ...identityOf(kind, tool), namespace })}${about}`]
}

const agentMembers = new Set(["type", "id", "status", "author", "recipient", "content"])

/** What one agent tells another, as a message of the user. What hosts of this form have encrypted is for them alone. */
export const agentMessage = (item: JsonObject, path: string, dropped: Dropped): Message => {
  dropOthers(item, agentMembers, path, dropped)
  const head = `Message from ${textOr(item["author"], "an agent")} to ${textOr(item["recipient"], "an agent")}:`
  const { content: given } = item
  const content = Array.isArray(given) ? readableParts(given) : given
  for (const [at, part] of Array.isArray(content) ? content.entries() : []) {
    if (isJsonObject(part) && part["type"] === "encrypted_content") dropped.push(`${path}.content[${at}]`)
  }
  const translated = translatedContent(content, `${path}.content`, dropped)
  const listed = typeof translated === "string" ? [{ type: "text" as const, text: translated }] : translated
  return { role: "user", content: [{ type: "text", text: head }, ...listed] }
}
