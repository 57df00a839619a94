/**
 * Which models and hosts have series of their own: the first `mostPairs` that are asked for. All others are counted as `_OTHER`. Names come
 * from the configuration, never from a caller.
 */

export const mostPairs = 1000

/** In place of what has no series of its own. */
export const other = "_OTHER"

export interface Pair {
  readonly model: string
  readonly host: string
}

const others: Pair = { model: other, host: other }

export class Pairs {
  private readonly most: number
  private readonly hostsOf = new Map<string, Map<string, Pair>>()
  private count = 0
  private readonly models = new Set<string>()

  constructor(most: number = mostPairs) {
    this.most = most
  }

  of(model: string, host: string): Pair {
    return this.hostsOf.get(model)?.get(host) ?? this.add(model, host)
  }

  /** Whether it has series of its own. */
  has(model: string, host: string): boolean {
    return this.hostsOf.get(model)?.has(host) === true
  }

  /** The label of a configured model where no host is known. No more models than pairs have one of their own. */
  model(model: string): string {
    if (this.models.has(model) || this.hostsOf.has(model)) return model
    if (this.models.size >= this.most) return other
    this.models.add(model)
    return model
  }

  private add(model: string, host: string): Pair {
    if (this.count >= this.most) return others
    const hosts = this.hostsOf.get(model) ?? new Map<string, Pair>()
    this.hostsOf.set(model, hosts)
    const pair = { model, host }
    hosts.set(host, pair)
    this.count += 1
    return pair
  }
}
