/** The observers of the ledger's rows: they are called for each booked row, and at the end of each commit. */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { LedgerRow } from "../storage/ledger.ts"

/** Called where rows are written, so it must not take long, and not throw. */
export interface LedgerObserver {
  /** A row is in the ledger, or durable on its way there, with the cost as it was booked. */
  readonly booked: (row: LedgerRow) => void
  /** A commit has ended, whatever came of it: of how many rows it was, and how long it took, milliseconds. */
  readonly committed: (rows: number, ms: number) => void
}

export class LedgerObservers implements LedgerObserver {
  private observers: ReadonlyArray<LedgerObserver> = []
  /** What killed processes had left, and was booked before anybody could observe. For the first observer. */
  private early: Array<LedgerRow> = []
  private isEarly = true

  booked(row: LedgerRow): void {
    if (this.isEarly) this.early.push(row)
    for (const observer of this.observers) observer.booked(row)
  }

  committed(rows: number, ms: number): void {
    for (const observer of this.observers) observer.committed(rows, ms)
  }

  /** From now on rows go to the observers that there are, and are not kept for later ones. */
  opened(): void {
    this.isEarly = false
  }

  /** Until the scope is closed. */
  add(observer: LedgerObserver): Effect.Effect<void, never, Scope.Scope> {
    const added = Effect.sync(() => {
      this.observers = [...this.observers, observer]
      for (const row of this.early.splice(0)) observer.booked(row)
    })
    return Effect.acquireRelease(added, () =>
      Effect.sync(() => {
        this.observers = this.observers.filter((other) => other !== observer)
      }),
    )
  }
}
