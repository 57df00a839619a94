/** What needs somebody now: alerts that fire, and what the gateway says of itself. */
import type { ComponentChildren } from "preact"
import { data } from "../../api/call.ts"
import type { Alert, GatewayState } from "../../api/types.ts"
import { Panel } from "../../components/layout.tsx"
import { Shown } from "../../components/Shown.tsx"
import { Badge, Time, type Tone } from "../../components/values.tsx"
import { bytes, count, counted, share } from "../../lib/numbers.ts"
import { keyHref, modelHref } from "../../state/links.ts"
import { useQuery } from "../../state/query.ts"
import { href } from "../../state/router.ts"

interface Item {
  readonly key: string
  readonly tone: Tone
  /** A word on what it is about. */
  readonly about: string
  readonly text: ComponentChildren
  readonly since?: string
}

const everyMs = 15_000

/** The share of a disk from which on there is enough. */
const leastFree = 0.1

export const Attention = () => {
  const state = useQuery("state", (signal) => data<GatewayState>("/state", { signal }), { every: everyMs })
  const alerts = useQuery(
    "alerts",
    (signal) => data<ReadonlyArray<Alert>>("/alerts", { query: { state: "firing" }, signal }),
    { every: everyMs },
  )
  return (
    <Panel title="Now">
      <Shown of={state} what="the state of the gateway">
        {(now) => (
          <Shown of={alerts} what="the alerts">
            {(firing) => <Items items={itemsOf(now, firing)} state={now} />}
          </Shown>
        )}
      </Shown>
    </Panel>
  )
}

const Items = ({ items, state }: { readonly items: ReadonlyArray<Item>; readonly state: GatewayState }) => (
  <>
    {items.length === 0 ? (
      <p>
        <Badge tone="good">all well</Badge> Nothing needs attention.
      </p>
    ) : (
      <ul class="attention">
        {items.map(({ key, tone, about, text, since }) => (
          <li key={key}>
            <Badge tone={tone}>{about}</Badge>
            <span>{text}</span>
            {since === undefined ? null : (
              <span class="muted small">
                <Time at={since} form="ago" />
              </span>
            )}
          </li>
        ))}
      </ul>
    )}
    <Facts state={state} />
  </>
)

/** A line on how it does, which is there when all is well, too. */
const Facts = ({ state }: { readonly state: GatewayState }) => {
  const { ledger, disk, requests } = state
  return (
    <ul class="facts muted small">
      <li>
        <a href={href("/live")}>{counted(requests.running, "request")} in flight</a>, {count(requests.placed)} of{" "}
        {count(requests.places)} places taken
      </li>
      <li>
        Ledger: {ledger.takes_requests ? "takes requests" : "takes no requests"}
        {ledger.backlog_rows === null
          ? ""
          : `, ${counted(ledger.backlog_rows + ledger.spooled_rows, "row")} to be written`}
        {ledger.last_commit_at === null ? null : (
          <>
            , last commit <Time at={ledger.last_commit_at} form="ago" />
          </>
        )}
      </li>
      {disk === null ? null : (
        <li>
          Disk: {bytes(disk.free_bytes)} of {bytes(disk.total_bytes)} free
        </li>
      )}
      <li>
        Version {state.version} on Bun {state.bun_version}, started <Time at={state.started_at} form="ago" />
      </li>
    </ul>
  )
}

/** Whether an alert says it already. `part`: a part of its text. */
const isAlerted = (firing: ReadonlyArray<Alert>, rule: string, part?: string): boolean =>
  firing.some((alert) => alert.rule === rule && (part === undefined || alert.text.includes(part)))

const alertItem = (alert: Alert): Item => ({
  key: `alert ${alert.id}`,
  tone: alert.severity === "critical" ? "bad" : "warning",
  about: alert.rule.replaceAll("_", " "),
  text: alert.text,
  since: alert.created_at,
})

const itemsOf = (state: GatewayState, alerts: ReadonlyArray<Alert>): ReadonlyArray<Item> => {
  const firing = alerts.filter((alert) => alert.state === "firing")
  const ordered = firing.toSorted(
    (left, right) => Number(right.severity === "critical") - Number(left.severity === "critical"),
  )
  return [
    ...ordered.map(alertItem),
    ...storageItems(state, firing),
    ...state.breakers.filter(({ host }) => !isAlerted(firing, "breaker_open", host)).map(breakerItem),
    ...state.resting.map(restingItem),
    ...(state.keys_near_limit ?? []).map(keyItem),
    ...state.warnings.map((text): Item => ({ key: text, tone: "plain", about: "configuration", text })),
  ]
}

/** Database, ledger and disk. */
const storageItems = ({ storage, ledger, disk }: GatewayState, firing: ReadonlyArray<Alert>): ReadonlyArray<Item> => {
  const items: Array<Item> = []
  const add = (key: string, tone: Tone, text: string) => items.push({ key, tone, about: key, text })
  if (!storage.reachable) add("storage", "bad", `The database (${storage.kind}) does not answer.`)
  if (!ledger.takes_requests && !isAlerted(firing, "ledger_behind"))
    add("ledger", "bad", `Paid requests do not start: ${ledger.why ?? "the ledger takes no rows"}.`)
  const free = disk === null ? 1 : disk.free_bytes / disk.total_bytes
  if (free <= leastFree && !isAlerted(firing, "disk_space"))
    add("disk", "warning", `${share(free)} of the disk is free.`)
  return items
}

const breakerItem = ({ model, host, state, since, why }: GatewayState["breakers"][number]): Item => ({
  key: `breaker ${model} ${host}`,
  tone: "warning",
  about: state === "half_open" ? "breaker tries" : "breaker open",
  text: (
    <>
      {host} gets no requests for <a href={modelHref(model)}>{model}</a>: {why}.
    </>
  ),
  since,
})

const restingItem = ({ provider, model, host, until, why }: GatewayState["resting"][number]): Item => ({
  key: `resting ${model} ${host}`,
  tone: "warning",
  about: "left alone",
  text: (
    <>
      {host} of {provider} is left alone for {model} until <Time at={until} />: {why}.
    </>
  ),
})

type KeyNearLimit = NonNullable<GatewayState["keys_near_limit"]>[number]

const keyItem = ({ hash, name, spent_share, resets_at }: KeyNearLimit): Item => ({
  key: `key ${hash}`,
  tone: spent_share >= 1 ? "bad" : "warning",
  about: "limit",
  text: (
    <>
      The key <a href={keyHref(hash)}>{name}</a> has spent {share(spent_share)} of its limit
      {resets_at === null ? (
        ", which does not reset"
      ) : (
        <>
          , which begins anew <Time at={resets_at} form="ago" />
        </>
      )}
      .
    </>
  ),
})
