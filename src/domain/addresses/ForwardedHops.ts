/**
 * What `X-Forwarded-For`, or `Forwarded` (RFC 7239), says of the way of a request. Each proxy adds the address that it was called from at
 * the end, so a header is read from its end: what stands before the first lie may be a lie too. Pure.
 */
import { type IpAddress, parseAddress } from "./ipRange.ts"

/** Headers that proxies tell an address in. */
export const forwardedHeaders = ["x-forwarded-for", "forwarded"] as const

export type ForwardedHeader = (typeof forwardedHeaders)[number]

/** Characters of one hop. A longer one is taken for garbage. */
const mostCharacters = 512

export class ForwardedHops {
  private readonly text: string
  private readonly nodeOf: (hop: string) => string | undefined
  private readonly startOf: (text: string, end: number) => number
  /** Where the next hop ends. -1: there is none. */
  private end: number

  /** `text`: all lines of the header, joined by commas. */
  constructor(header: ForwardedHeader, text: string) {
    this.text = text
    this.end = text === "" ? -1 : text.length
    this.nodeOf = header === "forwarded" ? forOf : same
    this.startOf = header === "forwarded" ? quotedStartOf : plainStartOf
  }

  /** The address of the next hop, from the gateway on. `undefined`: there is no more, or what stands there is no address. */
  next(): IpAddress | undefined {
    const { text, end } = this
    if (end < 0) return undefined
    const start = this.startOf(text, end)
    this.end = start - 1
    if (end - start > mostCharacters) return undefined
    const node = this.nodeOf(text.slice(start, end).trim())
    return node === undefined ? undefined : parseNode(node)
  }
}

const same = (hop: string): string => hop

const plainStartOf = (text: string, end: number): number => (end === 0 ? 0 : text.lastIndexOf(",", end - 1) + 1)

/** The same where a comma may stand within quotes. A quote that is not closed belongs to the hop in front of it, which is garbage then. */
const quotedStartOf = (text: string, end: number): number => {
  let isQuoted = false
  // One character more than a hop may have, so that the hop is seen to be too long.
  const least = Math.max(0, end - mostCharacters - 1)
  for (let at = end - 1; at >= least; at--) {
    const character = text[at]
    if (character === '"') isQuoted = isQuoted ? isEscaped(text, at) : true
    else if (character === "," && !isQuoted) return at + 1
  }
  return least
}

/** Whether an odd number of backslashes stands before it. */
const isEscaped = (text: string, at: number): boolean => {
  let from = at
  while (from > 0 && at - from < mostCharacters && text[from - 1] === "\\") from--
  return (at - from) % 2 === 1
}

const pair = /\s*([!#$%&'*+.^_`|~\w-]+)=(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]+))\s*(?:;|$)/y

/** The node of the parameter `for`. `undefined`: it is not there, twice there, or something else is wrong with the hop. */
const forOf = (hop: string): string | undefined => {
  let node: string | undefined
  const pairs = new RegExp(pair)
  while (pairs.lastIndex < hop.length) {
    const [, name, quoted, plain] = pairs.exec(hop) ?? []
    if (name === undefined) return undefined
    if (name.toLowerCase() !== "for") continue
    if (node !== undefined) return undefined
    node = quoted?.replaceAll(/\\(.)/g, "$1") ?? plain
  }
  return node
}

/** An address with or without a port. `unknown` and names that proxies make up are none. */
const parseNode = (node: string): IpAddress | undefined => {
  const [, bracketed] = /^\[([^\]]*)\](?::[\w.-]+)?$/.exec(node) ?? []
  if (bracketed !== undefined) return bracketed.includes(":") ? parseAddress(bracketed) : undefined
  const [, bare] = /^([\d.]+):[\w.-]+$/.exec(node) ?? []
  return parseAddress(bare ?? node)
}
