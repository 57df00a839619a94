/** Single values: amounts, times, names, states. */
import type { ComponentChildren } from "preact"
import { useState } from "preact/hooks"
import { exactUsd, picodollars, shortUsd } from "../lib/money.ts"
import { count, duration, shortCount } from "../lib/numbers.ts"
import { fromNow, localMinute, localSecond, utcSecond } from "../lib/time.ts"
import { now } from "../state/clock.ts"
import { notify } from "../state/notices.ts"

export const None = ({ words = "none" }: { readonly words?: string }) => (
  <span class="none">
    <span aria-hidden="true">–</span>
    <span class="only-read">{words}</span>
  </span>
)

/** An amount from a decimal string of USD; all its digits in the title, or at once with `isExact`. */
export const Usd = ({ amount, isExact = false }: { readonly amount: string | null; readonly isExact?: boolean }) => {
  const value = picodollars(amount)
  if (value === null) return <None />
  return (
    <span class="number" title={exactUsd(value)}>
      {isExact ? exactUsd(value) : shortUsd(value)}
    </span>
  )
}

/** A count; with `isShort` as "1.23 M", all its digits in the title. */
export const Count = ({ of, isShort = false }: { readonly of: number | null; readonly isShort?: boolean }) =>
  of === null ? (
    <None />
  ) : (
    <span class="number" title={count(of)}>
      {isShort ? shortCount(of) : count(of)}
    </span>
  )

export const Milliseconds = ({ of }: { readonly of: number | null }) =>
  of === null ? <None words="not known" /> : <span class="number">{duration(of)}</span>

/** A time in the viewer's zone, with UTC in its title. `form`: to the minute, to the second, or as seen from now. */
export const Time = ({
  at,
  form = "minute",
}: {
  readonly at: string | null
  readonly form?: "minute" | "second" | "ago"
}) => {
  if (at === null) return <None words="never" />
  const date = new Date(at)
  const shown =
    form === "ago" ? fromNow(date, now.value) : form === "second" ? localSecond(date) : localMinute(date, now.peek())
  return (
    <time class="number" dateTime={at} title={`${localSecond(date)} here, ${utcSecond(date)}`}>
      {shown}
    </time>
  )
}

export type Tone = "plain" | "good" | "warning" | "bad" | "accent"

/** A state in a word or two. Its colour repeats what the word says. */
export const Badge = ({ tone = "plain", children }: { readonly tone?: Tone; readonly children: ComponentChildren }) => (
  <span class={`badge badge-${tone}`}>{children}</span>
)

export const CopyButton = ({ text, what }: { readonly text: string; readonly what: string }) => {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      setCopied(true)
      setTimeout(() => setCopied(false), 2000)
    } catch {
      notify("failed", `The browser did not let the page copy ${what}. Select the text and copy it.`)
    }
  }
  return (
    <button type="button" class="button button-small copy" onClick={copy} aria-label={`Copy ${what}`}>
      <span aria-live="polite">{isCopied ? "Copied" : "Copy"}</span>
    </button>
  )
}

/** An id, or a line to run, with a button that copies it. */
export const Copyable = (props: { readonly text: string; readonly what: string; readonly shown?: string }) => (
  <span class="copyable">
    <code title={props.text}>{props.shown ?? props.text}</code>
    <CopyButton text={props.text} what={props.what} />
  </span>
)

/** Lines to run or to send, as a block. */
export const CodeBlock = ({ text, what }: { readonly text: string; readonly what: string }) => (
  <div class="code-block">
    {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard. */}
    <pre tabIndex={0}>
      <code>{text}</code>
    </pre>
    <CopyButton text={text} what={what} />
  </div>
)

/** Pairs of names and values. Those that are `null` are left out. */
export const Pairs = (props: { readonly of: ReadonlyArray<readonly [string, ComponentChildren] | null> }) => (
  <dl class="pairs">
    {props.of.map((pair) =>
      pair === null ? null : (
        <div key={pair[0]}>
          <dt>{pair[0]}</dt>
          <dd>{pair[1]}</dd>
        </div>
      ),
    )}
  </dl>
)

/** How much of a limit is used, from 0 to 1 and beyond. `words` says the same as text. */
export const Meter = ({ used, words }: { readonly used: number; readonly words: string }) => (
  // biome-ignore lint/a11y/useSemanticElements: browsers draw a <meter> each in their own way.
  <div
    class={`meter ${used >= 1 ? "meter-bad" : used >= 0.8 ? "meter-warning" : ""}`}
    role="meter"
    aria-valuemin={0}
    aria-valuemax={100}
    aria-valuenow={Math.min(100, Math.round(used * 100))}
    aria-valuetext={words}
    aria-label={words}
  >
    <div style={{ width: `${Math.min(100, Math.max(used * 100, used > 0 ? 1 : 0))}%` }} />
  </div>
)
