/** The filters of routing: when each applies, and why it excludes a host. Pure. */
import { mostTextTokens } from "./Hold.ts"
import type { Host } from "./Host.ts"
import {
  type Charged,
  chargedBy,
  type HostFacts,
  isMeant,
  isNamed,
  maySupport,
  modelFacts,
  namesIn,
  supports,
} from "./hostFacts.ts"
import { formatUsd, type Picodollars } from "./Money.ts"
import { type MaxPrice, pricesWithCeiling } from "./Preferences.ts"
import { pricesFor } from "./Price.ts"
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
  readonly excludes: (asked: Asked, facts: HostFacts) => string | undefined
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
    applies: ({ wanted }) => modelFacts(wanted.model).hasTiers,
    excludes: ({ routing: { preferences }, wanted }, facts) => {
      const { tier } = facts
      if (tier === null) {
        const flexAlone = preferences.serviceTier === "flex" && modelFacts(wanted.model).hasFlexHosts
        return flexAlone ? "not of the service tier flex" : undefined
      }
      if (tier === admittedTier(wanted.variants, preferences)) return undefined
      const { only, order } = preferences
      return isNamed(namesIn(only), facts) || isNamed(namesIn(order), facts)
        ? undefined
        : `of the service tier ${tier}, which was not asked for`
    },
  },
  {
    name: "only",
    applies: ({ routing }) => routing.preferences.only.length > 0,
    excludes: ({ routing: { preferences } }, facts) => {
      const names = namesIn(preferences.only)
      // A tier that was asked for belongs to its provider.
      const isAllowed = facts.tier === preferences.serviceTier ? isMeant(names, facts) : isNamed(names, facts)
      return isAllowed ? undefined : "not among the allowed providers"
    },
  },
  {
    name: "ignore",
    applies: ({ routing }) => routing.preferences.ignore.length > 0,
    excludes: ({ routing }, facts) =>
      isMeant(namesIn(routing.preferences.ignore), facts) ? "among the ignored providers" : undefined,
  },
  {
    name: "data_collection",
    applies: ({ routing }) => routing.preferences.denyDataCollection,
    excludes: (_, { host: { privacy } }) => (privacy.mayTrain ? "may train on prompts" : undefined),
  },
  {
    name: "zdr",
    applies: ({ routing }) => routing.preferences.zeroDataRetention,
    excludes: (_, { host: { privacy } }) =>
      privacy.retainsPrompts || privacy.mayTrain ? "may retain prompts" : undefined,
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
    excludes: ({ routing }, { host: { quantization } }) =>
      routing.preferences.quantizations.some((wanted) =>
        (quantizationFamily[wanted] ?? [wanted]).includes(quantization),
      )
        ? undefined
        : `quantization is ${quantization}`,
  },
  {
    name: "max_price",
    applies: ({ routing }) => pricesWithCeiling.some((price) => routing.preferences.maxPrice[price] !== undefined),
    excludes: ({ routing, bounds, now }, { host: { pricing }, charged }) => {
      if (pricing === null) return "has no known price"
      // What is charged at least: the prices of the tier that this prompt reaches for sure.
      const least = charged ?? chargedBy(pricesFor(pricing, fewestPromptTokens(bounds), now), pricing)
      return aboveCeiling(routing.preferences.maxPrice, least)
    },
  },
  {
    name: "context_length",
    applies: ({ bounds }) => bounds.mediaParts === 0,
    excludes: ({ bounds }, { host }) => {
      const fewest = fewestPromptTokens(bounds)
      const longest = Math.min(host.maxPromptTokens ?? host.contextLength, host.contextLength)
      return fewest > longest ? `the prompt has at least ${fewest} tokens, the context length is ${longest}` : undefined
    },
  },
  {
    name: "input_modalities",
    applies: ({ routing }) => routing.needs.inputs.length > 0,
    excludes: ({ routing }, { host: { inputModalities } }) => {
      const missing = lacking(routing.needs.inputs, inputModalities)
      return missing === undefined ? undefined : `takes no ${missing}`
    },
  },
  {
    name: "output_modalities",
    applies: ({ routing }) => routing.needs.outputs.length > 0,
    excludes: ({ routing }, { host: { outputModalities } }) => {
      const missing = lacking(routing.needs.outputs, outputModalities)
      return missing === undefined ? undefined : `makes no ${missing}`
    },
  },
  {
    name: "free",
    applies: ({ wanted }) => wanted.variants.includes("free"),
    excludes: (_, { isFree }) => (isFree ? undefined : "is not free"),
  },
  {
    name: "extended",
    applies: ({ wanted }) => wanted.variants.includes("extended"),
    excludes: ({ wanted }, { host: { contextLength } }) => {
      const { longestContext } = modelFacts(wanted.model)
      return contextLength < longestContext
        ? `its context length is ${contextLength}, the model's longest is ${longestContext}`
        : undefined
    },
  },
  {
    name: "thinking",
    applies: ({ wanted }) => wanted.variants.includes("thinking"),
    excludes: (_, facts) => (maySupport(facts, "reasoning") ? undefined : "does not reason on demand"),
  },
  {
    name: "online",
    applies: ({ wanted }) => wanted.variants.includes("online"),
    excludes: (_, facts) => (searchesTheWeb(facts) ? undefined : "has no web search of its own"),
  },
  {
    name: "require_parameters",
    applies: ({ routing }) => routing.preferences.requireParameters,
    excludes: ({ routing: { parameters, needs } }, facts) => {
      if (!parameters.every((parameter) => supports(facts, parameter))) {
        const missing = parameters.filter((parameter) => !supports(facts, parameter))
        return `does not support ${missing.join(", ")}`
      }
      return takesChoice(needs.toolChoice, facts.host) ? undefined : "does not support this tool_choice"
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
    excludes: ({ bounds }, { host: { maxCompletionTokens, contextLength } }) => {
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
      // A host that is left where parameters are required supports them all.
      applies: ({ routing }) => routing.parameters.includes(parameter) && !routing.preferences.requireParameters,
      excludes: (_, facts) => (maySupport(facts, parameter) ? undefined : `does not support ${parameter}`),
    }),
  ),
  {
    name: "tool_choice",
    applies: ({ routing }) => routing.needs.toolChoice !== undefined,
    excludes: ({ routing }, { host }) =>
      takesChoice(routing.needs.toolChoice, host) ? undefined : `does not support this tool_choice`,
  },
]

