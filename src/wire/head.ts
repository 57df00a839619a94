/** The head of an HTTP answer: the parts that protocols read; and names of headers. */

export interface ResponseHeaders {
  /** The value of a header, by its name in any case; several values joined by ", "; `null` when it is absent. */
  readonly get: (name: string) => string | null
}

export interface ResponseHead {
  readonly status: number
  readonly headers: ResponseHeaders
}

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const capital = /[A-Z]/

/** Whether a text can be the name of a header: a token of RFC 9110, 5.6.2. */
export const isHeaderName = (text: string): boolean => token.test(text)

/** Whether a text can be the name of a header and has no capitals, so that names can be compared as texts. */
export const isLowerCaseHeaderName = (text: string): boolean => token.test(text) && !capital.test(text)
