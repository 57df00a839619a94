/**
 * Tokens per byte of prompts, as hosts counted them lately. An estimate of a prompt that nobody counted goes by it: first by what the same
 * key was counted at the host, then by what everybody was. Prompts of one host have one tokenizer, and those of one key are usually alike.
 * Callers choose what they send, so the figure is bounded: nobody pays more than by the rule of thumb because of prompts of others, and no
 * prompts that compress well make later ones nearly free. In memory. See docs/billing.md.
 */

import type { KeyId } from "../ids.ts"
import { bytesOfTokens } from "../request/estimate.ts"
import type { Host } from "./Host.ts"

/** A moving average over about ten prompts, weighted by size. */
class Density {
  private tokens = 0
  private bytes = 0

  add(tokens: number, bytes: number): void {
    this.tokens = this.tokens * kept + tokens
    this.bytes = this.bytes * kept + bytes
  }

  /** At most `most`. */
  perByte(most: number): number {
    return Math.min(Math.max(this.tokens / this.bytes, fewestPerByte), most)
  }
}

/** The longest tokens of ordinary texts: English has some five bytes a token, while a run of blanks may have eighty. */
const fewestPerByte = 1 / 6
/** By what others were counted: the rule of thumb (`estimate.ts`). */
const mostOfOthers = 1 / bytesOfTokens(1)
/** A token is at least one byte. */
const mostPerByte = 1

/** What is left of the earlier prompts with each new one. */
const kept = 0.9
/** Bytes. In shorter prompts, the framing around the text distorts the ratio. */
const shortest = 1024
const mostKeys = 64

export class PromptDensity {
  private readonly ofHosts = new WeakMap<Host, { readonly all: Density; readonly byKey: Map<KeyId, Density> }>()

  /** Records that a host counted `tokens` for a prompt that consists of `bytes` of text and nothing else. */
  counted(host: Host, key: KeyId, tokens: number, bytes: number): void {
    if (bytes < shortest || tokens === 0) return
    const known = this.ofHosts.get(host)
    const { all, byKey } = known ?? { all: new Density(), byKey: new Map<KeyId, Density>() }
    if (known === undefined) this.ofHosts.set(host, { all, byKey })
    all.add(tokens, bytes)
    const own = byKey.get(key) ?? new Density()
    own.add(tokens, bytes)
    // The key that was counted the longest ago is the first.
    byKey.delete(key)
    byKey.set(key, own)
    const [first] = byKey.size > mostKeys ? byKey.keys() : []
    if (first !== undefined) byKey.delete(first)
  }

  /** Estimates the tokens in a text of `bytes`; `undefined`: no prompt was counted yet, or the text is short. */
  tokensIn(host: Host, key: KeyId, bytes: number): number | undefined {
    const known = this.ofHosts.get(host)
    if (known === undefined || bytes < shortest) return undefined
    const own = known.byKey.get(key)
    return Math.ceil((own?.perByte(mostPerByte) ?? known.all.perByte(mostOfOthers)) * bytes)
  }
}
