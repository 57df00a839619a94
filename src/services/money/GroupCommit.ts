/**
 * Many rows, few commits. A row that comes to an idle ledger is committed at once. One that comes while a commit runs, or
 * less than `gatherMs` after one began, waits up to `gatherMs` for others, or until there are `enoughRows`. Otherwise a
 * gateway whose answers come a little slower than commits would make one commit, and send one message to the database's
 * thread, for each row. The price is that an answer of a busy gateway waits up to `gatherMs` longer; databases call it a
 * commit delay. See docs/decisions/0065-writes-at-the-end-of-a-turn.md.
 */

/** So many rows wait for no further ones: each has a small share of what a commit costs. */
const enoughRows = 24

/** The most rows that one commit takes. */
const largestBatch = 256

/** How long the first row waits for others, and how soon after the beginning of a commit a row does, milliseconds. */
const gatherMs = 4

/** The result for a row. `refused`: the database will never take it; `unavailable`: it may take it later. */
export type Written = "durable" | "refused" | "unavailable"

type OnResult = (written: Written) => void

export class GroupCommit<Row> {
  private rows: Array<Row> = []
  private writing = false
  /** Until which rows are gathered; `undefined`: a commit runs, or no row waits. */
  private timer: ReturnType<typeof setTimeout> | undefined
  /** When the last commit began. */
  private beganMs = Number.NEGATIVE_INFINITY
  /** When the first of the waiting rows came, which has waited longest. */
  private firstMs = 0
  /** The same of the rows that are being committed. */
  private committingMs = 0
  private readonly write: (rows: ReadonlyArray<Row>, onResult: OnResult) => void
  private readonly onWritten: (row: Row, written: Written) => void
  private readonly nowMs: () => number

  /**
   * `write` commits all rows or none, and reports the result once. `onWritten` gets the result for each row. `nowMs`: a clock
   * that never steps back.
   */
  constructor(
    write: (rows: ReadonlyArray<Row>, onResult: OnResult) => void,
    onWritten: (row: Row, written: Written) => void,
    nowMs: () => number,
  ) {
    this.write = write
    this.onWritten = onWritten
    this.nowMs = nowMs
  }

  add(row: Row): void {
    if (this.rows.push(row) === 1) this.firstMs = this.nowMs()
    if (!this.writing) this.next()
    else if (this.timer !== undefined && this.rows.length >= enoughRows) this.commit()
  }

  /** Whether no row is waiting and no commit runs, but for rows of a refused batch. */
  get isIdle(): boolean {
    return !this.writing
  }

  /** For how long the oldest row has waited that has no result yet, milliseconds; 0: there is none. */
  get waitedMs(): number {
    if (!this.writing) return 0
    return Math.max(0, this.nowMs() - (this.committingMs > 0 ? this.committingMs : this.firstMs))
  }

  private next(): void {
    this.writing = this.rows.length > 0
    if (!this.writing) return
    const isSoon = this.firstMs - this.beganMs < gatherMs && this.rows.length < enoughRows
    const waitMs = isSoon ? this.firstMs + gatherMs - this.nowMs() : 0
    // Not longer, also where an embedder's clock steps back.
    if (waitMs > 0) this.timer = setTimeout(this.commit, Math.min(waitMs, gatherMs))
    else this.commit()
  }

  private readonly commit = (): void => {
    clearTimeout(this.timer)
    this.timer = undefined
    this.beganMs = this.nowMs()
    this.committingMs = this.firstMs
    const rows = this.rows.splice(0, largestBatch)
    this.write(rows, (written) => {
      // A refused row must not affect the other rows of its batch.
      if (written === "refused" && rows.length > 1) this.oneByOne(rows)
      else for (const row of rows) this.onWritten(row, written)
      this.committingMs = 0
      this.next()
    })
  }

  private oneByOne(rows: ReadonlyArray<Row>): void {
    for (const row of rows) this.write([row], (written) => this.onWritten(row, written))
  }
}
