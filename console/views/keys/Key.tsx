/** One key: what it has spent and may spend, and everything that can be done with it. */
import { useState } from "preact/hooks"
import { data } from "../../api/call.ts"
import type { Key as KeyRecord } from "../../api/keyTypes.ts"
import { Page, Panel, Tile, Tiles } from "../../components/layout.tsx"
import { Shown } from "../../components/Shown.tsx"
import { Badge, Copyable, Meter, None, Pairs, Time, Usd } from "../../components/values.tsx"
import { percentOf, picodollars, shortUsd } from "../../lib/money.ts"
import { seen } from "../../lib/names.ts"
import { count } from "../../lib/numbers.ts"
import { requestsHref } from "../../state/links.ts"
import { type Query, useQuery } from "../../state/query.ts"
import { href } from "../../state/router.ts"
import { may } from "../../state/session.ts"
import type { ViewProps } from "../views.ts"
import { ChangeKey } from "./ChangeKey.tsx"
import { KeyActions } from "./KeyActions.tsx"
import { keyState, spentInWindow } from "./keyState.ts"

const Key = ({ names }: ViewProps) => {
  const hash = names["hash"] ?? ""
  const query = useQuery(`key ${hash}`, (signal) => data<KeyRecord>(`/keys/${encodeURIComponent(hash)}`, { signal }))
  const title = query.answer === null ? "Key" : seen(query.answer.name, query.answer.label)
  return (
    <Page title={title} intro={<a href={href("/keys")}>All keys</a>}>
      <Shown of={query} what="the key">
        {(key) => <Content key={key.hash} record={key} query={query} />}
      </Shown>
    </Page>
  )
}

const Content = ({ record, query }: { readonly record: KeyRecord; readonly query: Query<KeyRecord> }) => {
  const [isChanging, setChanging] = useState(false)
  const { words, tone } = keyState(record, new Date())
  const mayChange = record.role === null ? may("keys") : may("all")
  return (
    <>
      <p>
        <Badge tone={tone}>{words}</Badge>{" "}
        {record.role === null ? null : <Badge tone="accent">management: {record.role}</Badge>}{" "}
        {record.tags.map((tag) => (
          <a key={tag} class="tag" href={href("/keys", { tag })}>
            {tag}
          </a>
        ))}
      </p>
      {record.role === null ? <Spend record={record} /> : null}
      {isChanging ? (
        <ChangeKey
          record={record}
          close={() => setChanging(false)}
          changed={() => {
            setChanging(false)
            query.reload()
          }}
        />
      ) : (
        <Panel
          title="What it may do"
          actions={
            mayChange && record.role === null ? (
              <button type="button" class="button" onClick={() => setChanging(true)}>
                Change
              </button>
            ) : null
          }
        >
          <Rules record={record} />
        </Panel>
      )}
      {mayChange ? <KeyActions record={record} changed={query.reload} /> : null}
    </>
  )
}

const Spend = ({ record }: { readonly record: KeyRecord }) => {
  const { exact, limit_reset: reset } = record
  const limit = picodollars(exact.limit)
  const spent = spentInWindow(record)
  const percent = limit === null ? null : (percentOf(spent, limit) ?? 100)
  return (
    <>
      <Tiles>
        <Tile
          label="Spent in all"
          value={<Usd amount={exact.usage} />}
          href={requestsHref({ key_hash: record.hash })}
          note={<a href={href("/", { key_hash: record.hash, range: "month" })}>over time</a>}
        />
        <Tile label="Today (UTC)" value={<Usd amount={exact.usage_daily} />} />
        <Tile label="This week" value={<Usd amount={exact.usage_weekly} />} note="from Monday, UTC" />
        <Tile label="This month" value={<Usd amount={exact.usage_monthly} />} note="UTC" />
      </Tiles>
      {limit === null || percent === null ? null : (
        <Panel title={`Limit of ${shortUsd(limit)} ${reset === null ? "in all" : reset}`}>
          <Meter used={percent / 100} words={`${shortUsd(spent)} of ${shortUsd(limit)} spent`} />
          <p>
            <Usd amount={exact.limit_remaining} isExact /> left: {percent} % are spent
            {reset === null ? ". It does not begin anew." : `. It begins anew at 00:00 UTC, ${reset}.`}
          </p>
        </Panel>
      )}
    </>
  )
}

const listed = (list: ReadonlyArray<string> | null, none: string) =>
  list === null || list.length === 0 ? <span>{none}</span> : <code>{list.join(", ")}</code>

const Rules = ({ record }: { readonly record: KeyRecord }) => (
  <Pairs
    of={[
      ["Label", <code key="label">{record.label}</code>],
      ["Hash", <Copyable key="hash" text={record.hash} what="the hash" shown={`${record.hash.slice(0, 16)}…`} />],
      ["Owner", record.owner ?? <None words="not said" />],
      record.role === null
        ? [
            "Requests",
            record.rate_limit === null
              ? "any number"
              : `${count(record.rate_limit.requests)} in ${count(record.rate_limit.interval_s)} s at most`,
          ]
        : null,
      record.role === null ? ["Models", listed(record.allowed_models, "all")] : null,
      record.role === null ? ["Providers", listed(record.allowed_providers, "all")] : null,
      ["Addresses", listed(record.allowed_addresses, "all")],
      ["Expires", record.expires_at === null ? "never" : <Time key="at" at={record.expires_at} form="second" />],
      ["Made", <Time key="at" at={record.created_at} form="second" />],
      record.updated_at === null ? null : ["Changed", <Time key="at" at={record.updated_at} form="second" />],
      record.previous_ends_at === null
        ? null
        : ["Earlier secret ends", <Time key="at" at={record.previous_ends_at} form="second" />],
    ]}
  />
)

export default Key
