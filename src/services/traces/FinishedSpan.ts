/** A span that is over, before it is written for a collector or handed to an app's `Tracer`. */

export type AttributeValue = string | number | boolean | ReadonlyArray<string>

export type Attributes = ReadonlyArray<readonly [name: string, value: AttributeValue]>

export interface FinishedSpan {
  /** 32 and 16 hexadecimal digits. */
  readonly traceId: string
  readonly spanId: string
  /** `null`: it is the first one of its trace. */
  readonly parentId: string | null
  readonly name: string
  readonly kind: "internal" | "server" | "client"
  /** Unix milliseconds, with fractions. */
  readonly began: number
  readonly ended: number
  readonly attributes: Attributes
  /** Whether it counts as failed. */
  readonly isError: boolean
  /** A span of the same trace that it belongs to in another way than to its parent: of a call that lost, the one that won. */
  readonly linkTo: string | null
}
