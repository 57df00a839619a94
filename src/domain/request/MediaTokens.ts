/**
 * Tokens of images, sound and files, where the host did not count them. Rough on purpose: the vendors' rules differ, and need
 * sizes in pixels or seconds that only a decoder knows. Figures and sources: docs/decisions/0044-what-was-not-counted.md.
 */

/** Tokens by the kinds that have prices of their own. */
export interface MediaTokens {
  readonly image: number
  readonly audio: number
  /** Video and files, at the price of text. */
  readonly other: number
}

export const noMedia: MediaTokens = { image: 0, audio: 0, other: 0 }

export const allMedia = ({ image, audio, other }: MediaTokens): number => image + audio + other

export const mediaTogether = (a: MediaTokens | undefined, b: MediaTokens | undefined): MediaTokens | undefined =>
  a === undefined || b === undefined
    ? (a ?? b)
    : { image: a.image + b.image, audio: a.audio + b.audio, other: a.other + b.other }

/** Bytes that a text of so many base64 characters decodes to. */
const decoded = (characters: number): number => Math.floor((characters * 3) / 4)

/** Tokens of an image in a prompt, whatever its size. */
export const promptImageTokens = 1000
/** Tokens of a file, a video or sound that is given by its address, so that its size is not known. */
const unseenPartTokens = 1000

/** Tokens of sound in a prompt, which is often compressed: 32 a second, at 32 kB a second. `base64`: characters; 0: an address. */
const promptAudioTokens = (base64: number): number =>
  base64 === 0 ? unseenPartTokens : Math.ceil(decoded(base64) / 1000)

/** Tokens of a video, or of a file that is no text, in a prompt: one for 32 bytes. `base64`: characters; 0: an address. */
const promptFileTokens = (base64: number): number => (base64 === 0 ? unseenPartTokens : Math.ceil(decoded(base64) / 32))

/** The estimate for one part of a prompt, by its kind of input (`image`, `audio`, `video`, `file`). `base64`: characters; 0: an address. */
export const promptMedia = (kind: string, base64: number): MediaTokens => {
  if (kind === "image") return { ...noMedia, image: promptImageTokens }
  if (kind === "audio") return { ...noMedia, audio: promptAudioTokens(base64) }
  return { ...noMedia, other: promptFileTokens(base64) }
}

const fewestImageTokens = 1290
const mostImageTokens = 6240

/** Tokens of an image that a model made: 1,290 up to some 1.3 MB, then one for each kilobyte, 6,240 at most. `characters`: of its base64. */
export const outputImageTokens = (characters: number): number =>
  Math.min(mostImageTokens, Math.max(fewestImageTokens, Math.ceil(decoded(characters) / 1000)))

/** Bytes of uncompressed sound for a token: 48,000 a second (24 kHz, 16 bit), with 25 tokens. Streams have no other. */
const soundBytesPerToken = 1920

/** Tokens of a piece of sound that a model made, in characters of its base64. */
export const outputAudioTokens = (characters: number): number => Math.ceil(decoded(characters) / soundBytesPerToken)
