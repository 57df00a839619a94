/** The filters of routing: when each applies, and why it excludes a host. Pure. */
import { mostTextTokens } from "./Hold.ts"
import type { Host } from "./Host.ts"
import { hostFacts, isIgnored, isNamed, maySupport, modelFacts, supports } from "./hostFacts.ts"
import { formatUsd, type Picodollars } from "./Money.ts"
import { type MaxPrice, pricesWithCeiling } from "./Preferences.ts"
import { effectivePrice, type Pricing, pricesFor } from "./Price.ts"
import type { Bounds, ChatRequest } from "./Request.ts"
import { admittedTier, type WantedModel } from "./variants.ts"

/** What filters read: what is asked for, for which model, and when (Unix milliseconds). */
export interface Asked extends Pick<ChatRequest, "routing" | "bounds"> {
  readonly wanted: WantedModel
  readonly now: number
}

export interface Filter {
  /** Its name in explanations of a plan: that of the request's member, where there is one. */
  readonly name: string
  /** Whether the filter has anything to do for this request. */
  readonly applies: (asked: Asked) => boolean
  /** Why the host is excluded; `undefined`: it is kept. */
  readonly excludes: (asked: Asked, host: Host) => string | undefined
}

const quantizationFamily: Readonly<Record<string, ReadonlyArray<string>>> = {
  fp4: ["fp4", "mxfp4", "nvfp4"],
  fp8: ["fp8", "mxfp8"],
}

// A high estimate: tokens are rarely longer than eight bytes, so a prompt that is refused here would not have fitted.
const bytesPerToken = 8

/** Tokens that the prompt has at least. Bytes of media say nothing about tokens. */
const fewestPromptTokens = (bounds: Bounds): number =>
  bounds.mediaParts > 0 ? 0 : Math.floor(mostTextTokens(bounds, bounds.promptBytes) / bytesPerToken)

/** Hosts that these exclude are never called. In this order: the last one that excludes a host is reported. */
export const hardFilters: ReadonlyArray<Filter> = [
  {
    name: "service_tier",
    applies: () => true,
    excludes: ({ routing: { preferences }, wanted }, host) => {
      const { tier } = hostFacts(host)
      if (tier === null) {
        const flexAlone = preferences.serviceTier === "flex" && modelFacts(wanted.model).hasFlexHosts
        return flexAlone ? "not of the service tier flex" : undefined
      }
      if (tier === admittedTier(wanted.variants, preferences)) return undefined
      const isAsked = (name: string) => isNamed(name, host)
      if (preferences.only.some(isAsked) || preferences.order.some(isAsked)) return undefined
      return `of the service tier ${tier}, which was not asked for`
    },
  },
  {
    name: "only",
    applies: ({ routing }) => routing.preferences.only.length > 0,
    excludes: ({ routing }, host) =>
      routing.preferences.only.some((name) => isNamed(name, host)) ||
      // A tier that was asked for belongs to its provider.
      (hostFacts(host).tier === routing.preferences.serviceTier &&
        routing.preferences.only.some((name) => isIgnored(name, host)))
        ? undefined
        : "not among the allowed providers",
  },
  {
    name: "ignore",
    applies: ({ routing }) => routing.preferences.ignore.length > 0,
    excludes: ({ routing }, host) =>
      routing.preferences.ignore.some((name) => isIgnored(name, host)) ? "among the ignored providers" : undefined,
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
    name: "enforce_distillable_text",
    applies: ({ routing, wanted }) => routing.preferences.distillable && wanted.model.distillable !== true,
    excludes: ({ wanted: { model } }) =>
      model.distillable === null
        ? "nothing is known of whether the model's author allows distillation"
        : "the model's author does not allow distillation",
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
    excludes: ({ routing, bounds, now }, { pricing }) =>
      pricing === null
        ? "has no known price"
        : aboveCeiling(routing.preferences.maxPrice, pricing, fewestPromptTokens(bounds), now),
  },
  {
    name: "context_length",
    applies: ({ bounds }) => bounds.mediaParts === 0,
    excludes: ({ bounds }, host) => {
      const fewest = fewestPromptTokens(bounds)
      const longest = Math.min(host.maxPromptTokens ?? host.contextLength, host.contextLength)
      return fewest > longest ? `the prompt has at least ${fewest} tokens, the context length is ${longest}` : undefined
    },
  },
  {
    name: "input_modalities",
    applies: ({ routing }) => routing.needs.inputs.length > 0,
    excludes: ({ routing }, { inputModalities }) => {
      const missing = lacking(routing.needs.inputs, inputModalities)
      return missing === undefined ? undefined : `takes no ${missing}`
    },
  },
  {
    name: "output_modalities",
    applies: ({ routing }) => routing.needs.outputs.length > 0,
    excludes: ({ routing }, { outputModalities }) => {
      const missing = lacking(routing.needs.outputs, outputModalities)
      return missing === undefined ? undefined : `makes no ${missing}`
    },
  },
  {
    name: "free",
    applies: ({ wanted }) => wanted.variants.includes("free"),
    excludes: (_, host) => (hostFacts(host).isFree ? undefined : "is not free"),
  },
  {
    name: "extended",
    applies: ({ wanted }) => wanted.variants.includes("extended"),
    excludes: ({ wanted }, { contextLength }) => {
      const { longestContext } = modelFacts(wanted.model)
      return contextLength < longestContext
        ? `its context length is ${contextLength}, the model's longest is ${longestContext}`
        : undefined
    },
  },
  {
    name: "thinking",
    applies: ({ wanted }) => wanted.variants.includes("thinking"),
    excludes: (_, host) => (maySupport(host, "reasoning") ? undefined : "does not reason on demand"),
  },
  {
    name: "online",
    applies: ({ wanted }) => wanted.variants.includes("online"),
    excludes: (_, host) => (searchesTheWeb(host) ? undefined : "has no web search of its own"),
  },
  {
    name: "require_parameters",
    applies: ({ routing }) => routing.preferences.requireParameters,
    excludes: ({ routing }, host) => {
      const missing = routing.parameters.filter((parameter) => !supports(host, parameter))
      if (missing.length === 0 && !takesChoice(routing.needs.toolChoice, host)) missing.push("this tool_choice")
      return missing.length === 0 ? undefined : `does not support ${missing.join(", ")}`
    },
  },
]

