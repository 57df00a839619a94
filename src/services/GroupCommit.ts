/**
 * Many rows, few commits: a row that comes while nothing is being written goes at once; those that come while a commit
 * runs are gathered into the next one. So an idle ledger answers in one commit's time and a busy one commits no more often
 * than the disk can. Reliability page, G3.
 */

/** The most rows that one commit takes. */
const largestBatch = 256

/** Told whether the row is durable now. */
type Done = (durable: boolean) => void

export class GroupCommit<Row> {
  private rows: Array<Row> = []
  private waiting: Array<Done> = []
  private writing = false
  private readonly write: (rows: ReadonlyArray<Row>, done: Done) => void

  /** `write` commits all rows or none and says how it went, once. */
  constructor(write: (rows: ReadonlyArray<Row>, done: Done) => void) {
    this.write = write
  }

  add(row: Row, done: Done): void {
    this.rows.push(row)
    this.waiting.push(done)
    if (!this.writing) this.next()
  }

  private next(): void {
    this.writing = this.rows.length > 0
    if (!this.writing) return
    const rows = this.rows.splice(0, largestBatch)
    const waiting = this.waiting.splice(0, largestBatch)
    this.write(rows, (durable) => {
      // A batch with one row that the database refuses must not take the others with it.
      if (!durable && rows.length > 1) this.oneByOne(rows, waiting)
      else for (const done of waiting) done(durable)
      this.next()
    })
  }

  private oneByOne(rows: ReadonlyArray<Row>, waiting: ReadonlyArray<Done>): void {
    for (const [at, row] of rows.entries()) this.write([row], (durable) => waiting[at]?.(durable))
  }
}
