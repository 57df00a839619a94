/** A fault that is put into the source of a valid plugin, and what its author reads of it. */

export type Edit = readonly [from: string, to: string]

interface Fault {
  /** Its folder in `test/testing`; `tide` is the template of a protocol. */
  readonly plugin: "geminiLike" | "tide" | "tokenLike" | "signedLike"
  readonly fault: string
  /** Without its extension. */
  readonly file: string
  readonly edits: ReadonlyArray<Edit>
}

/** One that the kit notices. */
export interface Noticed extends Fault {
  readonly check: string
  /** A part of the sentence. */
  readonly says: string
}

/** One that the kit cannot see without a sample, or that only the vendor's document tells. `row`: a part of the row of the table. */
export interface Told extends Fault {
  readonly row: string
}

export type Mutant = Noticed | Told

export const isNoticed = (mutant: Mutant): mutant is Noticed => "check" in mutant
