/** The columns of a list of requests. */
import type { RequestRow } from "../../api/types.ts"
import type { Column } from "../../components/Table.tsx"
import { Badge, Count, Milliseconds, None, Time, Usd } from "../../components/values.tsx"
import { outcomeTone, outcomeWords } from "../../lib/outcomes.ts"
import { keyHref } from "../../state/links.ts"

/** `names`: of keys, by their hashes. */
export const requestColumns = (
  names: ReadonlyMap<string, string>,
  hasKeys: boolean,
): ReadonlyArray<Column<RequestRow>> => [
  {
    name: "created_at",
    title: "Time",
    width: 7.75,
    value: (row) => row.created_at,
    cell: (row) => <Time at={row.created_at} />,
  },
  {
    name: "outcome",
    title: "Outcome",
    width: 10,
    value: (row) => row.outcome,
    cell: (row) => (
      <span title={row.why ?? undefined}>
        <Badge tone={outcomeTone(row.outcome)}>
          {row.status === null ? "?" : row.status} {outcomeWords(row.outcome)}
        </Badge>
        {row.requests > 1 ? <span class="muted small"> ×{row.requests}</span> : null}
      </span>
    ),
  },
  {
    name: "model",
    title: "Model",
    width: 10,
    value: (row) => row.model,
    cell: (row) => row.model ?? <None words="not known" />,
  },
  {
    name: "host",
    title: "Host",
    width: 5.75,
    value: (row) => row.host,
    cell: (row) => row.host ?? <None words="no host was called" />,
  },
  ...(hasKeys
    ? [
        {
          name: "key",
          title: "Key",
          width: 7,
          value: (row: RequestRow) => names.get(row.key_hash) ?? row.key_hash,
          cell: (row: RequestRow) => (
            <a href={keyHref(row.key_hash)}>{names.get(row.key_hash) ?? `${row.key_hash.slice(0, 10)}…`}</a>
          ),
        },
      ]
    : []),
  {
    name: "usage",
    title: "Cost",
    width: 5.75,
    isNumber: true,
    value: (row) => row.exact.usage,
    cell: (row) => <Usd amount={row.exact.usage} />,
  },
  {
    name: "tokens",
    title: "Tokens in, out",
    width: 6.75,
    isNumber: true,
    value: (row) => row.tokens_prompt + row.tokens_completion,
    cell: (row) => (
      <span class="number">
        <Count of={row.tokens_prompt} isShort />, <Count of={row.tokens_completion} isShort />
      </span>
    ),
  },
  {
    name: "first_token",
    title: "1st token",
    width: 5,
    isNumber: true,
    value: (row) => row.times_ms.first_token,
    cell: (row) => <Milliseconds of={row.times_ms.first_token} />,
  },
  {
    name: "duration",
    title: "Took",
    width: 4.75,
    isNumber: true,
    value: (row) => row.duration_ms,
    cell: (row) => <Milliseconds of={row.duration_ms} />,
  },
  {
    name: "app",
    title: "App",
    width: 7,
    value: (row) => row.app_title,
    cell: (row) =>
      row.app_title === null || row.app_title === "" ? <None words="named no app" /> : <span>{row.app_title}</span>,
  },
]
