/** The head of an HTTP answer: the parts that protocols read. */

export interface ResponseHeaders {
  /** The value of a header, by its name in any case; several values joined by ", "; `null` when it is absent. */
  readonly get: (name: string) => string | null
}

export interface ResponseHead {
  readonly status: number
  readonly headers: ResponseHeaders
}
