/**
 * Many rows, few commits: the rows of one turn of the event loop are committed together, and those that come while a commit
 * runs are gathered into the next one. So an idle ledger answers in one commit's time, and a busy one commits no more often
 * than the disk can. Without the turn, a gateway whose answers come just slower than commits makes one commit, and one
 * message to the database's thread, of each row: measured, a quarter of a request's processor time.
 */

/** The most rows that one commit takes. */
const largestBatch = 256

/** The result for a row. `refused`: the database will never take it; `unavailable`: it may take it later. */
export type Written = "durable" | "refused" | "unavailable"

type OnResult = (written: Written) => void

export class GroupCommit<Row> {
  private rows: Array<Row> = []
  private waiting: Array<OnResult> = []
  private writing = false
  private readonly write: (rows: ReadonlyArray<Row>, onResult: OnResult) => void

  /** `write` commits all rows or none, and reports the result once. */
  constructor(write: (rows: ReadonlyArray<Row>, onResult: OnResult) => void) {
    this.write = write
  }

  add(row: Row, onResult: OnResult): void {
    this.rows.push(row)
    this.waiting.push(onResult)
    if (this.writing) return
    this.writing = true
    setImmediate(() => this.next())
  }

  /** Whether no row is waiting and no commit runs, but for rows of a refused batch. */
  get isIdle(): boolean {
    return !this.writing
  }

  private next(): void {
    this.writing = this.rows.length > 0
    if (!this.writing) return
    const rows = this.rows.splice(0, largestBatch)
    const waiting = this.waiting.splice(0, largestBatch)
    this.write(rows, (written) => {
      // A refused row must not affect the other rows of its batch.
      if (written === "refused" && rows.length > 1) this.oneByOne(rows, waiting)
      else for (const onResult of waiting) onResult(written)
      this.next()
    })
  }

  private oneByOne(rows: ReadonlyArray<Row>, waiting: ReadonlyArray<OnResult>): void {
    for (const [at, row] of rows.entries()) this.write([row], (written) => waiting[at]?.(written))
  }
}
