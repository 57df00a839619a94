/** One thing that was not looked at. */
export interface NotCovered {
  /** The protocol, or `plugin`. */
  readonly of: string
  readonly what: string
  /** What to give, so that it is looked at; or with what to compare it. */
  readonly how: string
}
