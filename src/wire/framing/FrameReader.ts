/** How the bytes of a streamed answer are cut into frames, whatever the format. */

export interface Frame {
  /** The name that the format gives it, such as the value of an `event:` line; "" without one. */
  readonly name: string
  /** Its payload, usually JSON. */
  readonly data: string
}

/** Reads one stream. Bytes cut at any positions give the same frames. */
export interface FrameReader {
  /** Adds `bytes`, from `start` to `end` where these are given, and returns the frames that are complete now. */
  readonly push: (bytes: Uint8Array, start?: number, end?: number) => ReadonlyArray<Frame>
  /** The source ended. Returns a last frame whose end mark is missing. */
  readonly end: () => ReadonlyArray<Frame>
  /** Whether a frame grew beyond the bound of its reader. Nothing is read after that. */
  readonly overlong: () => boolean
  /** The incomplete frame so far. */
  readonly partial: () => Frame
  /** What is wrong with the bytes, when they cannot be of this format; text can always be. Nothing is read after that. */
  readonly fault?: () => string | undefined
}

/**
 * The longest frame that is read unless another bound is given, in UTF-16 units, or in bytes where the format is binary: 32 MiB,
 * as much as a whole answer (`limits.body_bytes`), since an image or a whole response may come in one event.
 */
export const longestFrame = 33_554_432
