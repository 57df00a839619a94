/** An explanation: hosts in their order, those that are left out, and the shares of the draw. */
import type { Explanation } from "../../api/explainTypes.ts"
import { Panel } from "../../components/layout.tsx"
import { Badge, Copyable, None, Usd } from "../../components/values.tsx"
import { count, share } from "../../lib/numbers.ts"

export const Explained = ({ answer }: { readonly answer: Explanation }) => (
  <>
    <Panel
      title="Tried in this order"
      note={
        <>
          Strategy “{answer.strategy}”, seed <Copyable text={String(answer.seed)} what="the seed" />
        </>
      }
    >
      {answer.attempts.length === 0 ? (
        <p role="alert">
          <Badge tone="bad">{answer.error?.code ?? "none"}</Badge> {answer.error?.message ?? "No host is left."}
        </p>
      ) : (
        <Attempts answer={answer} />
      )}
    </Panel>
    <div class="panels">
      <Shares answer={answer} />
      <Excluded answer={answer} />
    </div>
  </>
)

/** The numbers of a strategy as text: "price 0.0000012, class normal". */
const whyOf = (why: Readonly<Record<string, unknown>> | null): string =>
  why === null
    ? ""
    : Object.entries(why)
        .map(
          ([name, value]) =>
            `${name.replaceAll("_", " ")} ${typeof value === "object" ? JSON.stringify(value) : value}`,
        )
        .join(", ")

const Attempts = ({ answer }: { readonly answer: Explanation }) => (
  <ol class="route">
    {answer.attempts.map(({ model, host, rank, estimated_cost_usd, why, api_key }) => {
      const dropped = answer.dropped_parameters[host] ?? []
      return (
        <li key={`${rank} ${model} ${host}`}>
          <span class="number muted">{rank}</span>
          <span class="route-host" title={model}>
            {host}
          </span>
          <span>
            {estimated_cost_usd === null ? <None words="no price is known" /> : <Usd amount={estimated_cost_usd} />}{" "}
            <span class="muted small">expected</span>
          </span>
          <span class="small muted explain-why">
            {whyOf(why)}
            {api_key === undefined ? "" : `, by ${api_key}`}
            {dropped.length === 0 ? "" : `; it would not be sent ${dropped.join(", ")}`}
          </span>
        </li>
      )
    })}
  </ol>
)

const Shares = ({ answer: { draws } }: { readonly answer: Explanation }) => (
  <Panel
    title="Who would be first"
    note={draws === undefined ? undefined : `The same request drawn with ${count(draws.count)} seeds.`}
  >
    {draws === undefined || draws.shares.length === 0 ? (
      <p class="muted">Nothing is left to draw from.</p>
    ) : (
      <ul class="shares">
        {draws.shares.map(({ model, host, first, share: part }) => (
          <li key={`${model} ${host}`}>
            <span class="route-host" title={model}>
              {host}
            </span>
            <span class="share-line" aria-hidden="true">
              <span style={{ width: `${part * 100}%` }} />
            </span>
            <span class="number">
              {share(part)} <span class="muted">({count(first)})</span>
            </span>
          </li>
        ))}
      </ul>
    )}
  </Panel>
)

const Excluded = ({ answer: { excluded } }: { readonly answer: Explanation }) => (
  <Panel title="Left out">
    {excluded.length === 0 ? (
      <p class="muted">No host is left out.</p>
    ) : (
      <ul class="route">
        {excluded.map(({ model, host, by, reason }) => (
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
  </Panel>
)
