/**
 * What differs between Google's models, by their names. From Google's pages on thinking, thought signatures and function
 * calling, read in 2026-11. A tuned model's name does not say what it was made of: it is taken for one of Gemini 2.5.
 */

/**
 * How a model is told how much to think. `budget`: a number of tokens in a range; `level`: one of a few words, from least to
 * most; `fixed`: it thinks, and cannot be told how much.
 */
export type ThinkingControl =
  | { readonly kind: "none" }
  | { readonly kind: "fixed" }
  | { readonly kind: "budget"; readonly least: number; readonly most: number; readonly canStop: boolean }
  | { readonly kind: "level"; readonly levels: ReadonlyArray<ThinkingLevel> }

export type ThinkingLevel = "minimal" | "low" | "medium" | "high"

export interface ModelFacts {
  /** Such as 2.5. */
  readonly generation: number
  readonly thinking: ThinkingControl
  /**
   * From Gemini 3 on, a call of a function must come back with the signature that it came with, the result of a function may
   * have images in it, and searches are billed one by one.
   */
  readonly isThird: boolean
}

/** The generation that names without a number mean: `gemini-flash-latest`. */
const latest = 3.8

/** From least to most. */
export const thinkingLevels: ReadonlyArray<ThinkingLevel> = ["minimal", "low", "medium", "high"]
const withoutMinimal = thinkingLevels.slice(1)

export const modelFacts = (name: string): ModelFacts => {
  const generation = generationOf(name)
  return { generation, thinking: controlOf(name, generation), isThird: generation >= 3 }
}

const generationOf = (name: string): number => {
  const written = /gemini-(\d+(?:\.\d+)?)/.exec(name)?.[1]
  if (written !== undefined) return Number(written)
  return /gemini-[a-z-]*latest/.test(name) ? latest : 2.5
}

const controlOf = (name: string, generation: number): ThinkingControl => {
  // Gemma thinks from its fourth generation on, or not at all.
  if (name.includes("gemma")) {
    return /gemma-(?:[4-9]|\d\d)/.test(name) ? { kind: "level", levels: ["minimal", "high"] } : { kind: "none" }
  }
  if (generation < 2.5) return { kind: "none" }
  const isPro = name.includes("pro")
  const isImage = name.includes("image")
  if (generation < 3) {
    if (isImage) return { kind: "none" }
    if (isPro) return { kind: "budget", least: 128, most: 32_768, canStop: false }
    return { kind: "budget", least: name.includes("lite") ? 512 : 1, most: 24_576, canStop: true }
  }
  if (isImage) return isPro ? { kind: "fixed" } : { kind: "level", levels: ["minimal", "high"] }
  if (isPro) return { kind: "level", levels: generation < 3.1 ? ["low", "high"] : withoutMinimal }
  return { kind: "level", levels: generation < 3.7 || name.includes("lite") ? thinkingLevels : withoutMinimal }
}
