/** Checks of a usage report: what the gateway bills by. */
import { isDeepStrictEqual } from "node:util"
import { isJsonObject } from "../../domain/json/json.ts"
import { isCount, parseUsage, type Usage } from "../../domain/price/Usage.ts"
import type { ChatUsage } from "../../domain/request/chat.ts"
import { must, shown } from "../Check.ts"
import type { Expected } from "../Expected.ts"

const contract = "ChatUsage"

/** The usage as the gateway reads it. Throws where it would estimate in its place. `of`: where the usage stands. */
export const readUsage = (usage: unknown, of: string): Usage => {
  must(usage != null, `${of} has no usage: the caller would be billed by an estimate`, contract)
  const read = parseUsage(usage)
  must(
    read !== undefined,
    `The usage ${shown(usage)} of ${of} is not accepted: ${whyNot(usage)}, so that all of it would be estimated`,
    contract,
  )
  return read
}

const whyNot = (usage: unknown): string => {
  const wrong = ["prompt_tokens", "completion_tokens"].find(
    (total) =>
      !isJsonObject(usage) ||
      parseUsage({ prompt_tokens: 0, completion_tokens: 0, [total]: usage[total] }) === undefined,
  )
  if (wrong === undefined) return "its totals are too large"
  const isThere = isJsonObject(usage) && usage[wrong] != null
  return isThere
    ? `${wrong} is no whole number from 0 to 2^31`
    : `${wrong} is missing (a host that leaves zeros out means 0)`
}

/** Throws unless the usage comes to what the author of the sample counted; `null`: it must come to an estimate. */
export const isCountedAs = (usage: unknown, counted: ChatUsage | null, of: string): void => {
  if (counted === null) {
    const says = `${of} is counted as ${shown(usage)}, expected nothing that counts`
    must(parseUsage(usage) === undefined, says, contract)
    return
  }
  const expected = parseUsage(counted)
  must(
    expected !== undefined,
    `The usage expected of ${of}, ${shown(counted)}, has no valid totals`,
    "Expected.counted",
  )
  const read = readUsage(usage, of)
  must(isDeepStrictEqual(read, expected), `${of} is counted as ${shown(usage)}, expected ${shown(counted)}`, contract)
}

/** Throws unless the usage is the expected one, or else one that agrees with the sample. `raw`: its JSON. */
export const isBilledRight = (
  usage: ChatUsage | undefined,
  {
    counted,
    raw,
    of,
  }: { readonly counted: Expected["counted"]; readonly raw: ReadonlyArray<unknown>; readonly of: string },
): void => {
  addsUp(usage, of)
  if (counted !== undefined) isCountedAs(usage, counted, of)
  else agreesWithSample(readUsage(usage, of), raw, of)
}

// --- what a sample says of itself

/** Members of a sample by name, each with its values in their order. */
type Counts = ReadonlyMap<string, ReadonlyArray<number>>

/** The whole numbers above 0 in JSON, by the names of their members. */
const countsIn = (values: ReadonlyArray<unknown>): Counts => {
  const counts = new Map<string, Array<number>>()
  const search = (value: unknown): void => {
    if (Array.isArray(value)) for (const each of value) search(each)
    else if (isJsonObject(value)) {
      for (const [name, member] of Object.entries(value)) {
        if (typeof member === "number" && Number.isInteger(member) && member > 0)
          counts.set(name, [...(counts.get(name) ?? []), member])
        else search(member)
      }
    }
  }
  search(values)
  return counts
}

interface Class {
  readonly what: string
  readonly isNamed: (name: string) => boolean
  readonly read: (usage: Usage) => number
  readonly contract: string
}

