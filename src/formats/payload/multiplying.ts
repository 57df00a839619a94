/**
 * Finds members that multiply what a request costs, or make a host do more, and that the meter does not count: the
 * number and size of answers or images, how long the host may think or write, what it does besides. Hosts without a
 * documented API get unknown members unread, except for these. See docs/guarantees.md#g36.
 */
import { isJsonObject, type JsonObject } from "../../domain/json/json.ts"
import { normalName } from "../../domain/request/hostedTools.ts"
import { remembered } from "./remembered.ts"

/** What a host can make several of. */
const things =
  "(?:candidate|image|output|generation|result|sample|completion|sequence|returnsequence|variation|choice|answer|video|beam)s?"

/** Kinds of members, by normalized name (`normalName`). */
const kinds: Readonly<Record<"count" | "size" | "work", ReadonlyArray<RegExp>>> = {
  // Matches if the value is a number.
  count: [
    // `n_images`, `num_generations`, `numResults`, `max_candidates`; `candidate_count`; `samples`; a nested `n` or
    // `bestOf`.
    new RegExp(`^(?:n|num|numberof|count|max)${things}$|^${things}(?:count|number)$`),
    /^(?:n|bestof|samples|candidates|variations|generations|repeats?|beamwidth)$/,
    // `num_predict`, `max_new_tokens`, `maxTokens`, `max_length`, `thinking_budget`, `budget_tokens`: other names of
    // limits that the gateway sets.
    /^(?:num|n)predict$|^max[a-z]*tokens?$|^maxtokenstosample$|^max(?:output|new)?length$|budget(?:tokens)?$|^(?:thinking|reasoning)tokens$/,
    // Work that a host does by itself: `max_tool_calls`, `max_uses`, `max_turns`.
    /^(?:max|num)[a-z]*(?:calls|uses|turns|iterations|rounds|searches|steps)$/,
  ],
  // Matches if the value is a number or a text: `size`, `image_size`, `quality`, `resolution`, `duration`, `fps` of
  // what is made.
  size: [
    /^(?:image|video|audio|output)?(?:size|quality|resolution|width|height|duration|durationseconds|seconds|frames|fps|upscale)$/,
  ],
  // Matches any value except false.
  work: [
    /^(?:echo|prewarm|warmup|compaction|compact|contextcompaction)$/,
    /^(?:image|video|audio|speech)(?:generation)?(?:config|options|settings)$/,
  ],
}

/** Members that the meter multiplies by. */
const metered: ReadonlySet<string> = new Set(["n", "best_of"])

const kindOf = remembered((name): keyof typeof kinds | null => {
  const normal = normalName(name)
  const has = (kind: keyof typeof kinds) => kinds[kind].some((pattern) => pattern.test(normal))
  return has("work") ? "work" : has("count") ? "count" : has("size") ? "size" : null
})

const multiplies = (name: string, value: unknown): boolean => {
  const kind = kindOf(name)
  if (kind === null || value === null || value === false) return false
  if (kind === "work" || typeof value === "number") return true
  return typeof value === "string" && (kind === "size" || /^\s*\d/.test(value))
}

/**
 * Another spelling, with blanks, dashes or capitals in front, may be a member that the protocol writes, to some host.
 */
export const isPlain = /^[a-z_][A-Za-z0-9_]*$/

/** A member of the payload without the parts that multiply its cost. */
export interface Kept {
  /** `undefined`: nothing of it is left. */
  readonly value: unknown
  /** Paths of the removed parts. */
  readonly dropped: ReadonlyArray<string>
}

/** Levels of nesting that are searched. Deeper objects and lists are removed. */
const deepest = 8

/** What may pass of a member that the host gets unread; `undefined`: all of it. */
export const withoutMultiplying = (name: string, value: unknown): Kept | undefined => {
  if (metered.has(name)) return undefined
  const dropped: Array<string> = []
  const kept = partOf(name, value, { owner: "", path: name, depth: 0 }, dropped)
  return dropped.length === 0 ? undefined : { value: kept, dropped }
}

/** The position of a value. `owner`: the name of the member that contains it, or its list. */
interface Place {
  readonly owner: string
  readonly path: string
  readonly depth: number
}

/** `undefined`: the value is removed. */
const partOf = (name: string, value: unknown, { owner, path, depth }: Place, dropped: Array<string>): unknown => {
  // Names below `properties` belong to a schema.
  if (
    (owner !== "properties" && multiplies(name, value)) ||
    (depth === deepest && typeof value === "object" && value !== null)
  ) {
    dropped.push(path)
    return undefined
  }
  if (Array.isArray(value)) {
    return value.map((item, at) =>
      isJsonObject(item) ? partOf("", item, { owner: name, path: `${path}[${at}]`, depth: depth + 1 }, dropped) : item,
    )
  }
  return isJsonObject(value) ? membersOf(name, value, { owner, path, depth }, dropped) : value
}

const membersOf = (name: string, value: JsonObject, { path, depth }: Place, dropped: Array<string>): JsonObject => {
  const before = dropped.length
  const kept: Record<string, unknown> = {}
  for (const member in value) {
    const place = { owner: name, path: `${path}.${member}`, depth: depth + 1 }
    const part = partOf(member, value[member], place, dropped)
    if (part !== undefined) kept[member] = part
  }
  return dropped.length === before ? value : kept
}
