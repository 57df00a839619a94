/**
 * Remembers which hosts lately served each conversation, because a host's prompt cache makes the next turn cheaper
 * there. Two things are remembered, both as hashes: the conversation (for stickiness), and the beginnings of its
 * prompts (for strategies). In memory, per process; no text of a prompt is kept. See docs/strategies.md and
 * docs/decisions/0013-conversation-memory.md.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { HostFailed } from "../../domain/failures/Failure.ts"
import { verdictOn } from "../../domain/failures/Verdict.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import type { KeyId } from "../../domain/ids.ts"
import { discountsCacheReads } from "../../domain/price/price.ts"
import type { Usage } from "../../domain/price/Usage.ts"
import { tokensIn } from "../../domain/request/estimate.ts"
import { type AnyRequest, isUnary } from "../../domain/request/operations.ts"
import type { ChatRequest } from "../../domain/request/request.ts"
import { hashText, openingHash, type Prefix, prefixesOf } from "../../domain/routing/promptHash.ts"
import { RecentHosts, type Served } from "../../domain/routing/RecentHosts.ts"
import type { ConversationView, ServedPrompt } from "../../plugin/strategy.ts"

/** What of a request tells its conversation. */
export type Turn = Pick<ChatRequest, "routing" | "payload" | "bounds">

/** A host is preferred for so long after its last answer. */
const stickyMs = 600_000

/**
 * The same for prompts that it was asked to keep longer: an hour by a mark (platform.claude.com, prompt caching,
 * 2026-11), a day by `prompt_cache_retention` (developers.openai.com, prompt caching, 2026-11).
 */
const hourMs = 3_600_000
const dayMs = 86_400_000

/** Entries of conversations and of prompt beginnings together; 390 to 750 bytes each, so at most 49 MB. */
const mostEntries = 65_536

/** What is remembered of conversations. */
export interface ConversationMemory {
  /** What is remembered of the conversation of a request. Nothing is hashed or looked up before it is asked for. */
  readonly of: (key: KeyId, turn: Turn) => Conversation
}

export class Conversations extends Context.Tag("headgate/Conversations")<Conversations, ConversationMemory>() {
  static readonly layer: Layer.Layer<Conversations> = Layer.effect(
    Conversations,
    Effect.suspend(() => make),
  )
}

const make = Effect.gen(function* () {
  const clock = yield* Effect.clock
  const memory: Memory = {
    hosts: new RecentHosts(mostEntries),
    seed: crypto.getRandomValues(new BigUint64Array(1))[0] ?? 0n,
    now: () => clock.unsafeCurrentTimeMillis(),
  }
  return Conversations.of({ of: (key, turn) => new Conversation(memory, key, turn) })
})

/** What is remembered of the request's conversation; `undefined`: its operation has none. */
export const conversationOf = (
  conversations: ConversationMemory,
  key: KeyId,
  request: AnyRequest,
): Conversation | undefined => (isUnary(request) ? undefined : conversations.of(key, request))

interface Memory {
  readonly hosts: RecentHosts
  /** Random, so that hashes of one process say nothing in another. */
  readonly seed: bigint
  readonly now: () => number
}

interface ServedPrefix {
  readonly tokens: number
  readonly hosts: ReadonlyArray<Served>
}

/** The conversation of one request. It refers to the prompt, so it must not outlive the plan: `record` does. */
export class Conversation implements ConversationView {
  private readonly memory: Memory
  private readonly key: KeyId
  private readonly turn: Turn
  private sticky: bigint | undefined
  /** Who served it lately, once that was asked. */
  private recent: ReadonlyArray<Served> = nobody
  private prefixes: ReadonlyArray<Prefix> | undefined
  /** The beginnings that some host has served, the longest first. */
  private served: ReadonlyArray<ServedPrefix> | undefined

  constructor(memory: Memory, key: KeyId, turn: Turn) {
    this.memory = memory
    this.key = key
    this.turn = turn
  }

  warm(host: Host): ServedPrompt | undefined {
    for (const { tokens, hosts } of this.servedPrefixes()) {
      const found = hosts.find((served) => served.isCached && isOf(host, served))
      if (found !== undefined) return { tokens, agoMs: this.since(found) }
    }
    return undefined
  }

  last(): ServedPrompt | undefined {
    const longest = this.servedPrefixes()[0]
    const newest = longest?.hosts[0]
    return longest && newest && { tokens: longest.tokens, agoMs: this.since(newest) }
  }

  /**
   * The hosts with the one in front that served the conversation while its cache may last. Unchanged where there is
   * none, where no host charges less for what it reads from its cache, and where a strategy has looked at the
   * conversation and so decided itself.
   */
  stickyFirst(hosts: ReadonlyArray<Host>): ReadonlyArray<Host> {
    if (this.prefixes !== undefined) return hosts
    this.recall(hosts)
    for (const served of this.recent) {
      const host = hosts.find((candidate) => isOf(candidate, served))
      if (host === undefined || !discountsCacheReads(host.pricing)) continue
      return host === hosts[0] ? hosts : [host, ...hosts.filter((other) => other !== host)]
    }
    return hosts
  }

  /** Looks up who served it, unless no host charges less for what it reads from its cache. */
  recall(hosts: ReadonlyArray<Host>): void {
    if (this.sticky !== undefined || !hosts.some(({ pricing }) => discountsCacheReads(pricing))) return
    this.sticky = this.hashedBy((use) => this.seedFor(use))
    const now = this.memory.now()
    const served = this.memory.hosts.of(this.key, this.sticky)
    if (served.length > 0) this.recent = served.filter(({ at }) => now - at < this.lastsMs)
  }

