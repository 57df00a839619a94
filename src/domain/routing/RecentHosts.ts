/**
 * Remembers which hosts served something last: a conversation, or a beginning of a prompt. What it was is a hash, so that
 * no text is kept. Bounded: when it is full, the entry that was not written for longest is forgotten.
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

interface Entry {
  readonly owner: KeyId
  readonly served: ReadonlyArray<Served>
}

/** Hosts that are kept for one hash, the newest ones. */
const mostHosts = 4

const none: ReadonlyArray<Served> = []

export class RecentHosts {
  private readonly mostEntries: number
  /** In the order in which they were written. */
  private readonly entries = new Map<bigint, Entry>()

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
    const served = this.of(owner, hash)
    const others = served.filter((one) => one.tag !== tag || one.model !== model)
    if (others.length === served.length) return
    if (others.length === 0) this.entries.delete(hash)
    else this.entries.set(hash, { owner, served: others })
  }

  private write(owner: KeyId, hash: bigint, served: ReadonlyArray<Served>): void {
    this.entries.delete(hash)
    this.entries.set(hash, { owner, served })
    if (this.entries.size <= this.mostEntries) return
    const [oldest] = this.entries.keys()
    if (oldest !== undefined) this.entries.delete(oldest)
  }
}
