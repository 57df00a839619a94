/** The filters of routing: when each applies, and why it excludes a host. Pure. */
import type { TooLong } from "../failures/Exclusion.ts"
import { type Host, mayKeepPrompts } from "../hosts/Host.ts"
import {
  type Charged,
  chargedBy,
  type HostFacts,
  isNamed,
  isNamedInAnyTier,
  maySupport,
  modelFacts,
  namesIn,
  supports,
} from "../hosts/hostFacts.ts"
import { formatUsd, type Picodollars } from "../price/money.ts"
import { pricesFor } from "../price/price.ts"
import type { HostedTool } from "../request/hostedTools.ts"
import type { AnyRequest } from "../request/operations.ts"
import { type MaxPrice, pricesWithCeiling } from "../request/Preferences.ts"
import { namesWhere } from "../request/placedParameters.ts"
import type { Bounds, FormNeed, Needs } from "../request/request.ts"
import { admittedTier, type WantedModel } from "./variants.ts"

/** What filters read: what is asked for, for which model, and when (Unix milliseconds). */
export interface Asked extends Pick<AnyRequest, "routing" | "bounds"> {
  readonly wanted: WantedModel
  readonly now: number
}

/** Why a host is excluded; `undefined`: it is kept. */
export type Excludes = (facts: HostFacts) => string | TooLong | undefined

export interface Filter {
  /** Its name in explanations of a plan: that of the request's member, where there is one. */
  readonly name: string
  /** Whether the filter has anything to do for this request. */
  readonly applies: (asked: Asked) => boolean
  /** The check of each host of the wanted model. Called only where `applies` is true. */
  readonly prepare: (asked: Asked) => Excludes
  /** `Exclusion.need` of the hosts that it excludes. Absent: they have none. */
  readonly need?: (asked: Asked) => FormNeed | undefined
}

const quantizationFamily: Readonly<Record<string, ReadonlyArray<string>>> = {
  fp4: ["fp4", "mxfp4", "nvfp4"],
  fp8: ["fp8", "mxfp8"],
}

// Tokens of words have four bytes, runs of blanks and other repetitions more. A prompt that is refused here fits by no
// tokenizer; whether any other one fits is the host's to say.
const bytesPerToken = 16

/** Tokens that the prompt has at least. Bytes of media say nothing about tokens. */
const fewestPromptTokens = (bounds: Bounds): number =>
  bounds.mediaParts > 0 ? 0 : Math.ceil(bounds.textBytes / bytesPerToken)

/** The same for what has to fit into the context at once. */
const fewestTokensAtOnce = (bounds: Bounds): number =>
  bounds.longestBytes === undefined ? fewestPromptTokens(bounds) : Math.ceil(bounds.longestBytes / bytesPerToken)

