/** The answer of `POST /route/explain`. */
export interface Explanation {
  readonly strategy: string
  readonly seed: number
  readonly attempts: ReadonlyArray<{
    readonly model: string
    readonly host: string
    readonly provider: string
    readonly rank: number
    readonly estimated_cost_usd: string | null
    /** The numbers that the strategy used. */
    readonly why: Readonly<Record<string, unknown>> | null
    readonly api_key?: string
  }>
  readonly excluded: ReadonlyArray<{
    readonly model: string
    readonly host: string
    readonly by: string
    readonly reason: string
  }>
  readonly dropped_parameters: Readonly<Record<string, ReadonlyArray<string>>>
  /** What the request would get, where there is nothing to try. */
  readonly error?: { readonly code: number; readonly message: string }
  readonly draws?: {
    readonly count: number
    readonly shares: ReadonlyArray<{
      readonly model: string
      readonly host: string
      readonly first: number
      readonly share: number
    }>
  }
}
