export interface Member {
  /** Where it is in its roster; -1: in none. It can be in one at a time. Only the roster changes this. */
  rosterIndex: number
}

/**
 * A set without an order, whose members come and go many times a second, such as the running requests. Not a `Set`: when one
 * of those makes itself a new table, its old table keeps its members and points to the new one. Once an old table has outlived
 * a collection of the young generation, everything that was ever in the tables after it stays in memory until a full
 * collection.
 */
export class Roster<A extends Member> {
  readonly #members: Array<A> = []

  get size(): number {
    return this.#members.length
  }

  /** Nothing may be added or deleted meanwhile. */
  [Symbol.iterator](): Iterator<A> {
    return this.#members[Symbol.iterator]()
  }

  /** Of a member that is in no other roster. */
  has(member: A): boolean {
    return member.rosterIndex !== -1
  }

  /** Does nothing for one that is in it. */
  add(member: A): void {
    if (this.has(member)) return
    member.rosterIndex = this.#members.length
    this.#members.push(member)
  }

  /** Does nothing for one that is not in it. The last member takes the place of the deleted one. */
  delete(member: A): void {
    if (!this.has(member)) return
    const index = member.rosterIndex
    member.rosterIndex = -1
    const last = this.#members.pop()
    if (last === undefined || last === member) return
    this.#members[index] = last
    last.rosterIndex = index
  }

  /**
   * Visits all that are in it now. Members may be added and deleted meanwhile. Then one that is added may be visited too, and
   * one may be visited twice.
   */
  each(visit: (member: A) => void): void {
    // Backwards: of a member that is deleted, the place goes to the last one, which was visited already.
    for (let at = this.#members.length - 1; at >= 0; at--) {
      const member = this.#members[at]
      if (member !== undefined) visit(member)
    }
  }
}
