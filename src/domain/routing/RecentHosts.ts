/**
 * Remembers which hosts served something last: a conversation, or a beginning of a prompt. What it was is a hash, so that
 * no text is kept. Bounded: when it is full, a key that has at least an equal share of it gives up what it wrote first. Any other key, and
 * anybody after an hour, takes the place of what was written first of all. So no key can push out what the others left.
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
}

/** Entries in the order in which they were written. The first key of a large `Map` takes long to find once many before it were deleted. */
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

/** The place of an entry in a queue. */
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

/** After so many milliseconds the prompt caches of hosts have forgotten. */
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
    this.write(owner, hash, [{ model, tag, at, isCached }, ...others.slice(0, mostHosts - 1)])
  }

  /** Puts a host in the place of all others of its model. */
  replace(owner: KeyId, hash: bigint, { model, tag }: Host, at: number, isCached: boolean): void {
    const others = this.of(owner, hash).filter((one) => one.model !== model)
    this.write(owner, hash, [{ model, tag, at, isCached }, ...others.slice(0, mostHosts - 1)])
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

  /** What is forgotten for a new entry of this key. */
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
