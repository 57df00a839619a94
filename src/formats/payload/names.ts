/** Which members of a request's JSON may not be sent, by their names in any spelling: they refer to stored things, or to servers to call. */

import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import { normalName } from "../../domain/request/hostedTools.ts"
import { addressFault, dataFault } from "./address.ts"
import { remembered } from "./remembered.ts"

/** Why a member's value may not be sent; `undefined`: it may. */
export type Rule = (value: unknown) => string | undefined

export const stored = "refers to something in the account of the operator, which is not allowed"
export const unusable = "is not supported: it reaches what belongs to the operator, or a server that the caller names"
const reaching = "names a server to call, which only the configuration may do"

/** Whether a value asks for nothing. */
const isEmpty = (value: unknown): boolean =>
  value == null ||
  value === false ||
  value === "" ||
  (typeof value === "object" && (Array.isArray(value) ? value.length === 0 : Object.keys(value).length === 0))

const refuses =
  (why: string): Rule =>
  (value) =>
    isEmpty(value) ? undefined : why

/** Refuses a text, or an object that has an id. */
const named: Rule = (value) =>
  typeof value === "string" ? refuses(stored)(value) : isJsonObject(value) && !isEmpty(value["id"]) ? stored : undefined

/** Refuses an object that has an id. A text under this name is no reference. */
const objectWithId: Rule = (value) => (isJsonObject(value) && !isEmpty(value["id"]) ? stored : undefined)

/** Refuses a container that exists already, and stored files that a new one is to have. */
const container: Rule = (value) =>
  isJsonObject(value) && value["type"] === "auto" ? objectWithId(value) : refuses(stored)(value)

const storedNames = [
  ...["file_id", "file_ids", "vector_store_id", "vector_store_ids", "collection_id", "collection_ids", "skill_id"],
  ...["previous_response_id", "comparison_response_id", "response_id", "previous_message_id", "conversation_id"],
  ...["container_id", "thread", "thread_id", "assistant_id", "attachments", "tool_resources", "cached_content"],
  ...["workspace_id", "user_profile_id", "fallback_credit_token", "prompt_id", "connector_id", "item_reference"],
  ...["file_search_store_names", "rag_resources", "knowledge_base_id", "s3_location", "skills"],
]
const reachingNames = ["server_url", "server_urls", "mcp_servers", "data_sources", "connector", "tunnel_id"]

const rules: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ...storedNames.map((name) => [normalName(name), refuses(stored)] as const),
  ...reachingNames.map((name) => [normalName(name), refuses(reaching)] as const),
  ["conversation", named],
  ["prompt", objectWithId],
  ["voice", objectWithId],
  ["container", container],
  [normalName("file_data"), addressFault],
  ["image", addressFault],
  ["video", addressFault],
])

/** Rules of members that depend on the member around them. */
const rulesInside: ReadonlyMap<string, Rule> = new Map([
  ["input_audio.data", dataFault],
  ["input_video.data", dataFault],
  ["input_file.data", dataFault],
])

/** The rule of a member; `null`: there is none. `inside`: the name of the member, or list, that its owner is or is in. */
export const ruleOf = (name: string, inside: string, owner?: JsonObject): Rule | null => {
  if (name === "data") return rulesInside.get(`${inside}.${name}`) ?? null
  // Skills of a shell on the client's machine are files there, not in the operator's account.
  if (name === "skills" && inside === "environment" && owner?.["type"] === "local") return null
  return ruleOfName(name)
}

const ruleOfName = remembered((name): Rule | null => {
  const normal = normalName(name)
  return rules.get(normal) ?? (/ur[li]s?$/.test(normal) ? addressFault : null)
})
