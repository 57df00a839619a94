/**
 * What the operator pays or owns at a host: members that change the price in a way that no price list says, and references
 * to what is stored in the operator's account, where it may be another caller's. Refused in every form, since members that
 * are not known are passed on to hosts.
 */
import { isJsonObject, type JsonObject } from "../../domain/Json.ts"
import { type Check, type Issues, quoted, report } from "./checks.ts"

/** Refuses a member that asks for something, with a sentence. */
export const refused =
  (why: string, allowed: (value: unknown) => boolean = () => false): Check =>
  (value, path, issues) => {
    if (value !== null && !allowed(value)) report(issues, path, why)
  }

export const stored = "refers to something in the account of the operator, which is not allowed"

const standardBilling = (value: unknown): boolean =>
  isJsonObject(value) && (value["bill_to"] === undefined || value["bill_to"] === "self")

const isEmptyList = (value: unknown): boolean => Array.isArray(value) && value.length === 0

export const operatorMembers = {
  speed: refused("must be standard: the gateway has no price for another speed", (value) => value === "standard"),
  inference_geo: refused("is not supported: the gateway has no price for a region", (value) => value === "global"),
  container: refused(stored),
  thread: refused(stored),
  fallback_credit_token: refused(stored),
  user_profile_id: refused(stored),
  billing_policy: refused("must bill the operator", standardBilling),
  mcp_servers: refused("is not supported: call MCP servers yourself, and give their tools", isEmptyList),
  previous_response_id: refused(stored),
  conversation: refused(stored),
  vector_store_ids: refused(stored, isEmptyList),
  cached_content: refused(stored),
} satisfies Readonly<Record<string, Check>>

/** Tools of hosts that run code, search files or call others in the name of the operator. */
export const operatorTool =
  /^(?:mcp|mcp_toolset|connector|file_search|collections_search|code_interpreter|code_execution|advisor)(?:_\d{8})?$/

export const checkOperatorTool = (type: string, path: string, issues: Issues): void => {
  if (!operatorTool.test(type)) return
  const why = "is not supported: the gateway knows no price for it, or it reaches what belongs to the operator"
  report(issues, `${path}.type`, `${quoted(type)} ${why}`)
}

/** Whether a value refers, at any depth, to a file that was stored at the host before. */
export const namesStoredFile = (value: unknown): boolean => {
  if (Array.isArray(value)) return value.some(namesStoredFile)
  if (!isJsonObject(value)) return false
  const { type, source, file_id: id }: JsonObject = value
  if (type === "container_upload" || typeof id === "string") return true
  if (isJsonObject(source) && source["type"] === "file") return true
  return Object.entries(value).some(([name, inner]) => name !== "input" && namesStoredFile(inner))
}
