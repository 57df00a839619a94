/**
 * A set whose members come and go many times a second, such as the running requests. Not a `Set`: whenever one of those makes
 * itself a new table, its old one keeps its members and points to the new one. Once a collection of the young generation has
 * met an old table, everything that was ever in the tables after it stays in memory until a full collection.
 */
export interface Member {
  /** Set by the roster that it is in, one at most. -1: in none. */
  place: number
}

export class Roster<A extends Member> {
  readonly #members: Array<A> = []

  get size(): number {
    return this.#members.length
  }

  /** Nothing may be added or deleted meanwhile. */
  [Symbol.iterator](): Iterator<A> {
    return this.#members[Symbol.iterator]()
  }

  /** Does nothing for one that is in it. */
  add(member: A): void {
    if (member.place !== -1) return
    member.place = this.#members.length
    this.#members.push(member)
  }

  /** Does nothing for one that is not in it. */
  delete(member: A): void {
    const { place } = member
    if (place === -1) return
    member.place = -1
    const last = this.#members.pop()
    if (last === undefined || last === member) return
    this.#members[place] = last
    last.place = place
  }

  /** Visits all that are in it now. Members may be added and deleted meanwhile: those that are added are not visited. */
  each(visit: (member: A) => void): void {
    // Backwards, since the last member takes the place of one that is deleted.
    for (let at = this.#members.length - 1; at >= 0; at--) {
      const member = this.#members[at]
      if (member !== undefined) visit(member)
    }
  }
}
