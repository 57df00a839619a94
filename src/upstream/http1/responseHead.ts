import type { ResponseHead, ResponseHeaders } from "../Exchange.ts"

/** The header section of an answer, kept as one text and searched on demand: few of its fields are ever read. */
class HeaderText implements ResponseHeaders {
  #text: string
  #lowerCase: string | undefined

  /** `text`: every line, the status line first, each with its CRLF. Latin-1, so changing its case keeps its length. */
  constructor(text: string) {
    this.#text = text
  }

  get(name: string): string | null {
    this.#lowerCase ??= this.#text.toLowerCase()
    const wanted = `\r\n${name.toLowerCase()}:`
    let values: string | null = null
    let at = this.#lowerCase.indexOf(wanted)
    while (at !== -1) {
      const start = at + wanted.length
      const end = this.#lowerCase.indexOf("\r\n", start)
      const value = this.#text.slice(start, end).trim()
      values = values === null ? value : `${values}, ${value}`
      at = this.#lowerCase.indexOf(wanted, end)
    }
    return values
  }
}

export const makeResponseHead = (status: number, text: string): ResponseHead => ({
  status,
  headers: new HeaderText(text),
})
