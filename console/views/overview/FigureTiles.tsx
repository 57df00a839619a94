/** The sums of a span, each beside that of the span before. */
import type { ComponentChildren } from "preact"
import type { Analytics, Figures } from "../../api/types.ts"
import { Tile, Tiles } from "../../components/layout.tsx"
import { Count, Milliseconds, None, Usd } from "../../components/values.tsx"
import { shortUsd } from "../../lib/money.ts"
import { duration, share, shortCount } from "../../lib/numbers.ts"
import { change } from "../../lib/points.ts"
import { type RequestFilters, requestsHref } from "../../state/links.ts"
import { causes, errorShare, type Filters, spanOf, spendOf } from "./filters.ts"

interface Props {
  readonly now: Analytics
  /** `null` while it is not there. */
  readonly before: Analytics | null
  readonly filters: Filters
}

/** What it was before, and by how much it differs. */
const Before = (props: { readonly text: string; readonly now: bigint; readonly before: bigint }) => {
  const differs = change(props.now, props.before)
  return (
    <>
      {props.text} before{differs === null ? "" : `, ${differs}`}
    </>
  )
}

const tokens = (figures: Figures): number => figures.tokens_prompt + figures.tokens_completion

export const FigureTiles = ({ now, before, filters }: Props) => {
  const { totals } = now
  const last = before?.totals ?? null
  const href = (more: RequestFilters = {}) => requestsHref({ ...filters, ...more }, spanOf(now))
  const noteOf = (of: (figures: Figures) => ComponentChildren) => (last === null ? " " : of(last))
  const failed = errorShare(totals)
  return (
    <Tiles>
      <Tile
        label="Spend"
        href={href()}
        value={<Usd amount={totals.exact.usage} />}
        note={noteOf((was) => <Before text={shortUsd(spendOf(was))} now={spendOf(totals)} before={spendOf(was)} />)}
      />
      <Tile
        label="Requests"
        href={href()}
        value={<Count of={totals.requests} isShort />}
        note={noteOf((was) => (
          <Before text={shortCount(was.requests)} now={BigInt(totals.requests)} before={BigInt(was.requests)} />
        ))}
      />
      <Tile
        label="Tokens"
        href={href()}
        value={<Count of={tokens(totals)} isShort />}
        note={
          totals.tokens_prompt === 0
            ? " "
            : `${shortCount(totals.tokens_prompt)} in, ${share(totals.tokens_cached / totals.tokens_prompt)} of them cached; ${shortCount(totals.tokens_completion)} out`
        }
      />
      <Tile
        label="Errors"
        href={totals.errors === null ? undefined : href({ outcome: "failed" })}
        value={
          totals.errors === null ? (
            <None words="not known by app or user" />
          ) : (
            <>
              <Count of={totals.errors} isShort />
              {failed === null ? null : <span class="tile-beside muted"> {share(failed)}</span>}
            </>
          )
        }
        note={<Causes totals={totals} href={(outcome) => href({ outcome })} />}
      />
      {/* Not known by key, app or user, and of no use where nothing was streamed. */}
      {totals.first_token_ms === null ? null : (
        <>
          <Tile
            label="First token, p50"
            href={href()}
            value={<Milliseconds of={totals.first_token_ms?.p50 ?? null} />}
            note={noteOf(({ first_token_ms: was }) => (was === null ? " " : `${duration(was.p50)} before`))}
          />
          <Tile
            label="First token, p99"
            href={href()}
            value={<Milliseconds of={totals.first_token_ms?.p99 ?? null} />}
            note={noteOf(({ first_token_ms: was }) => (was === null ? " " : `${duration(was.p99)} before`))}
          />
        </>
      )}
    </Tiles>
  )
}

/** Errors by who caused them, each with its rows. */
const Causes = (props: { readonly totals: Figures; readonly href: (outcome: string) => string }) => {
  const { errors_by: by } = props.totals
  if (by === null) return <>not counted by app or user</>
  const found = causes.filter(({ name }) => by[name] > 0)
  if (found.length === 0) return <>none</>
  return (
    <>
      {found.map(({ name, title }, place) => (
        <span key={name}>
          {place === 0 ? "" : " · "}
          <a href={props.href(name)}>
            <span class="number">{shortCount(by[name])}</span> by {title}
          </a>
        </span>
      ))}
    </>
  )
}
