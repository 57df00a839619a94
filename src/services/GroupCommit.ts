/**
 * Many rows, few commits: a row that comes to an idle ledger is committed at once, and those that come while a commit runs
 * are gathered into the next one. A busy ledger first gathers the rows of the present turn of the event loop: otherwise a
 * gateway whose answers come just slower than commits makes one commit, and one message to the database's thread, of each
 * row. Measured, that is up to a quarter of a request's processor time.
 */

/** The most rows that one commit takes. */
const largestBatch = 256

/** A ledger whose last commit ended less than this many milliseconds ago is busy. */
const busyMs = 0.5

/** The result for a row. `refused`: the database will never take it; `unavailable`: it may take it later. */
export type Written = "durable" | "refused" | "unavailable"

type OnResult = (written: Written) => void

export class GroupCommit<Row> {
  private rows: Array<Row> = []
  private waiting: Array<OnResult> = []
  private writing = false
  private lastEndMs = Number.NEGATIVE_INFINITY
  private readonly write: (rows: ReadonlyArray<Row>, onResult: OnResult) => void
  private readonly nowMs: () => number

  /** `write` commits all rows or none, and reports the result once. `nowMs`: a clock that never steps back. */
  constructor(write: (rows: ReadonlyArray<Row>, onResult: OnResult) => void, nowMs: () => number) {
    this.write = write
    this.nowMs = nowMs
  }

  add(row: Row, onResult: OnResult): void {
    this.rows.push(row)
    this.waiting.push(onResult)
    if (this.writing) return
    this.writing = true
    if (this.nowMs() - this.lastEndMs < busyMs) setImmediate(() => this.next())
    else this.next()
  }

  /** Whether no row is waiting and no commit runs, but for rows of a refused batch. */
  get isIdle(): boolean {
    return !this.writing
  }

  private next(): void {
    this.writing = this.rows.length > 0
    if (!this.writing) {
      this.lastEndMs = this.nowMs()
      return
    }
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
