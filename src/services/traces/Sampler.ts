/** Which traces are kept, as `OTEL_TRACES_SAMPLER` has it. Pure. */

/** Of traces that begin here a share, by their ids; of others what their caller decided, or the same share. */
export interface Sampler {
  /** 0 to 1. */
  readonly share: number
  readonly followsParent: boolean
}

const samplers: ReadonlyMap<string, Omit<Sampler, "share"> & { readonly share?: number }> = new Map([
  ["always_on", { share: 1, followsParent: false }],
  ["always_off", { share: 0, followsParent: false }],
  ["traceidratio", { followsParent: false }],
  ["parentbased_always_on", { share: 1, followsParent: true }],
  ["parentbased_always_off", { share: 0, followsParent: true }],
  ["parentbased_traceidratio", { followsParent: true }],
])

export const defaultSampler: Sampler = { share: 1, followsParent: true }

export const samplerNames: ReadonlyArray<string> = [...samplers.keys()]

/** `argument`: a share from 0 to 1, or "" for all. `undefined`: there is no such sampler, or no such share. */
export const samplerOf = (name: string, argument: string): Sampler | undefined => {
  const found = samplers.get(name)
  if (found === undefined) return undefined
  const share = found.share ?? (argument === "" ? 1 : Number(argument))
  return share >= 0 && share <= 1 ? { ...found, share } : undefined
}

/** The last 52 bits of a trace id, which are random, in hexadecimal digits. */
const randomDigits = 13

/** `parent`: whether the caller's span is sampled; `undefined`: there is none. */
export const isSampled = ({ share, followsParent }: Sampler, traceId: string, parent: boolean | undefined): boolean => {
  if (followsParent && parent !== undefined) return parent
  if (share === 0 || share === 1) return share === 1
  return Number.parseInt(traceId.slice(-randomDigits), 16) >= (1 - share) * 16 ** randomDigits
}