  /**
   * What the end of an answer is recorded with: hashes of what the plan has asked for, `undefined` when that is
   * nothing.
   */
  record(): ConversationRecord | undefined {
    const { memory, key, sticky, recent, prefixes } = this
    if (sticky === undefined && prefixes === undefined) return undefined
    const isNamed = this.turn.routing.session !== undefined || this.cacheKey !== undefined
    // The leading instructions and the whole prompt: what later requests can begin with.
    const kept = prefixes?.filter(({ isShared }, at) => isShared || at === prefixes.length - 1) ?? []
    const hashes = kept.map(({ hash }) => hash)
    return new ConversationRecord(memory, key, hashes, sticky, isNamed, recent)
  }

  /** A name of it, 16 hex digits, which is the same in every process of the installation. */
  idIn(installation: string): string {
    const seed = hashText(this.key, hashText(installation, 0n))
    return this.hashedBy((use) => hashText(use, seed))
      .toString(16)
      .padStart(16, "0")
  }

  /** The same conversation, of which nothing was asked yet. */
  again(): Conversation {
    return new Conversation(this.memory, this.key, this.turn)
  }

  private servedPrefixes(): ReadonlyArray<ServedPrefix> {
    const { memory, key, turn } = this
    this.prefixes ??= prefixesOf(turn.payload, this.seedFor("prompt"))
    this.served ??= this.prefixes
      .map(({ hash, bytes }) => ({ tokens: tokensIn(bytes), hosts: memory.hosts.of(key, hash) }))
      .filter(({ hosts }) => hosts.length > 0)
      .reverse()
    return this.served
  }

  private since({ at }: Served): number {
    return Math.max(0, this.memory.now() - at)
  }

  /** How long a host may keep the prompt. */
  private get lastsMs(): number {
    const { payload, bounds } = this.turn
    if (payload["prompt_cache_retention"] === "24h") return dayMs
    return bounds.cachesPartAnHour === true ? hourMs : stickyMs
  }

  private get cacheKey(): string | undefined {
    const cacheKey = this.turn.payload["prompt_cache_key"]
    return typeof cacheKey === "string" && cacheKey !== "" ? cacheKey : undefined
  }

  private seedFor(use: string): bigint {
    return hashText(use, hashText(this.key, this.memory.seed))
  }

  /** `seedFor`: a seed for each kind of name. */
  private hashedBy(seedFor: (use: string) => bigint): bigint {
    const { cacheKey } = this
    const { routing, payload } = this.turn
    if (routing.session !== undefined) return hashText(routing.session, seedFor("session"))
    if (cacheKey !== undefined) return hashText(cacheKey, seedFor("cache key"))
    return openingHash(payload.messages, seedFor("opening"))
  }
}

/** Records how the hosts of one request did. It keeps hashes, not the prompt, so a running stream may hold it. */
export class ConversationRecord {
  private readonly memory: Memory
  private readonly key: KeyId
  private readonly prefixes: ReadonlyArray<bigint>
  private readonly sticky: bigint | undefined
  private readonly isNamed: boolean
  private readonly recent: ReadonlyArray<Served>

  /** `isNamed`: by its caller, so that its first answer tells its host. `recent`: who served it lately. */
  constructor(
    memory: Memory,
    key: KeyId,
    prefixes: ReadonlyArray<bigint>,
    sticky: bigint | undefined,
    isNamed: boolean,
    recent: ReadonlyArray<Served>,
  ) {
    this.memory = memory
    this.key = key
    this.prefixes = prefixes
    this.sticky = sticky
    this.isNamed = isNamed
    this.recent = recent
  }

  /** The key of the host's provider (`UsedKey.id`) that it was served with; `undefined`: none is known. */
  keyAt(host: Host): string | undefined {
    return this.recent.find((served) => isOf(host, served))?.providerKey
  }

  /**
   * The host gave a complete answer. `usage`: as it counted; `undefined`: it did not. `providerKey`: which of several
   * keys it was called with. `isBound`: whether the answer has something that only this account can read.
   */
  succeeded(host: Host, usage: Usage | undefined, providerKey?: string, isBound = false): void {
    const { memory, key, sticky } = this
    const at = memory.now()
    const isDiscounted = discountsCacheReads(host.pricing)
    const isCached = isDiscounted && keepsPrompt(host, usage)
    for (const prefix of this.prefixes) memory.hosts.add(key, prefix, host, at, isCached)
    if (sticky === undefined || !isDiscounted) return
    const isCounted = usage !== undefined && usage.cachedTokens + usage.cacheWriteTokens > 0
    if (this.isNamed || isCounted || isBound || this.recent.some(({ model }) => model === host.model))
      memory.hosts.replace(key, sticky, host, at, isCached, providerKey)
  }

  /** The host failed. Its cache is not expected to have changed, but it is not preferred any more. */
  failed(host: Host, failure: HostFailed): void {
    if (this.sticky !== undefined && !verdictOn(failure).keepsConversation)
      this.memory.hosts.remove(this.key, this.sticky, host)
  }
}

const nobody: ReadonlyArray<Served> = []

const isOf = (host: Host, { model, tag }: Served): boolean => host.tag === tag && host.model === model

/**
 * Whether the host is likely to have kept the prompt in its cache. Hosts that charge for writing and do not cache by
 * themselves only do so where the caller marked the prompt; they report what they wrote or read.
 */
const keepsPrompt = ({ pricing, supportsImplicitCaching }: Host, usage: Usage | undefined): boolean =>
  supportsImplicitCaching ||
  pricing?.inputCacheWrite === null ||
  (usage !== undefined && usage.cachedTokens + usage.cacheWriteTokens > 0)
