/** The filters of routing, each on its own: what it looks at, and why it leaves a host out. Reference 6.3 and 14.3. */
import type { ChatRequest } from "./Chat.ts"
import type { Host } from "./Host.ts"
import { formatUsd, type Picodollars } from "./Money.ts"

export interface Filter {
  /** As it is called in the request, and in what explains a decision. */
  readonly name: string
  /** Whether this request has anything for it to do. */
  readonly applies: (request: ChatRequest) => boolean
  /** Why the host is out; `undefined`: it stays. */
  readonly excludes: (request: ChatRequest, host: Host) => string | undefined
  /** It gives way where it would leave no host at all. */
  readonly soft?: boolean
}

/** Whether a name of a list means this host: its tag, its provider's slug (then every variant), or the provider's display name. */
export const named = (name: string, host: Host): boolean => {
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

// Never an upper bound: tokens are rarely longer than eight bytes, so what is refused here could not have fitted.
const bytesPerToken = 8

const perMillion = (price: Picodollars): string => formatUsd(price * 1_000_000n)

export const filters: ReadonlyArray<Filter> = [
  {
    name: "only",
    applies: ({ preferences }) => preferences.only.length > 0,
    excludes: ({ preferences }, host) =>
      preferences.only.some((name) => named(name, host)) ? undefined : "not among the allowed providers",
  },
  {
    name: "ignore",
    applies: ({ preferences }) => preferences.ignore.length > 0,
    excludes: ({ preferences }, host) =>
      preferences.ignore.some((name) => named(name, host)) ? "among the ignored providers" : undefined,
  },
  {
    name: "data_collection",
    applies: ({ preferences }) => preferences.denyDataCollection,
    excludes: (_, { privacy }) => (privacy.mayTrain ? "may train on prompts" : undefined),
  },
  {
    name: "zdr",
    applies: ({ preferences }) => preferences.zeroDataRetention,
    excludes: (_, { privacy }) => (privacy.retainsPrompts || privacy.mayTrain ? "may retain prompts" : undefined),
  },
  {
    name: "quantizations",
    applies: ({ preferences }) => preferences.quantizations.length > 0,
    excludes: ({ preferences }, { quantization }) =>
      preferences.quantizations.some((wanted) => (quantizationFamily[wanted] ?? [wanted]).includes(quantization))
        ? undefined
        : `quantization is ${quantization}`,
  },
  {
    name: "max_price",
    applies: ({ preferences }) =>
      preferences.maxPrice.prompt !== undefined || preferences.maxPrice.completion !== undefined,
    excludes: ({ preferences: { maxPrice } }, { pricing }) => {
      if (pricing === null) return "has no known price"
      for (const member of ["prompt", "completion"] as const) {
        const ceiling = maxPrice[member]
        if (ceiling !== undefined && pricing[member] > ceiling) {
          return `${member} price ${perMillion(pricing[member])} is above ${perMillion(ceiling)} USD per million tokens`
        }
      }
      return undefined
    },
  },
  {
    name: "context_length",
    applies: () => true,
    excludes: (request, host) => {
      const fewest = Math.floor(request.promptBound / bytesPerToken)
      const longest = host.maxPromptTokens ?? host.contextLength
      return request.mediaParts === 0 && fewest > longest
        ? `the prompt has at least ${fewest} tokens, the context length is ${longest}`
        : undefined
    },
  },
  {
    name: "max_tokens",
    applies: ({ maxTokens }) => maxTokens !== undefined,
    excludes: ({ maxTokens = 0 }, { maxCompletionTokens }) =>
      maxTokens > maxCompletionTokens ? `writes at most ${maxCompletionTokens} tokens` : undefined,
    soft: true,
  },
  {
    name: "require_parameters",
    applies: ({ preferences }) => preferences.requireParameters,
    excludes: ({ parameters }, { supportedParameters }) => {
      const missing = parameters.filter((parameter) => !supportedParameters.includes(parameter))
      return missing.length === 0 ? undefined : `does not support ${missing.join(", ")}`
    },
  },
]
