/**
 * Many rows, few commits: a row that comes while nothing is being written goes at once; those that come while a commit
 * runs are gathered into the next one. So an idle ledger answers in one commit's time and a busy one commits no more often
 * than the disk can. Reliability page, G3.
 */
import * as Effect from "effect/Effect"

/** The most rows that one commit takes. */
const largestBatch = 256

type Resume<E> = (result: Effect.Effect<void, E>) => void

export class GroupCommit<Row, E> {
  private rows: Array<Row> = []
  private waiting: Array<Resume<E>> = []
  private writing = false
  private readonly write: (rows: ReadonlyArray<Row>, done: Resume<E>) => void

  /** `write` commits all rows or none and says how it went, once. */
  constructor(write: (rows: ReadonlyArray<Row>, done: Resume<E>) => void) {
    this.write = write
  }

  /** Succeeds once the row is durable; fails when its commit did. */
  add(row: Row): Effect.Effect<void, E> {
    return Effect.async((resume) => {
      this.rows.push(row)
      this.waiting.push(resume)
      if (!this.writing) this.next()
    })
  }

  private next(): void {
    const rows = this.rows.splice(0, largestBatch)
    const waiting = this.waiting.splice(0, largestBatch)
    this.writing = rows.length > 0
    if (!this.writing) return
    this.write(rows, (result) => {
      for (const resume of waiting) resume(result)
      this.next()
    })
  }
}