/** How vendors call the counts that are billed apart. */
const classes: ReadonlyArray<Class> = [
  {
    what: "the sum of prompt_tokens and completion_tokens",
    isNamed: (name) => /^total_?tokens?(_?count)?$/i.test(name),
    read: ({ promptTokens, completionTokens }) => promptTokens + completionTokens,
    contract:
      "ChatUsage: the prompt includes what was read from and written to a cache, the completion includes reasoning",
  },
  {
    what: "prompt_tokens_details.cached_tokens",
    isNamed: (name) => /cache/i.test(name) && /tok/i.test(name) && !/miss|creat|writ|audio|ephemeral/i.test(name),
    read: ({ cachedTokens }) => cachedTokens,
    contract: "ChatUsage.prompt_tokens_details.cached_tokens",
  },
  {
    what: "prompt_tokens_details.cache_write_tokens",
    isNamed: (name) =>
      /cache/i.test(name) && /tok/i.test(name) && /creat|writ/i.test(name) && !/1h|5m|hour/i.test(name),
    read: ({ cacheWriteTokens }) => cacheWriteTokens,
    contract: "ChatUsage.prompt_tokens_details.cache_write_tokens",
  },
  {
    what: "completion_tokens_details.reasoning_tokens",
    isNamed: (name) => /reasoning|thought|thinking/i.test(name) && /tok/i.test(name) && !/budget|max/i.test(name),
    read: ({ reasoningTokens }) => reasoningTokens,
    contract: "ChatUsage.completion_tokens_details.reasoning_tokens",
  },
]

/**
 * Throws unless the usage is what the sample itself names: its total, its cached tokens, its reasoning. `raw`: the JSON of the
 * answer, or of each of its events. Where a vendor counts otherwise, the author says so with `counted`.
 */
const agreesWithSample = (usage: Usage, raw: ReadonlyArray<unknown>, of: string): void => {
  const counts = countsIn(raw)
  for (const { what, isNamed, read, contract: member } of classes) {
    const named = [...counts].filter(([name]) => isNamed(name))
    const [said] = named
    if (said === undefined) continue
    // A stream may repeat a running count: the last one and the largest one are both possible.
    const possible = named.flatMap(([, values]) => [values.at(-1) ?? 0, Math.max(...values)])
    const came = read(usage)
    must(
      possible.includes(came),
      `${of} has ${said[0]}: ${possible[0]}, and ${what} comes to ${came}. Where the vendor counts in another way, say with \`expects.counted\` what is right`,
      member,
    )
  }
}

/** Throws where parts are no counts, or more than their total: the gateway would cut them without a word. */
const addsUp = (usage: ChatUsage | undefined, of: string): void => {
  const read = parseUsage(usage)
  if (usage === undefined || read === undefined) return
  const { prompt_tokens_details: inward, completion_tokens_details: outward } = usage
  const isPart = (value: unknown, total: number) => value == null || (isCount(value) && value <= total)
  const parts = [
    ...Object.entries(inward ?? {}).map(
      ([name, value]) => ["prompt_tokens_details", name, value, read.promptTokens] as const,
    ),
    ...Object.entries(outward ?? {}).map(
      ([name, value]) => ["completion_tokens_details", name, value, read.completionTokens] as const,
    ),
  ]
  for (const [where, name, value, total] of parts) {
    if (!partNames.has(name)) continue
    must(
      isPart(value, total),
      `${of} has ${where}.${name} ${shown(value)} of ${total} tokens: a part is a whole number, from 0 to its total`,
      `ChatUsage.${where}`,
    )
  }
  const [cached, written] = [inward?.cached_tokens, inward?.cache_write_tokens].map((part) =>
    isCount(part) ? part : 0,
  )
  must(
    (cached ?? 0) + (written ?? 0) <= read.promptTokens,
    `${of} has ${cached} cached and ${written} written tokens of ${read.promptTokens} in the prompt: prompt_tokens includes both`,
    "ChatUsage.prompt_tokens",
  )
}

const partNames: ReadonlySet<string> = new Set([
  ...["cached_tokens", "cache_write_tokens", "cached_audio_tokens", "cache_write_1h_tokens", "audio_tokens"],
  ...["image_tokens", "video_tokens", "reasoning_tokens"],
])