/** Hosts that these exclude are never called. In this order: the last one that excludes a host is reported. */
export const hardFilters: ReadonlyArray<Filter> = [
  {
    name: "service_tier",
    applies: ({ wanted }) => modelFacts(wanted.model).hasTiers,
    prepare: ({ routing: { preferences }, wanted }) => {
      const admitted = admittedTier(wanted.variants, preferences)
      const flexAlone = preferences.serviceTier === "flex" && modelFacts(wanted.model).hasFlexHosts
      const only = namesIn(preferences.only)
      const order = namesIn(preferences.order)
      return (facts) => {
        const { tier } = facts
        if (tier === null) return flexAlone ? "not of the service tier flex" : undefined
        if (tier === admitted || isNamed(only, facts) || isNamed(order, facts)) return undefined
        return `of the service tier ${tier}, which was not asked for`
      }
    },
  },
  {
    name: "only",
    applies: ({ routing }) => routing.preferences.only.length > 0,
    prepare: ({ routing: { preferences } }) => {
      const names = namesIn(preferences.only)
      return (facts) => {
        // A tier that was asked for belongs to its provider.
        const isAllowed =
          facts.tier === preferences.serviceTier ? isNamedInAnyTier(names, facts) : isNamed(names, facts)
        return isAllowed ? undefined : "not among the allowed providers"
      }
    },
  },
  {
    name: "ignore",
    applies: ({ routing }) => routing.preferences.ignore.length > 0,
    prepare: ({ routing: { preferences } }) => {
      const names = namesIn(preferences.ignore)
      return (facts) => (isNamedInAnyTier(names, facts) ? "among the ignored providers" : undefined)
    },
  },
  {
    name: "data_collection",
    applies: ({ routing }) => routing.preferences.denyDataCollection,
    prepare: () => trainsOnPrompts,
  },
  {
    name: "zdr",
    applies: ({ routing }) => routing.preferences.zeroDataRetention,
    prepare: () => keepsPrompts,
  },
  {
    name: "enforce_distillable_text",
    applies: ({ routing, wanted }) => routing.preferences.distillable && wanted.model.distillable !== true,
    prepare: ({ wanted: { model } }) => {
      const reason =
        model.distillable === null
          ? "nothing is known of whether the model's author allows distillation"
          : "the model's author does not allow distillation"
      return () => reason
    },
  },
  {
    name: "quantizations",
    applies: ({ routing }) => routing.preferences.quantizations.length > 0,
    prepare: ({ routing: { preferences } }) => {
      const accepted = new Set(preferences.quantizations.flatMap((name) => quantizationFamily[name] ?? [name]))
      return ({ host: { quantization } }) =>
        accepted.has(quantization) ? undefined : `quantization is ${quantization}`
    },
  },
  {
    name: "max_price",
    applies: ({ routing }) => hasCeiling(routing.preferences.maxPrice),
    prepare: ({ routing, bounds, now }) => {
      const { maxPrice } = routing.preferences
      const promptTokens = fewestPromptTokens(bounds)
      return ({ host: { pricing }, charged }) => {
        if (pricing === null) return "has no known price"
        // What is charged at least: the prices of the tier that this prompt reaches for sure.
        return aboveCeiling(maxPrice, charged ?? chargedBy(pricesFor(pricing, promptTokens, now), pricing))
      }
    },
  },
  {
    name: "context_length",
    applies: ({ bounds }) => bounds.mediaParts === 0,
    prepare: ({ bounds }) => {
      const fewest = fewestTokensAtOnce(bounds)
      return ({ host }) => {
        const maximum = Math.min(host.maxPromptTokens ?? host.contextLength, host.contextLength)
        return fewest > maximum ? { fewest, maximum } : undefined
      }
    },
  },
  {
    name: "input_modalities",
    applies: ({ routing }) => routing.needs.inputs.length > 0,
    prepare:
      ({ routing: { needs } }) =>
      ({ host }) => {
        const missing = lacking(needs.inputs, host.inputModalities)
        return missing === undefined ? undefined : `takes no ${missing}`
      },
  },
  {
    name: "output_modalities",
    applies: ({ routing }) => routing.needs.outputs.length > 0,
    prepare:
      ({ routing: { needs } }) =>
      ({ host }) => {
        const missing = lacking(needs.outputs, host.outputModalities)
        return missing === undefined ? undefined : `makes no ${missing}`
      },
  },
  {
    // Left out, it would change the length of every vector.
    name: "dimensions",
    applies: ({ routing }) => routing.parameters.includes("dimensions"),
    prepare: () => (facts) => (maySupport(facts, "dimensions") ? undefined : "does not support dimensions"),
  },
  {
    name: "form",
    applies: ({ routing }) => routing.needs.onlyForm !== undefined,
    prepare: ({ routing: { needs } }) => {
      const { onlyForm } = needs
      const reason = onlyForm === undefined ? undefined : `cannot carry ${onlyForm.path}: ${onlyForm.reason}`
      return ({ host }) => (isInForm(host, needs) ? undefined : reason)
    },
    need: ({ routing: { needs } }) => needs.onlyForm,
  },
  {
    name: "free",
    applies: ({ wanted }) => wanted.variants.includes("free"),
    prepare:
      () =>
      ({ costsNothing }) =>
        costsNothing ? undefined : "is not free",
  },
  {
    name: "extended",
    applies: ({ wanted }) => wanted.variants.includes("extended"),
    prepare: ({ wanted }) => {
      const { longestContext } = modelFacts(wanted.model)
      return ({ host: { contextLength } }) =>
        contextLength < longestContext
          ? `its context length is ${contextLength}, the model's longest is ${longestContext}`
          : undefined
    },
  },
  {
    name: "hosted_tools",
    applies: ({ routing: { needs } }) => needs.hosted !== undefined,
    prepare: ({ routing: { needs, preferences } }) => {
      const asked = (needs.hosted ?? []).filter((tool) => tool.asked || preferences.requireParameters)
      return ({ host }) => {
        const missing = asked.find((tool) => !runs(host, tool, needs))
        return missing === undefined ? undefined : `cannot run the tool at ${missing.path}, or has no price for it`
      }
    },
  },
  {
    name: "thinking",
    applies: ({ wanted }) => wanted.variants.includes("thinking"),
    prepare: () => (facts) => (maySupport(facts, "reasoning") ? undefined : "does not reason on demand"),
  },
  {
    name: "online",
    applies: ({ wanted }) => wanted.variants.includes("online"),
    prepare: () => (facts) => (searchesTheWeb(facts) ? undefined : "has no web search of its own, or no price for it"),
  },
  {
    name: "require_parameters",
    applies: ({ routing }) => routing.preferences.requireParameters,
    prepare:
      ({ routing: { parameters, needs } }) =>
      (facts) => {
        for (const parameter of parameters) {
          if (supports(facts, parameter)) continue
          return `does not support ${parameters.filter((one) => !supports(facts, one)).join(", ")}`
        }
        return takesChoice(needs.toolChoice, facts.host) ? undefined : "does not support this tool_choice"
      },
  },
]

