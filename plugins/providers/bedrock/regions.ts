/** Which inference profiles can be called from a region. A profile of other regions answers that its id is invalid. */

/**
 * Regions of the profiles whose ids begin with the profile's name. From "Supported Regions and models for inference profiles" of
 * AWS's documentation, read in 2026-11. `global` profiles and bare ids are left in everywhere.
 */
const regionsOf: Readonly<Record<string, RegExp>> = {
  us: /^(us|ca)-/,
  eu: /^eu-/,
  au: /^ap-southeast-(2|4)$/,
  jp: /^ap-northeast-(1|3)$/,
}

export const isCalledFrom = (region: string, model: string): boolean =>
  regionsOf[model.split(".", 1)[0] ?? ""]?.test(region) ?? true
