/**
 * Remembers which hosts recently served a conversation or the beginning of a prompt. Stores hashes only, no text. Its
 * size is bounded. When it is full and the oldest entry is older than an hour, that entry is dropped. Otherwise a key
 * that holds at least an equal share drops its own oldest entry, and any other key replaces the oldest entry of all.
 * So no key can push out what others left.
 */
import type { Host } from "../hosts/Host.ts"
import type { HostTag, KeyId, ModelId } from "../ids.ts"

export interface Served {
  readonly model: ModelId
  readonly tag: HostTag
  /** Unix milliseconds of the last answer. */
  readonly at: number
  /** Whether the host probably keeps the prompt in its cache. */
  readonly isCached: boolean
  /** Which of several keys of its provider it was called with (`UsedKey.id`); `undefined`: there are no several. */
  readonly providerKey: string | undefined
}

/**
 * Entries in the order in which they were written. A `Map` alone is too slow: finding its first key takes long after
 * many deletions.
 */
class Queue {
  size = 0
  first: Link | undefined
  private last: Link | undefined

  add(link: Link): void {
    link.before = this.last
    if (this.last === undefined) this.first = link
    else this.last.after = link
    this.last = link
    this.size += 1
  }

  remove({ before, after }: Link): void {
    if (before === undefined) this.first = after
    else before.after = after
    if (after === undefined) this.last = before
    else after.before = before
    this.size -= 1
  }
}

/** The position of an entry in a queue. */
interface Link {
  readonly entry: Entry
  before: Link | undefined
  after: Link | undefined
}

class Entry {
  readonly hash: bigint
  readonly owner: KeyId
  served: ReadonlyArray<Served>
  readonly amongAll: Link = { entry: this, before: undefined, after: undefined }
  readonly ofKey: Link = { entry: this, before: undefined, after: undefined }

  constructor(hash: bigint, owner: KeyId, served: ReadonlyArray<Served>) {
    this.hash = hash
    this.owner = owner
    this.served = served
  }
}

/** Milliseconds after which hosts' prompt caches have expired. */
const staleMs = 3_600_000

/** Hosts that are kept for one hash, the newest ones. */
const mostHosts = 4

const none: ReadonlyArray<Served> = []

export class RecentHosts {
  private readonly mostEntries: number
  private readonly entries = new Map<bigint, Entry>()
  private readonly all = new Queue()
  private readonly byKey = new Map<KeyId, Queue>()

  constructor(mostEntries: number) {
    this.mostEntries = mostEntries
  }

  get size(): number {
    return this.entries.size
  }

  /** The newest first. Nothing that another key left is returned, even if the hashes are equal. */
  of(owner: KeyId, hash: bigint): ReadonlyArray<Served> {
    const entry = this.entries.get(hash)
    return entry?.owner === owner ? entry.served : none
  }

  /** Adds a host, or the new time of a host that is there. */
  add(owner: KeyId, hash: bigint, { model, tag }: Host, at: number, isCached: boolean): void {
    const others = this.of(owner, hash).filter((one) => one.tag !== tag || one.model !== model)
    const newest = { model, tag, at, isCached, providerKey: undefined }
    this.write(owner, hash, [newest, ...others.slice(0, mostHosts - 1)])
  }

  /** Puts a host in the place of all others of its model. */
  replace(
    owner: KeyId,
    hash: bigint,
    { model, tag }: Host,
    at: number,
    isCached: boolean,
    providerKey?: string | undefined,
  ): void {
    const others = this.of(owner, hash).filter((one) => one.model !== model)
    this.write(owner, hash, [{ model, tag, at, isCached, providerKey }, ...others.slice(0, mostHosts - 1)])
  }

  remove(owner: KeyId, hash: bigint, { model, tag }: Host): void {
    const entry = this.entries.get(hash)
    if (entry?.owner !== owner) return
    entry.served = entry.served.filter((one) => one.tag !== tag || one.model !== model)
    if (entry.served.length === 0) this.drop(entry)
  }

  private write(owner: KeyId, hash: bigint, served: readonly [Served, ...ReadonlyArray<Served>]): void {
    const known = this.entries.get(hash)
    if (known !== undefined) this.drop(known)
    const ofKey = this.byKey.get(owner) ?? new Queue()
    const entry = new Entry(hash, owner, served)
    this.byKey.set(owner, ofKey)
    ofKey.add(entry.ofKey)
    this.all.add(entry.amongAll)
    this.entries.set(hash, entry)
    if (this.entries.size > this.mostEntries) this.drop(this.dispensable(ofKey, served[0].at) ?? entry)
  }

  /** The entry to drop for a new entry of this key. */
  private dispensable(ofKey: Queue, now: number): Entry | undefined {
    const oldest = this.all.first?.entry
    if (now - (oldest?.served[0]?.at ?? now) > staleMs) return oldest
    return ofKey.size * this.byKey.size >= this.all.size ? ofKey.first?.entry : oldest
  }

  private drop(entry: Entry): void {
    const ofKey = this.byKey.get(entry.owner)
    ofKey?.remove(entry.ofKey)
    if (ofKey?.size === 0) this.byKey.delete(entry.owner)
    this.all.remove(entry.amongAll)
    this.entries.delete(entry.hash)
  }
}
