/** One model: its hosts with their prices and health, and how they did over time. */
import { useMemo } from "preact/hooks"
import { data } from "../../api/call.ts"
import type { Host, HostListing } from "../../api/modelTypes.ts"
import { Page, Panel } from "../../components/layout.tsx"
import { RangePicker } from "../../components/RangePicker.tsx"
import { Empty, Shown } from "../../components/Shown.tsx"
import { type Column, Table } from "../../components/Table.tsx"
import { Badge, CodeBlock, Copyable, Count, Milliseconds, None } from "../../components/values.tsx"
import { perMillion, statusWords } from "../../lib/prices.ts"
import { requestsHref } from "../../state/links.ts"
import { firstCall } from "../../state/publicApi.ts"
import { useQuery } from "../../state/query.ts"
import { href } from "../../state/router.ts"
import type { ViewProps } from "../views.ts"
import { HostPrices } from "./HostPrices.tsx"
import { HostTimes } from "./HostTimes.tsx"
import { Price } from "./Price.tsx"

const Uptime = ({ of }: { readonly of: number | null }) =>
  of === null ? <None words="no requests" /> : <span class="number">{of.toFixed(of > 99 && of < 100 ? 2 : 1)} %</span>

const columns: ReadonlyArray<Column<Host>> = [
  { name: "tag", title: "Host", value: (host) => host.tag, width: 12 },
  {
    name: "status",
    title: "Now",
    width: 7.5,
    value: (host) => statusWords[host.status]?.[0] ?? host.status,
    cell: (host) => {
      const [words, tone] = statusWords[host.status] ?? [String(host.status), "plain"]
      return <Badge tone={tone}>{words}</Badge>
    },
  },
  {
    name: "prompt",
    title: "Prompt, 1M",
    width: 7,
    isNumber: true,
    value: (host) => String(host.pricing["prompt"] ?? ""),
    order: (host) => perMillion(host.pricing["prompt"]),
    cell: (host) => <Price of={host.pricing["prompt"]} />,
  },
  {
    name: "completion",
    title: "Completion",
    width: 7,
    isNumber: true,
    value: (host) => String(host.pricing["completion"] ?? ""),
    order: (host) => perMillion(host.pricing["completion"]),
    cell: (host) => <Price of={host.pricing["completion"]} />,
  },
  {
    name: "uptime",
    title: "Up, a day",
    width: 6,
    isNumber: true,
    value: (host) => host.uptime_last_1d,
    cell: (host) => <Uptime of={host.uptime_last_1d} />,
  },
  {
    name: "latency",
    title: "First token p50",
    width: 8,
    isNumber: true,
    value: (host) => host.latency_last_30m?.p50 ?? null,
    cell: (host) => <Milliseconds of={host.latency_last_30m?.p50 ?? null} />,
  },
  {
    name: "throughput",
    title: "Tokens/s p50",
    width: 7,
    isNumber: true,
    value: (host) => host.throughput_last_30m?.p50 ?? null,
    cell: (host) =>
      host.throughput_last_30m === null ? (
        <None words="not known" />
      ) : (
        <Count of={Math.round(host.throughput_last_30m.p50)} />
      ),
  },
  {
    name: "context",
    title: "Context",
    width: 6,
    isNumber: true,
    value: (host) => host.context_length,
    cell: (host) => <Count of={host.context_length} isShort />,
  },
  {
    name: "quantization",
    title: "Quantization",
    width: 7,
    value: (host) => host.quantization,
  },
]

const Model = ({ names }: ViewProps) => {
  const id = names["id"] ?? names["model"] ?? ""
  const path = id.split("/").map(encodeURIComponent).join("/")
  const query = useQuery(`hosts of ${id}`, (signal) => data<HostListing>(`/models/${path}/endpoints`, { signal }), {
    every: 30_000,
  })
  return (
    <Page
      title={id}
      intro={
        <>
          <a href={href("/models")}>All models</a> · <a href={requestsHref({ model: id })}>its requests</a> ·{" "}
          <a href={href("/explain", { model: id })}>explain a route</a> ·{" "}
          <a href={href("/playground", { model: id })}>try it</a>
        </>
      }
      actions={<RangePicker />}
    >
      <Shown of={query} what="the hosts of the model">
        {(listing) => <Content listing={listing} />}
      </Shown>
    </Page>
  )
}

const Content = ({ listing }: { readonly listing: HostListing }) => {
  const order = useMemo(() => listing.endpoints.map(({ tag }) => tag), [listing])
  return (
    <>
      {listing.description === "" ? null : <p class="model-description">{listing.description}</p>}
      <Panel title="Hosts" note="Figures of the last half hour, of this process.">
        {listing.endpoints.length === 0 ? (
          <Empty title="No host serves it now.">Its providers are off, or have no host of it.</Empty>
        ) : (
          <Table
            label="Hosts"
            columns={columns}
            rows={listing.endpoints}
            keyOf={(host) => host.tag}
            sortParameter="sort"
          />
        )}
      </Panel>
      <HostTimes model={listing.id} order={order} />
      <Panel title="Prices" note="In USD, as the catalogue or the configuration has them.">
        <div class="price-panels">
          {listing.endpoints.map((host) => (
            <HostPrices key={host.tag} host={host} />
          ))}
        </div>
      </Panel>
      <Panel title="Call it">
        <p>
          <Copyable text={listing.id} what="the name of the model" />
        </p>
        <CodeBlock what="the command" text={firstCall(listing.id)} />
      </Panel>
    </>
  )
}

export default Model
