/** Why a request went where it went: hosts in their order, and those that were left out. */
import type { RequestDetail } from "../../api/requestTypes.ts"
import { Panel } from "../../components/layout.tsx"
import { Empty } from "../../components/Shown.tsx"
import { Badge, type Tone } from "../../components/values.tsx"

const words: Readonly<Record<string, string>> = {
  finished: "answered",
  not_called: "not needed",
  skipped: "passed over",
  lost: "slower than another",
  abandoned: "given up",
}

const toneOf = (outcome: string): Tone => {
  if (outcome === "finished") return "good"
  return outcome === "not_called" || outcome === "lost" || outcome === "skipped" ? "plain" : "bad"
}

export const Route = ({ detail: { route } }: { readonly detail: RequestDetail }) => (
  <Panel
    title="Route"
    note={
      route === null
        ? undefined
        : route.strategy === null
          ? "There was no plan: every host was left out."
          : `Ordered by “${route.strategy}”, drawn with the seed ${route.seed ?? "0"}.`
    }
  >
    {route === null ? (
      <Empty title="Its route is not kept.">
        It ended before hosts were looked at, or it is from before version 24 of the tables.
      </Empty>
    ) : (
      <>
        <ol class="route">
          {route.order.map(({ model, host, outcome, fault }, at) => (
            <li key={`${at} ${host}`}>
              <span class="number muted">{at + 1}</span>
              <span class="route-host" title={model}>
                {host}
              </span>
              <Badge tone={toneOf(outcome)}>
                {words[outcome] ?? outcome.replaceAll("-", " ").replaceAll("_", " ")}
                {fault == null ? null : `: ${fault}`}
              </Badge>
            </li>
          ))}
        </ol>
        {route.excluded.length === 0 ? (
          <p class="muted small">No host was left out.</p>
        ) : (
          <ul class="route">
            {route.excluded.map(({ host, model, by, reason }) => (
              <li key={`${model} ${host}`}>
                <span class="route-host" title={model}>
                  {host}
                </span>
                <span>
                  <Badge>{by}</Badge> <span class="small">{reason}</span>
                </span>
              </li>
            ))}
          </ul>
        )}
        {route.cut ? <p class="muted small">More hosts were looked at than are kept.</p> : null}
      </>
    )}
  </Panel>
)
