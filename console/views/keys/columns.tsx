/** The columns of the list of keys. */
import type { Key } from "../../api/keyTypes.ts"
import type { Column } from "../../components/Table.tsx"
import { Badge, Meter, None, Time, Usd } from "../../components/values.tsx"
import { percentOf, picodollars, shortUsd } from "../../lib/money.ts"
import { seen } from "../../lib/names.ts"
import { requestsHref } from "../../state/links.ts"
import { keyState, spentInWindow } from "./keyState.ts"

export const keyColumns: ReadonlyArray<Column<Key>> = [
  { name: "name", title: "Name", value: (key) => key.name, cell: (key) => seen(key.name, key.label) },
  {
    name: "state",
    title: "State",
    width: 5.25,
    value: (key) => keyState(key, new Date()).words,
    cell: (key) => {
      const { words, tone } = keyState(key, new Date())
      return <Badge tone={tone}>{words}</Badge>
    },
  },
  { name: "owner", title: "Owner", width: 10, value: (key) => key.owner, cell: (key) => key.owner ?? <None /> },
  {
    name: "tags",
    title: "Tags",
    width: 10.25,
    value: (key) => key.tags.join(" "),
    cell: (key) =>
      key.tags.length === 0 ? (
        <None />
      ) : (
        key.tags.map((tag) => (
          <span key={tag} class="tag">
            {tag}
          </span>
        ))
      ),
  },
  {
    name: "spent",
    title: "Spent in all",
    width: 6,
    isNumber: true,
    value: (key) => key.exact.usage,
    order: (key) => picodollars(key.exact.usage),
    cell: (key) => (
      <a href={requestsHref({ key_hash: key.hash })}>
        <Usd amount={key.exact.usage} />
      </a>
    ),
  },
  {
    name: "limit",
    title: "Of its limit",
    width: 13.75,
    value: (key) => key.exact.limit,
    order: (key) => percentOf(spentInWindow(key), picodollars(key.exact.limit) ?? 0n),
    cell: (key) => {
      const limit = picodollars(key.exact.limit)
      if (limit === null) return <None words="no limit" />
      const spent = spentInWindow(key)
      const percent = percentOf(spent, limit) ?? 100
      return (
        <span class="limit-cell">
          <Meter used={percent / 100} words={`${shortUsd(spent)} of ${shortUsd(limit)}`} />
          <span class="number">
            {shortUsd(limit)} {key.limit_reset ?? "in all"}
          </span>
        </span>
      )
    },
  },
  {
    name: "created_at",
    title: "Made",
    width: 7.25,
    value: (key) => key.created_at,
    cell: (key) => <Time at={key.created_at} form="ago" />,
  },
]
