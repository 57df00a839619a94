/**
 * Tools that a host runs itself, such as a web search, and those that the caller runs. A type is compared without its case and
 * surrounding blanks, so that another spelling is no way around; only the exact spelling of a type counts as the caller's own.
 * See docs/hosted-tools.md.
 */
import { isJsonObject, type JsonObject } from "../json/json.ts"

/**
 * - `web_search`: costs what `pricing.web_search` says.
 * - `own-form`: costs nothing but its tokens, for callers of the Messages form at hosts of that form: Anthropic's `web_fetch`. `unpriced` elsewhere.
 * - `unpriced`: no price list has a member for it, so that no host is asked to run it.
 */
export type HostedKind = "web_search" | "own-form" | "unpriced"

/** A tool that the host is to run, as the caller offers it. */
export interface HostedTool {
  /** In the caller's body: `tools[8]`, `input[0].tools[2]`, or `web_search_options`. */
  readonly path: string
  /** Among `tools` of the caller's body, or of the item; absent: it does not stand there. */
  readonly index?: number
  /** Among `input` of the caller's body, the item that adds it; absent: it stands in `tools` of the body. */
  readonly item?: number
  readonly kind: HostedKind
  /** How often it may be used at most, where the caller's form has a bound for it and the caller says so. */
  readonly uses?: number
  /** Whether the caller asks for it, and does not merely offer it: then only hosts that can run it are called. */
  readonly asked: boolean
}

/** Letters and digits of a name in lower case: `fileId`, `file_id` and ` FILE-ID ` are one name to some hosts. */
export const normalName = (name: string): string => (name.length <= longestName ? plainName(name) : cutName(name))

const plainName = (name: string): string => name.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "")

/** No name that means something has more letters and digits. */
const longestName = 128

/**
 * Of a name that may have megabytes, which a replacement of each blank would take a second for: what is at its beginning, up to more
 * than any known name has, and at its end.
 */
const cutName = (name: string): string => {
  let head = ""
  for (const [letters] of name.matchAll(/[\p{L}\p{N}]{1,128}/gu)) {
    head += letters
    if (head.length > longestName) return plainName(head) + plainName(name.slice(-longestName))
  }
  return plainName(head)
}

/** A type without case, blanks, a router's prefix, and the date of its version. */
const normalType = (type: string): string =>
  type
    .trim()
    .toLowerCase()
    .replace(/^(?:open)?router:/, "")
    .replace(/_(?:\d{8}|\d{4}_\d{2}_\d{2})$/, "")

/** Tools whose calls the caller carries out, by their exact types. */
const clientRun =
  /^(?:function|custom|namespace|local_shell|apply_patch|computer|computer_use|computer_use_preview|(?:bash|text_editor|computer|memory|computer_toolset|browser_toolset)_\d{8})$/

/** Tools that reach another server, or what is stored at the host, by what they are. */
const reaching = [
  ...["mcp", "mcp_toolset", "connector", "file_search", "collections_search", "retrieval", "knowledge_base"],
  ...["azure_ai_search", "agent"],
]
const reachingTypes: ReadonlySet<string> = new Set(reaching)

/** A regular expression of the types that are refused, in lower case: for a JSON Schema, which cannot ignore case. */
export const reachingPattern = `^\\s*((open)?router:)?(${reaching.join("|")})(_\\d{8}|_\\d{4}_\\d{2}_\\d{2})?\\s*$`

/** Whether the tool is refused: it reaches something of the operator's, or an address. */
export const reachesOut = (type: string): boolean => reachingTypes.has(normalType(type))

const search = /^web_search(?:_preview)?$/
const ofMessages = /^(?:web_fetch|tool_search_tool_[a-z0-9]+)$/

/** What runs a tool; `client`: its caller does. Without a type it is a function of the Messages form. */
export const runnerOf = (tool: JsonObject): "client" | HostedKind => {
  const { type } = tool
  if (type == null) return "client"
  if (typeof type !== "string") return "unpriced"
  if (clientRun.test(type)) return "client"
  if (type === "tool_search" && tool["execution"] === "client") return "client"
  const { environment } = tool
  if (type === "shell" && isJsonObject(environment) && environment["type"] === "local") return "client"
  const plain = normalType(type)
  if (search.test(plain)) return "web_search"
  return ofMessages.test(plain) ? "own-form" : "unpriced"
}

/** What two tools, or a tool and a choice, of the same kind have in common; `undefined`: it is no type. */
export const kindOfType = (type: unknown): string | undefined => {
  if (typeof type !== "string") return undefined
  const plain = normalType(type)
  return search.test(plain) ? "web_search" : plain
}

/** Whether two tools, or a tool and a choice, are of the same kind by their types. */
export const isSameType = (one: unknown, other: unknown): boolean => {
  const kind = kindOfType(one)
  return kind !== undefined && kind === kindOfType(other)
}