/** Whether a host has a web search of its own. Here nothing known means no, since the caller wants the search. */
export const searchesTheWeb = (facts: HostFacts): boolean => supports(facts, "web_search_options")

/** Whether a value of `tool_choice` works at a host. */
export const takesChoice = (choice: Asked["routing"]["needs"]["toolChoice"], host: Host): boolean =>
  choice === undefined || host.supportsToolChoice[choice]

/** The first of the wanted kinds that is not among the known ones. */
const lacking = (wanted: ReadonlyArray<string>, known: ReadonlyArray<string>): string | undefined =>
  known.length === 0 ? undefined : wanted.find((kind) => !known.includes(kind))

const aboveCeiling = (ceilings: MaxPrice, charged: Charged): string | undefined => {
  const member = firstAbove(ceilings, charged)
  const ceiling = member === undefined ? undefined : ceilings[member]
  return member === undefined || ceiling === undefined
    ? undefined
    : `${member} price ${shownPrice(member, charged[member])} is above ${shownPrice(member, ceiling)}`
}

// Written out, since a loop over the names costs five times as much, and this runs for every host.
const firstAbove = (ceilings: MaxPrice, charged: Charged): keyof MaxPrice | undefined => {
  const { prompt, completion, request, image, audio } = ceilings
  if (prompt !== undefined && charged.prompt > prompt) return "prompt"
  if (completion !== undefined && charged.completion > completion) return "completion"
  if (request !== undefined && charged.request > request) return "request"
  if (image !== undefined && charged.image > image) return "image"
  return audio !== undefined && charged.audio > audio ? "audio" : undefined
}

const shownPrice = (member: keyof MaxPrice, price: Picodollars): string =>
  member === "prompt" || member === "completion"
    ? `${formatUsd(price * 1_000_000n)} USD per million tokens`
    : `${formatUsd(price)} USD per ${member}`