/** Parameters for which a host that supports them is better than one that does not. */
const preferredParameters = ["tools", "response_format", "verbosity"] as const

/** Hosts that these exclude are still called when no other host is left. */
export const softFilters: ReadonlyArray<Filter> = [
  {
    name: "max_tokens",
    applies: ({ bounds }) => bounds.maxTokens !== undefined,
    excludes: ({ bounds }, { maxCompletionTokens, contextLength }) => {
      const { maxTokens = 0 } = bounds
      if (maxTokens > maxCompletionTokens) return `writes at most ${maxCompletionTokens} tokens`
      const fewest = fewestPromptTokens(bounds) + maxTokens
      return fewest > contextLength
        ? `prompt and output have ${fewest} tokens, its context ${contextLength}`
        : undefined
    },
  },
  ...preferredParameters.map(
    (parameter): Filter => ({
      name: parameter,
      applies: ({ routing }) => routing.parameters.includes(parameter),
      excludes: (_, host) => (maySupport(host, parameter) ? undefined : `does not support ${parameter}`),
    }),
  ),
  {
    name: "tool_choice",
    applies: ({ routing }) => routing.needs.toolChoice !== undefined,
    excludes: ({ routing }, host) =>
      takesChoice(routing.needs.toolChoice, host) ? undefined : `does not support this tool_choice`,
  },
]

/** Whether a host has a web search of its own. Here nothing known means no, since the caller wants the search. */
export const searchesTheWeb = (host: Host): boolean => supports(host, "web_search_options")

/** Whether a value of `tool_choice` works at a host. */
export const takesChoice = (choice: Asked["routing"]["needs"]["toolChoice"], host: Host): boolean =>
  choice === undefined || host.supportsToolChoice[choice]

/** The first of the wanted kinds that is not among the known ones. */
const lacking = (wanted: ReadonlyArray<string>, known: ReadonlyArray<string>): string | undefined =>
  known.length === 0 ? undefined : wanted.find((kind) => !known.includes(kind))

const million = 1_000_000n

/** Compares what is really charged: the tier that this prompt reaches at least, less the host's discount. */
const aboveCeiling = (ceilings: MaxPrice, pricing: Pricing, promptTokens: number, now: number): string | undefined => {
  const prices = pricesFor(pricing, promptTokens, now)
  for (const member of pricesWithCeiling) {
    const ceiling = ceilings[member]
    if (ceiling === undefined) continue
    const price = effectivePrice(prices, member) * (million - pricing.discountPpm)
    if (price > ceiling * million) {
      return `${member} price ${shownPrice(member, price / million)} is above ${shownPrice(member, ceiling)}`
    }
  }
  return undefined
}

const shownPrice = (member: keyof MaxPrice, price: Picodollars): string =>
  member === "prompt" || member === "completion"
    ? `${formatUsd(price * million)} USD per million tokens`
    : `${formatUsd(price)} USD per ${member}`
