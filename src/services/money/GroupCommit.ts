/**
 * Many rows, few commits. A row that comes to an idle ledger is committed at once. Rows that come while a commit runs, or
 * shortly after one began, are gathered into the next one: otherwise a gateway whose answers come just slower than commits
 * makes one commit, and one message to the database's thread, of each row. At 1,000 rows a second that is a quarter more
 * processor time for the ledger (bench/README.md). The price is that an answer of a busy gateway waits up to `gatherMs`
 * longer; databases call it a commit delay.
 */

/** The most rows that one commit takes. */
const largestBatch = 256

/** The least time from the beginning of one commit to that of the next, milliseconds. */
const gatherMs = 2

/** The result for a row. `refused`: the database will never take it; `unavailable`: it may take it later. */
export type Written = "durable" | "refused" | "unavailable"

type OnResult = (written: Written) => void

export class GroupCommit<Row> {
  private rows: Array<Row> = []
  private writing = false
  private beganMs = Number.NEGATIVE_INFINITY
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
    this.rows.push(row)
    if (!this.writing) this.next()
  }

  /** Whether no row is waiting and no commit runs, but for rows of a refused batch. */
  get isIdle(): boolean {
    return !this.writing
  }

  private next(): void {
    this.writing = this.rows.length > 0
    if (!this.writing) return
    const waitMs = this.beganMs + gatherMs - this.nowMs()
    // Not longer, also where an embedder's clock steps back.
    if (waitMs > 0) setTimeout(this.commit, Math.min(waitMs, gatherMs))
    else this.commit()
  }

  private readonly commit = (): void => {
    this.beganMs = this.nowMs()
    const rows = this.rows.splice(0, largestBatch)
    this.write(rows, (written) => {
      // A refused row must not affect the other rows of its batch.
      if (written === "refused" && rows.length > 1) this.oneByOne(rows)
      else for (const row of rows) this.onWritten(row, written)
      this.next()
    })
  }

  private oneByOne(rows: ReadonlyArray<Row>): void {
    for (const row of rows) this.write([row], (written) => this.onWritten(row, written))
  }
}
