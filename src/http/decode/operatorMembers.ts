/**
 * What the operator pays or owns at a host: members that change the price in a way that no price list says, and references
 * to what is stored in the operator's account, where it may be another caller's. Refused in every form, since members that
 * are not known are passed on to hosts.
 */

import { isJsonObject } from "../../domain/json/Json.ts"
import { reachesOut } from "../../domain/request/hostedTools.ts"
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
  workspace_id: refused(stored),
} satisfies Readonly<Record<string, Check>>

/** Tools that reach another server, or what is stored in the operator's account. */
export const checkOperatorTool = (type: string, path: string, issues: Issues): void => {
  if (reachesOut(type)) report(issues, `${path}.type`, `${quoted(type)} ${unusable}`)
}

const unusable = "is not supported: it reaches what belongs to the operator, or a server that the caller names"
