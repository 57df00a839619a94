/** What a query has: its answer, or words about why there is none yet. */
import type { ComponentChildren } from "preact"
import { useEffect, useState } from "preact/hooks"
import type { ApiFailure } from "../api/ApiFailure.ts"
import type { Query } from "../state/query.ts"

/** Text that appears when something takes longer than 200 ms. */
export const Waiting = ({ words }: { readonly words: string }) => {
  const [isLate, setLate] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 200)
    return () => clearTimeout(timer)
  }, [])
  return (
    <p class="waiting" role="status">
      {isLate ? words : ""}
    </p>
  )
}

/** What failed, what to do, and a button that tries again. `what`: "The requests could not be loaded". */
export const Failed = (props: {
  readonly what: string
  readonly failure: ApiFailure
  readonly retry?: (() => void) | undefined
}) => (
  <div class="failed" role="alert">
    <p>
      <strong>{props.what}.</strong> {props.failure.message}
    </p>
    <p class="muted">{props.failure.toDo}</p>
    {props.retry === undefined ? null : (
      <button type="button" class="button" onClick={props.retry}>
        Try again
      </button>
    )}
  </div>
)

/** A place without rows: what would be here, and how it comes to be. */
export const Empty = ({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) => (
  <div class="empty">
    <p class="empty-title">{title}</p>
    {children === undefined ? null : <div class="muted">{children}</div>}
  </div>
)

interface ShownProps<Answer> {
  readonly of: Query<Answer>
  /** What is loaded, as the object of a sentence: "the requests". */
  readonly what: string
  readonly children: (answer: Answer) => ComponentChildren
}

/** An answer stays while it is asked for again, and where asking again fails; then the failure stands above it. */
export const Shown = <Answer,>({ of, what, children }: ShownProps<Answer>) => {
  const failed =
    of.failure === null ? null : <Failed what={`Could not load ${what}`} failure={of.failure} retry={of.reload} />
  if (of.answer === null) return failed ?? <Waiting words={`Loading ${what} …`} />
  return (
    <div class="shown" aria-busy={of.isLoading}>
      {failed}
      {children(of.answer)}
    </div>
  )
}