/** Parameters for which a host that supports them is better than one that does not. */
const preferredParameters = namesWhere(({ support }) => support === "preferred")

/** Hosts that these exclude are still called when no other host is left. */
export const softFilters: ReadonlyArray<Filter> = [
  {
    name: "max_tokens",
    applies: ({ bounds }) => bounds.maxTokens !== undefined,
    prepare: ({ bounds }) => {
      // Not `undefined`, as it applies.
      const { maxTokens = 0 } = bounds
      const fewest = fewestTokensAtOnce(bounds) + maxTokens
      return ({ host: { maxCompletionTokens, contextLength } }) => {
        if (maxTokens > maxCompletionTokens) return `writes at most ${maxCompletionTokens} tokens`
        return fewest > contextLength
          ? `prompt and output have ${fewest} tokens, its context ${contextLength}`
          : undefined
      }
    },
  },
  ...preferredParameters.map(
    (parameter): Filter => ({
      name: parameter,
      // A host that is left where parameters are required supports them all.
      applies: ({ routing: { parameters, preferences } }) =>
        !preferences.requireParameters && parameters.includes(parameter),
      prepare: () => (facts) => (maySupport(facts, parameter) ? undefined : `does not support ${parameter}`),
    }),
  ),
  {
    name: "tool_choice",
    applies: ({ routing }) => routing.needs.toolChoice !== undefined,
    prepare:
      ({ routing: { needs } }) =>
      ({ host }) =>
        takesChoice(needs.toolChoice, host) ? undefined : "does not support this tool_choice",
  },
]

const trainsOnPrompts: Excludes = ({ host: { privacy } }) => (privacy.mayTrain ? "may train on prompts" : undefined)

const keepsPrompts: Excludes = ({ host: { privacy } }) => (mayKeepPrompts(privacy) ? "may retain prompts" : undefined)

/** Whether a host has a web search of its own that a caller of any form may ask for. */
export const searchesTheWeb = ({ host }: HostFacts): boolean => host.searches === "any-form"

/** Whether a host can run a tool for a caller with these needs, at a price that is known. */
export const runs = (host: Host, { kind }: HostedTool, needs: FormNeeds): boolean => {
  if (kind === "own-form") return isInForm(host, needs)
  return (
    kind === "web_search" && (host.searches === "any-form" || (host.searches === "own-form" && isInForm(host, needs)))
  )
}

type FormNeeds = Pick<Needs, "form" | "onlyForm">

/** Whether the host gets the request as its caller wrote it: it speaks the form, or can be called by it where nothing else will do. */
export const isInForm = ({ ownForm, otherForms }: Host, { form, onlyForm }: FormNeeds): boolean =>
  form !== undefined && (ownForm === form || (onlyForm !== undefined && otherForms?.includes(form) === true))

/** Whether a value of `tool_choice` works at a host. */
export const takesChoice = (choice: Asked["routing"]["needs"]["toolChoice"], host: Host): boolean =>
  choice === undefined || host.supportsToolChoice[choice]

/** The first of the wanted kinds that is not among the known ones. */
const lacking = (wanted: ReadonlyArray<string>, known: ReadonlyArray<string>): string | undefined => {
  if (known.length === 0) return undefined
  for (const kind of wanted) {
    if (!known.includes(kind)) return kind
  }
  return undefined
}

const hasCeiling = (ceilings: MaxPrice): boolean => pricesWithCeiling.some((price) => ceilings[price] !== undefined)

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
