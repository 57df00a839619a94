/** How a request ended, in words. The API's words are `<who caused it>_<what>`; `docs/requests.md` lists them. */

const causes = {
  ok: "answered",
  caller: "the caller's request",
  policy: "a rule or limit of yours",
  host: "a host",
  gateway: "the gateway",
} as const

export type Cause = keyof typeof causes

// Object.keys loses the names.
export const causeNames = Object.keys(causes) as ReadonlyArray<Cause>

/** Who caused it; `gateway` for a word that is not known. */
export const causeOf = (outcome: string): Cause => {
  const beginning = outcome.split("_", 1)[0] ?? ""
  return causeNames.find((name) => name === beginning) ?? "gateway"
}

export const causeWords = (cause: Cause): string => causes[cause]

/** `policy_rate_limited` as "rate limited". */
export const outcomeWords = (outcome: string): string => {
  const words = outcome.includes("_") ? outcome.slice(outcome.indexOf("_") + 1) : outcome
  return words.replaceAll("_", " ")
}

const tones = { ok: "good", caller: "plain", policy: "warning", host: "bad", gateway: "bad" } as const

export const outcomeTone = (outcome: string): (typeof tones)[Cause] => tones[causeOf(outcome)]
