/**
 * What the operator pays or owns at a host: members that change the price in a way that no price list says, and references
 * to what is stored in the operator's account, where it may be another caller's. Refused in every form, since members that
 * are not known are passed on to hosts.
 */

import {
  type Check,
  checkOf,
  checkThat,
  emptyList,
  exactly,
  type JsonSchema,
  quoted,
  refused,
  report,
} from "../../domain/json/checks.ts"
import { isJsonObject } from "../../domain/json/json.ts"
import { reachesOut, reachingPattern } from "../../domain/request/hostedTools.ts"
import { stored, unusable } from "../payload/names.ts"

const billing = checkThat(
  { type: "object", properties: { bill_to: { const: "self" } } },
  (value) => isJsonObject(value) && (value["bill_to"] === undefined || value["bill_to"] === "self"),
  "must bill the operator",
)

export const operatorMembers = {
  speed: exactly("standard", "must be standard: the gateway has no price for another speed"),
  inference_geo: exactly(
    "global",
    "must be global: another region may cost more than what is reserved for the request",
  ),
  container: refused(stored),
  thread: refused(
    "is not supported: no conversations are kept here. With thread: false, Anthropic's SDKs send the whole conversation",
  ),
  fallback_credit_token: refused(stored),
  user_profile_id: refused(stored),
  billing_policy: billing,
  mcp_servers: emptyList("is not supported: call MCP servers yourself, and give their tools"),
  previous_response_id: refused(stored),
  conversation: refused(stored),
  vector_store_ids: emptyList(stored),
  cached_content: refused(stored),
  workspace_id: refused(stored),
} satisfies Readonly<Record<string, Check>>

/** The type of a tool that reaches nothing of others. */
export const reachesNothing: JsonSchema = { properties: { type: { not: { pattern: reachingPattern } } } }

/** A tool that is no function. Those that hosts run are judged for each host (`hosted.ts`). Refused are those that reach another server, or what is stored in the operator's account. */
export const otherTool: Check = checkOf(reachesNothing, (value, path, issues) => {
  const type = isJsonObject(value) ? value["type"] : undefined
  if (typeof type === "string" && reachesOut(type)) report(issues, `${path}.type`, `${quoted(type)} ${unusable}`)
})
