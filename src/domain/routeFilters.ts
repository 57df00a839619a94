/** The filters of routing: when each applies, and why it excludes a host. Pure. */
import { mostTextTokens } from "./Hold.ts"
import type { Host } from "./Host.ts"
import { formatUsd, type Picodollars } from "./Money.ts"
import { type MaxPrice, pricesWithCeiling } from "./Preferences.ts"
import type { Pricing } from "./Price.ts"
import type { ChatRequest } from "./Request.ts"

/** What routing reads of a request. */
export type RoutedRequest = Pick<ChatRequest, "routing" | "bounds">

export interface Filter {
  /** Its name in requests, and in explanations of a plan. */
  readonly name: string
  /** Whether this request uses the filter. */
  readonly applies: (request: RoutedRequest) => boolean
  /** Why the host is excluded; `undefined`: it is kept. */
  readonly excludes: (request: RoutedRequest, host: Host) => string | undefined
}

/**
 * Whether a name of a list means this host: its tag, its provider's slug (then every variant), or the provider's
 * display name.
 */
export const isNamed = (name: string, host: Host): boolean => {
  const wanted = name.toLowerCase()
  return (
    wanted === host.tag.toLowerCase() ||
    wanted === host.provider.toLowerCase() ||
    wanted === host.providerName.toLowerCase()
  )
}

const quantizationFamily: Readonly<Record<string, ReadonlyArray<string>>> = {
  fp4: ["fp4", "mxfp4", "nvfp4"],
  fp8: ["fp8", "mxfp8"],
}

// A high estimate: tokens are rarely longer than eight bytes, so a prompt that is refused here would not have fitted.
const bytesPerToken = 8

/** Hosts that these exclude are never called. */
export const hardFilters: ReadonlyArray<Filter> = [
  {
    name: "only",
    applies: ({ routing }) => routing.preferences.only.length > 0,
    excludes: ({ routing }, host) =>
      routing.preferences.only.some((name) => isNamed(name, host)) ? undefined : "not among the allowed providers",
  },
  {
    name: "ignore",
    applies: ({ routing }) => routing.preferences.ignore.length > 0,
    excludes: ({ routing }, host) =>
      routing.preferences.ignore.some((name) => isNamed(name, host)) ? "among the ignored providers" : undefined,
  },
  {
    name: "data_collection",
    applies: ({ routing }) => routing.preferences.denyDataCollection,
    excludes: (_, { privacy }) => (privacy.mayTrain ? "may train on prompts" : undefined),
  },
  {
    name: "zdr",
    applies: ({ routing }) => routing.preferences.zeroDataRetention,
    excludes: (_, { privacy }) => (privacy.retainsPrompts || privacy.mayTrain ? "may retain prompts" : undefined),
  },
  {
    name: "quantizations",
    applies: ({ routing }) => routing.preferences.quantizations.length > 0,
    excludes: ({ routing }, { quantization }) =>
      routing.preferences.quantizations.some((wanted) =>
        (quantizationFamily[wanted] ?? [wanted]).includes(quantization),
      )
        ? undefined
        : `quantization is ${quantization}`,
  },
  {
    name: "max_price",
    applies: ({ routing }) => pricesWithCeiling.some((price) => routing.preferences.maxPrice[price] !== undefined),
    excludes: ({ routing }, { pricing }) =>
      pricing === null ? "has no known price" : aboveCeiling(routing.preferences.maxPrice, pricing),
  },
  {
    name: "context_length",
    applies: ({ bounds }) => bounds.mediaParts === 0,
    excludes: ({ bounds }, host) => {
      const fewest = Math.floor(mostTextTokens(bounds, bounds.promptBytes) / bytesPerToken)
      const longest = host.maxPromptTokens ?? host.contextLength
      return fewest > longest ? `the prompt has at least ${fewest} tokens, the context length is ${longest}` : undefined
    },
  },
  {
    name: "require_parameters",
    applies: ({ routing }) => routing.preferences.requireParameters,
    excludes: ({ routing }, { supportedParameters }) => {
      const missing = routing.parameters.filter((parameter) => !supportedParameters.includes(parameter))
      return missing.length === 0 ? undefined : `does not support ${missing.join(", ")}`
    },
  },
]

/** Hosts that these exclude are still called when no other host is left. */
export const softFilters: ReadonlyArray<Filter> = [
  {
    name: "max_tokens",
    applies: ({ bounds }) => bounds.maxTokens !== undefined,
    excludes: ({ bounds: { maxTokens = 0 } }, { maxCompletionTokens }) =>
      maxTokens > maxCompletionTokens ? `writes at most ${maxCompletionTokens} tokens` : undefined,
  },
]

const aboveCeiling = (ceilings: MaxPrice, pricing: Pricing): string | undefined => {
  for (const member of pricesWithCeiling) {
    const ceiling = ceilings[member]
    const price = pricing[member] ?? pricing.prompt
    if (ceiling !== undefined && price > ceiling) {
      return `${member} price ${shownPrice(member, price)} is above ${shownPrice(member, ceiling)}`
    }
  }
  return undefined
}

const shownPrice = (member: keyof MaxPrice, price: Picodollars): string =>
  member === "prompt" || member === "completion"
    ? `${formatUsd(price * 1_000_000n)} USD per million tokens`
    : `${formatUsd(price)} USD per ${member}`
