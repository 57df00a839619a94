/**
 * Why models could not be served, in words that programs can act on: `error.availability` of an answer. Each code has a
 * section in docs/errors.md. Pure.
 */
import { type Exclusion, providersOf } from "./Exclusion.ts"
import type { BadRequest, NoHostMatches, RoutingExhausted } from "./Failure.ts"

export type AvailabilityCode =
  | "model_not_found"
  | "wrong_endpoint"
  | "no_endpoints"
  | "constraint_filtered"
  | "privacy_restricted"
  | "free_variant_ended"
  | "model_unavailable_upstream"
  | "capacity_exhausted"
  | "temporarily_unavailable"

export interface Availability {
  readonly code: AvailabilityCode
  /** Whether the same request may succeed later. */
  readonly retryable: boolean
  readonly requestedModels: ReadonlyArray<string>
  /** Whole seconds to wait. */
  readonly retryAfter?: number
  /** Slugs of providers whose hosts were excluded, or display names of those that failed. */
  readonly affectedProviders?: ReadonlyArray<string>
  /** What excluded hosts, in the vocabulary of the API. */
  readonly excludedBy?: ReadonlyArray<string>
  /** Models that may be asked for instead. */
  readonly fallbackModels?: ReadonlyArray<string>
  /** The member of the request that left no host, and why. */
  readonly constraint?: { readonly field: string; readonly detail: string }
}

/** The availability of a failure; `undefined` where the models are not what is wrong. */
export const availabilityOf = (failure: BadRequest | NoHostMatches | RoutingExhausted): Availability | undefined => {
  switch (failure._tag) {
    case "BadRequest":
      return ofBadRequest(failure)
    case "NoHostMatches":
      return ofExclusions(failure)
    case "RoutingExhausted":
      return ofExhausted(failure)
  }
}

const ofBadRequest = ({ kind, models = [], issues }: BadRequest): Availability | undefined => {
  if (kind === undefined) return undefined
  const about = { retryable: false, requestedModels: models }
  if (kind === "model_not_found") return { code: "model_not_found", ...about }
  const [{ path: field, message: detail }] = issues
  return kind === "wrong_endpoint"
    ? { code: "wrong_endpoint", ...about, constraint: { field, detail } }
    : { code: "constraint_filtered", ...about, excludedBy: ["context_length"], constraint: { field, detail } }
}

/** How the API names a filter, and the member of the request that it comes from. */
export const filterNames: ReadonlyMap<string, { readonly excludedBy?: string; readonly field: string }> = new Map([
  ["only", { excludedBy: "allowed_providers", field: "provider.only" }],
  ["ignore", { excludedBy: "ignored_providers", field: "provider.ignore" }],
  ["data_collection", { excludedBy: "data_policy:training", field: "provider.data_collection" }],
  ["zdr", { excludedBy: "data_policy:zdr", field: "provider.zdr" }],
  ["enforce_distillable_text", { field: "provider.enforce_distillable_text" }],
  ["quantizations", { excludedBy: "quantization", field: "provider.quantizations" }],
  ["max_price", { field: "provider.max_price" }],
  ["require_parameters", { field: "provider.require_parameters" }],
  ["allow_fallbacks", { field: "provider.allow_fallbacks" }],
  ["input_modalities", { field: "messages" }],
  ["output_modalities", { field: "modalities" }],
  ["context_length", { field: "messages" }],
  ["service_tier", { field: "service_tier" }],
  ["hosted_tools", { field: "tools" }],
  ["free", { field: "model" }],
  ["extended", { field: "model" }],
  ["thinking", { field: "model" }],
  ["online", { field: "model" }],
])

/** The member of the request that excluded the host. */
const fieldOf = ({ by, need }: Exclusion): string => need?.path ?? filterNames.get(by)?.field ?? by

const isAbout = (exclusion: Exclusion | undefined, ...names: ReadonlyArray<string>): boolean =>
  exclusion !== undefined && names.includes(exclusion.by)

const ofExclusions = ({ models, excluded }: NoHostMatches): Availability => {
  const last = excluded.at(-1)
  const about = { retryable: false, requestedModels: models }
  const affectedProviders = providersOf(excluded)
  if (last === undefined || last.by === "provider") return { code: "no_endpoints", ...about, affectedProviders }
  const excludedBy = [...new Set(excluded.map(({ by }) => filterNames.get(by)?.excludedBy ?? by))]
  const constraint = { field: fieldOf(last), detail: last.reason }
  const more = { ...about, affectedProviders, excludedBy, constraint }
  if (isAbout(last, "free")) return { code: "free_variant_ended", ...more, fallbackModels: [last.model] }
  return { code: isAbout(last, "data_collection", "zdr") ? "privacy_restricted" : "constraint_filtered", ...more }
}

const ofExhausted = (failure: RoutingExhausted): Availability | undefined => {
  const { outcome, attempts, retryAfterSeconds, models, waiting = [] } = failure
  const about = {
    requestedModels: models ?? [...new Set(attempts.map(({ model }) => model))],
    affectedProviders: [...new Set([...attempts.map(({ provider }) => provider), ...providersOf(waiting)])],
    ...(retryAfterSeconds === undefined ? {} : { retryAfter: retryAfterSeconds }),
  }
  switch (outcome) {
    case "not-found":
      return { code: "model_unavailable_upstream", retryable: false, ...about }
    case "rate-limited":
      return { code: "capacity_exhausted", retryable: true, ...about }
    case "cooling-down":
    case "busy":
    case "timeout":
    case "unavailable":
      return { code: "temporarily_unavailable", retryable: true, ...about }
    // What a host says about the request itself, or about the caller's right to ask, is not about availability.
    case "request":
    case "forbidden":
      return undefined
  }
}
