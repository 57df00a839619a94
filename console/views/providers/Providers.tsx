/** Every provider: whether it is on, why not, and how the keys of its vendor do. */
import { data } from "../../api/call.ts"
import type { ProviderState } from "../../api/types.ts"
import { Page, Panel, Tabs } from "../../components/layout.tsx"
import { Empty, Shown } from "../../components/Shown.tsx"
import { Badge, Copyable, None, Pairs, Time, Usd } from "../../components/values.tsx"
import { counted } from "../../lib/numbers.ts"
import { useQuery } from "../../state/query.ts"
import { href, hrefWith, parameters } from "../../state/router.ts"

const sourceWords = {
  configuration: "named in the configuration",
  environment: "turned on by a variable of the environment",
  local: "found on this machine",
  plugin: "installed, and not set up",
} as const

const Providers = () => {
  const query = useQuery("providers", (signal) => data<ReadonlyArray<ProviderState>>("/providers/state", { signal }), {
    every: 15_000,
  })
  const shown = parameters.value.get("state") === "off" ? "off" : "on"
  const all = query.answer ?? []
  const count = (state: "on" | "off") => all.filter((one) => one.state === state).length
  return (
    <Page title="Providers" intro="Vendors and servers that hosts belong to. What this process has seen of them.">
      <Tabs
        label="State"
        chosen={shown}
        tabs={[
          { name: "on", title: `On (${count("on")})`, href: hrefWith({ state: null }) },
          { name: "off", title: `Off (${count("off")})`, href: hrefWith({ state: "off" }) },
        ]}
      />
      <Shown of={query} what="the providers">
        {(providers) => {
          const wanted = providers.filter((one) => one.state === shown)
          if (wanted.length === 0) return <Nothing state={shown} />
          if (shown === "off") return <OffList of={wanted} />
          return (
            <div class="panels">
              {wanted.map((one) => (
                <OnPanel key={one.slug} of={one} />
              ))}
            </div>
          )
        }}
      </Shown>
    </Page>
  )
}

const Nothing = ({ state }: { readonly state: "on" | "off" }) =>
  state === "on" ? (
    <Empty title="No provider is on.">
      Set the variable of one and start the gateway again:{" "}
      <a href={href("/providers", { state: "off" })}>those that are off</a> say which.
    </Empty>
  ) : (
    <Empty title="All that are known are on." />
  )

/** How it does, in a badge. */
const Doing = ({ of }: { readonly of: ProviderState }) => {
  if (of.account_refused_at !== null) return <Badge tone="bad">account refused</Badge>
  if (of.keys.length > 0 && of.keys.every(({ state }) => state === "resting")) {
    return <Badge tone="warning">all keys rest</Badge>
  }
  return <Badge tone="good">on</Badge>
}

const OnPanel = ({ of }: { readonly of: ProviderState }) => (
  <Panel
    title={
      <>
        {of.name} <Doing of={of} />
      </>
    }
    note={`${counted(of.models, "model")} at ${counted(of.hosts, "host")}`}
    actions={<a href={href("/", { provider: of.slug })}>its figures</a>}
  >
    <Pairs
      of={[
        ["Slug", <code key="slug">{of.slug}</code>],
        ["Plugin", <code key="plugin">{of.plugin}</code>],
        ["Why it is here", sourceWords[of.source]],
        ["Address", of.base_url_host ?? <None words="answers itself" />],
        ["Network", of.network ?? <None />],
        ["Variable", of.variable === null ? <None words="needs none" /> : <code key="variable">{of.variable}</code>],
        of.account_refused_at === null
          ? null
          : [
              "Account",
              <span key="account">
                refused <Time at={of.account_refused_at} form="ago" />: look at its key and its bill
              </span>,
            ],
        of.last_error === null
          ? null
          : [
              "Last failure",
              <span key="error">
                {of.last_error.why}, {of.last_error.host} for {of.last_error.model},{" "}
                <Time at={of.last_error.at} form="ago" />
              </span>,
            ],
      ]}
    />
    {of.keys.length === 0 ? null : <VendorKeys of={of} />}
  </Panel>
)

const VendorKeys = ({ of }: { readonly of: ProviderState }) => (
  <table class="bill">
    <caption class="only-read">Keys of {of.name}</caption>
    <thead>
      <tr>
        <th scope="col">Key of the vendor</th>
        <th scope="col">State</th>
        <th scope="col" class="is-number">
          Charged for it
        </th>
      </tr>
    </thead>
    <tbody>
      {of.keys.map(({ label, state, why, rests_until, exact }) => (
        <tr key={label}>
          <th scope="row">{label}</th>
          <td>
            <Badge tone={state === "ready" ? "good" : "warning"}>{state === "ready" ? "ready" : "rests"}</Badge>{" "}
            {why === null ? null : <span class="small">{why}</span>}{" "}
            {rests_until === null ? null : (
              <span class="small muted">
                until <Time at={rests_until} />
              </span>
            )}
          </td>
          <td class="is-number">
            <Usd amount={exact.spent_usd} />
          </td>
        </tr>
      ))}
    </tbody>
  </table>
)

const OffList = ({ of }: { readonly of: ReadonlyArray<ProviderState> }) => (
  <Panel title="Off" note="Set the variable in the environment of the gateway, and start it again.">
    <ul class="off-list">
      {of.map((one) => (
        <li key={one.slug}>
          <strong>{one.name}</strong>
          <span class="muted">{one.why}</span>
          {one.variable === null ? null : (
            <Copyable text={`export ${one.variable}=…`} what={`the line for ${one.name}`} />
          )}
        </li>
      ))}
    </ul>
  </Panel>
)

export default Providers
