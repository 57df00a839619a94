/** Why hosts were left out of a plan, and what a caller is told when none is left. Pure. */
import type { Picodollars } from "../price/money.ts"
import type { FormNeed } from "../request/request.ts"

/** A prompt that is too long by every tokenizer's count, in tokens. */
export interface TooLong {
  /** The least number of tokens in the prompt. */
  readonly fewest: number
  /** The context length of the host; before the model is known, the longest of all models. */
  readonly maximum: number
}

/** OpenAI's phrase, which agents and libraries recognize. */
export const tooLongText = ({ fewest, maximum }: TooLong): string =>
  `maximum context length is ${maximum} tokens, but the request has at least ${fewest}`

/** Why a host was left out of a plan. */
export interface Exclusion {
  readonly host: string
  readonly model: string
  /** Name of the filter, such as `only` or `max_price`. */
  readonly by: string
  readonly reason: string
  /** Milliseconds until the host may be called again; absent: waiting does not help. */
  readonly retryAfterMs?: number
  /** Whether a rate limit, of the host or of each of its provider's keys, is why it may not be called. */
  readonly isRateLimit?: boolean
  /** With `by: "budget"`: the least that has to be reserved for this host, picodollars. */
  readonly required?: Picodollars | undefined
  /** With `by: "form"`: what only hosts of the caller's form can do. */
  readonly need?: FormNeed | undefined
  /** Present with `by: "context_length"`. */
  readonly tooLong?: TooLong
}

/** Models without a host that is left. */
export interface Excluded {
  /** Names as the caller wrote them. */
  readonly models: ReadonlyArray<string>
  /** In the order of the checks: without the last one a host would have been left. Empty where the models have no hosts at all. */
  readonly excluded: ReadonlyArray<Exclusion>
}

/** Slugs of the providers of the excluded hosts: their tags without a variant. */
export const providersOf = (excluded: ReadonlyArray<Exclusion>): ReadonlyArray<string> => [
  ...new Set(excluded.map(({ host }) => host.split("/", 1)[0] ?? host)),
]

const inputs = /^takes no (\w+)$/

/** The message of a plan without hosts: one sentence, by what left none. */
export const noHostText = ({ models, excluded }: Excluded): string => {
  const last = excluded.at(-1)
  const names = models.join(", ")
  if (last === undefined) return `No endpoints found for ${names}.`
  const by = [...new Set(excluded.map((exclusion) => exclusion.by))].join(", ")
  switch (last.by) {
    case "only":
    case "ignore":
      return "No allowed providers are available for the selected model."
    case "data_collection":
    case "zdr":
      return `No endpoints found for ${names} that match the data policy (${last.by}).`
    case "free":
      return `No free endpoints found for ${names}: ask for ${last.model}, which is paid.`
    case "input_modalities":
      return `No endpoints found that support ${inputs.exec(last.reason)?.[1] ?? "such"} input.`
    case "require_parameters":
      return /\btools\b/.test(last.reason)
        ? "No endpoints found that support tool use."
        : `No endpoints found for ${names} that support every parameter: one ${last.reason}.`
    case "form":
      return `No endpoints found for ${names} that can carry ${last.need?.path}: ${last.need?.reason}, and none of these is left.`
    default:
      return `No endpoints found for ${names}: excluded by ${by}.`
  }
}
