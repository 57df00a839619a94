/**
 * Tokens per byte of recent prompts, as counted by their hosts. It estimates prompts that no host counted: from the
 * counts for the same key at this host, or else from the counts for all keys. The prompts of one host share a
 * tokenizer, and those of one key are usually alike. Clients choose what they send, so the figure is bounded: the
 * prompts of others never raise an estimate above the rule of thumb, and prompts that compress well do not make later
 * ones nearly free. In memory. See docs/billing.md.
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

/**
 * The longest tokens of ordinary text: English has about five bytes per token, while a run of spaces may have eighty.
 */
const fewestPerByte = 1 / 6
/** The bound for estimates from other keys' counts: the rule of thumb (`estimate.ts`). */
const mostOfOthers = 1 / bytesOfTokens(1)
/** A token is at least one byte. */
const mostPerByte = 1

/** The weight that each new prompt leaves to the earlier ones. */
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
    // The first key is the one whose last count is oldest.
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
