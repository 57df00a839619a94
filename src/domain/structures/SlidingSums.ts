/**
 * Counts over a sliding window of equal slots: the present slot and those before it. So a window of 30 slots of a minute
 * covers the last 29 to 30 minutes. The totals are kept up to date, so reading them takes no loop.
 *
 * A clock that steps back changes only the time of the present slot: what was counted keeps its distance to it. After a
 * step ahead the slots in between are empty.
 */
export class SlidingSums {
  /** How many slots the window has, and the milliseconds of each. */
  readonly slots: number
  readonly slotMs: number
  /** Number of the present slot: its start in milliseconds, divided by `slotMs`. */
  present: number
  /** Where the present slot is kept: its counts begin at `place * columns`. The slots before it come before it, in a ring. */
  private place = 0
  private readonly columns: number
  private readonly counts: Uint32Array
  private readonly totals: Array<number> = []
  private readonly onLeave: (place: number) => void

  /** `onLeave` is called with the place of each slot whose time is over: it is used again for a new slot. */
  constructor(slots: number, slotMs: number, columns: number, at: number, onLeave: (place: number) => void = () => {}) {
    this.slots = slots
    this.slotMs = slotMs
    this.columns = columns
    this.counts = new Uint32Array(slots * columns)
    for (let column = 0; column < columns; column++) this.totals.push(0)
    this.present = Math.floor(at / slotMs)
    this.onLeave = onLeave
  }

  /** Moves the window to this time, milliseconds of whichever clock its owner uses. Everything below is about the window as of the last move. */
  moveTo(at: number): void {
    const now = Math.floor(at / this.slotMs)
    if (now === this.present) return
    for (let passed = Math.min(now - this.present, this.slots); passed > 0; passed--) {
      this.place = (this.place + 1) % this.slots
      for (let column = 0; column < this.columns; column++) {
        const index = this.place * this.columns + column
        this.totals[column] = this.total(column) - (this.counts[index] ?? 0)
        this.counts[index] = 0
      }
      this.onLeave(this.place)
    }
    this.present = now
  }

  /** Counts into the slot at `place`; default: the present one. */
  add(column: number, by = 1, place = this.place): void {
    const index = place * this.columns + column
    this.counts[index] = (this.counts[index] ?? 0) + by
    this.totals[column] = this.total(column) + by
  }

  /** The sum over the whole window. */
  total(column: number): number {
    return this.totals[column] ?? 0
  }

  /** The sum over the last `slots` slots. */
  lately(column: number, slots: number): number {
    let sum = 0
    for (let age = 0; age < slots; age++) sum += this.at(this.placeOf(age), column)
    return sum
  }

  /** The count of the slot at `place`. */
  at(place: number, column: number): number {
    return this.counts[place * this.columns + column] ?? 0
  }

  /** The place of the slot that is `age` slots before the present one, which has the age 0. */
  placeOf(age: number): number {
    return (this.place - age + this.slots) % this.slots
  }
}
