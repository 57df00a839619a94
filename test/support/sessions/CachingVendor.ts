/** A vendor that caches the beginnings of prompts, and bills by what it found and wrote. */
import type { Block, CachingProtocol } from "./prompts.ts"

/** Tokens of one request. */
export interface Counts {
  readonly plain: number
  readonly read: number
  readonly written5m: number
  readonly written1h: number
  readonly output: number
}

/** USD per million tokens. */
export const prices = { plain: 1, read: 0.1, written5m: 1.25, written1h: 2, output: 4 } as const

export const usdOf = (counts: Counts): number =>
  (counts.plain * prices.plain +
    counts.read * prices.read +
    counts.written5m * prices.written5m +
    counts.written1h * prices.written1h +
    counts.output * prices.output) /
  1e6

const minutes = 60_000
/** platform.claude.com/docs/en/build-with-claude/prompt-caching, 2026-11. Shorter prompts are not cached. */
const fewestTokens = 1024
/** The same page: a mark finds what was written up to so many blocks before it. */
const lookback = 20
/** platform.openai.com/docs/guides/prompt-caching, 2026-11: cached are multiples of this, for five to ten minutes of inactivity. */
const step = 128
const automaticMs = 10 * minutes

/**
 * `marked`: Anthropic's rules, also on Bedrock. A prompt is written up to each mark, kept for 5 minutes or an hour after it was last used,
 * and found at a mark or at most 20 blocks before one. `automatic`: OpenAI's rules. Every prompt is kept for ten minutes, in pieces of 128
 * tokens, at no charge.
 */
export const cachesBy: Readonly<Record<CachingProtocol, "marked" | "automatic">> = {
  ...{ messages: "marked", converse: "marked", responses: "automatic", chat: "automatic", gemini: "automatic" },
}

/** The caches of one vendor, each of an account. */
export class CachingVendor {
  private readonly kept = new Map<string, { until: number; readonly lifeMs: number }>()
  private readonly protocol: CachingProtocol
  private readonly now: () => number
  constructor(protocol: CachingProtocol, now: () => number) {
    this.protocol = protocol
    this.now = now
  }

  /** What the prompt costs, which is in the cache of the account from now on. */
  count(account: string, prompt: ReadonlyArray<Block>, output: number): Counts {
    const counts = cachesBy[this.protocol] === "marked" ? this.marked(account, prompt) : this.automatic(account, prompt)
    return { ...counts, output }
  }

  private marked(account: string, prompt: ReadonlyArray<Block>): Omit<Counts, "output"> {
    const marks = prompt.flatMap(({ mark }, at) => (mark === undefined ? [] : [{ at, mark }]))
    if (marks.length > 4) throw new Error("A maximum of 4 blocks with cache_control may be provided.")
    if (marks.some(({ mark }, at) => mark === "1h" && marks[at - 1]?.mark === "5m"))
      throw new Error("a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block")
    const sums = sumsOf(prompt)
    const names = namesOf(account, prompt)
    let read = -1
    for (const { at } of marks)
      for (let before = at; before >= Math.max(0, at - lookback); before--)
        if (before > read && this.find(names[before])) read = before
    const tokensTo = (at: number): number => sums[at] ?? 0
    const counts = { read: tokensTo(read), written5m: 0, written1h: 0 }
    let written = read
    for (const { at, mark } of marks) {
      if (tokensTo(at) < fewestTokens) continue
      this.keep(names[at], mark === "1h" ? 60 * minutes : 5 * minutes)
      if (at <= written) continue
      counts[mark === "1h" ? "written1h" : "written5m"] += tokensTo(at) - tokensTo(written)
      written = at
    }
    return { ...counts, plain: tokensTo(prompt.length - 1) - tokensTo(Math.max(read, written)) }
  }

  private automatic(account: string, prompt: ReadonlyArray<Block>): Omit<Counts, "output"> {
    const pieces = prompt.flatMap(({ text, tokens }) => {
      const length = Math.max(1, Math.ceil(tokens / step))
      const size = Math.ceil(text.length / length)
      return Array.from({ length }, (_, at) => ({
        text: text.slice(at * size, (at + 1) * size),
        tokens: at < length - 1 ? step : tokens - (length - 1) * step,
      }))
    })
    const sums = sumsOf(pieces)
    const names = namesOf(account, pieces)
    let found = 0
    while (found < pieces.length && this.find(names[found])) found += 1
    const inCache = Math.floor((sums[found - 1] ?? 0) / step) * step
    const read = inCache < fewestTokens ? 0 : inCache
    for (const name of names) this.keep(name, automaticMs)
    return { read, written5m: 0, written1h: 0, plain: (sums.at(-1) ?? 0) - read }
  }

  /** Whether it is kept; then it is for as long again. */
  private find(name: string | undefined): boolean {
    const kept = name === undefined ? undefined : this.kept.get(name)
    if (kept === undefined || kept.until < this.now()) return false
    kept.until = this.now() + kept.lifeMs
    return true
  }

  private keep(name: string | undefined, lifeMs: number): void {
    if (name !== undefined) this.kept.set(name, { until: this.now() + lifeMs, lifeMs })
  }
}

const sumsOf = (prompt: ReadonlyArray<{ readonly tokens: number }>): ReadonlyArray<number> => {
  let sum = 0
  return prompt.map(({ tokens }) => (sum += tokens))
}

/** A name of the prompt up to each block. */
const namesOf = (account: string, prompt: ReadonlyArray<{ readonly text: string }>): ReadonlyArray<string> => {
  let hash = Bun.hash(account)
  return prompt.map(({ text }) => {
    hash = Bun.hash(text, BigInt(hash))
    return hash.toString(36)
  })
}
