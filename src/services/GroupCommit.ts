/**
 * Many rows, few commits: a row that comes while nothing is being written goes at once; those that come while a commit
 * runs are gathered into the next one. So an idle ledger answers in one commit's time and a busy one commits no more often
 * than the disk can. Reliability page, G3.
 */

/** The most rows that one commit takes. */
const largestBatch = 256

/** What became of a row. `refused`: the database will never take it; `unavailable`: it may, later. */
export type Written = "durable" | "refused" | "unavailable"

type Told = (written: Written) => void

export class GroupCommit<Row> {
  private rows: Array<Row> = []
  private waiting: Array<Told> = []
  private writing = false
  private readonly write: (rows: ReadonlyArray<Row>, told: Told) => void

  /** `write` commits all rows or none and says how it went, once. */
  constructor(write: (rows: ReadonlyArray<Row>, told: Told) => void) {
    this.write = write
  }

  add(row: Row, told: Told): void {
    this.rows.push(row)
    this.waiting.push(told)
    if (!this.writing) this.next()
  }

  private next(): void {
    this.writing = this.rows.length > 0
    if (!this.writing) return
    const rows = this.rows.splice(0, largestBatch)
    const waiting = this.waiting.splice(0, largestBatch)
    this.write(rows, (written) => {
      // One row that the database refuses must not take the others of its batch with it.
      if (written === "refused" && rows.length > 1) this.oneByOne(rows, waiting)
      else for (const told of waiting) told(written)
      this.next()
    })
  }

  private oneByOne(rows: ReadonlyArray<Row>, waiting: ReadonlyArray<Told>): void {
    for (const [at, row] of rows.entries()) this.write([row], (written) => waiting[at]?.(written))
  }
}
