/** What one host costs, line by line, with its tiers and times. */
import type { Host } from "../../api/modelTypes.ts"
import { count } from "../../lib/numbers.ts"
import { overrideWords, type PriceLine, priceLines } from "../../lib/prices.ts"

const Lines = ({ lines }: { readonly lines: ReadonlyArray<PriceLine> }) => (
  <table class="bill">
    <tbody>
      {lines.map(({ title, amount, per }) => (
        <tr key={title}>
          <th scope="row">{title}</th>
          <td class="is-number">{amount}</td>
          <td class="muted">{per}</td>
        </tr>
      ))}
    </tbody>
  </table>
)

export const HostPrices = ({ host }: { readonly host: Host }) => {
  const lines = priceLines(host.pricing)
  return (
    <section class="price-panel">
      <h3>{host.tag}</h3>
      {lines.length === 0 ? (
        <p class="muted">No price is known: keys with a limit may not use it.</p>
      ) : (
        <Lines lines={lines} />
      )}
      {host.pricing.discount > 0 ? (
        <p class="small">Less {(host.pricing.discount * 100).toFixed(0)} % on all of them.</p>
      ) : null}
      {host.pricing.overrides.map((override) => (
        <div key={JSON.stringify(override)}>
          <p class="small muted">{overrideWords(override)}:</p>
          <Lines lines={priceLines(override)} />
        </div>
      ))}
      <p class="small muted">
        At most {count(host.max_completion_tokens)} tokens out
        {host.max_prompt_tokens === null ? "" : `, ${count(host.max_prompt_tokens)} in`}.{" "}
        {host.supported_parameters.length === 0
          ? ""
          : `Takes ${host.supported_parameters.map((name) => name.replaceAll("_", " ")).join(", ")}.`}
      </p>
    </section>
  )
}
