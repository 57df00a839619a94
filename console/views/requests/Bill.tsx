/** The bill of a request line by line. The lines add up to its cost, which is computed here too: what does not agree is said. */
import type { BillingLine, RequestDetail } from "../../api/requestTypes.ts"
import { Panel } from "../../components/layout.tsx"
import { Empty } from "../../components/Shown.tsx"
import { Badge, None, Usd } from "../../components/values.tsx"
import { exactUsd, picodollars } from "../../lib/money.ts"
import { count } from "../../lib/numbers.ts"

const basisWords: Readonly<Record<string, string>> = {
  listed: "by the price of its host",
  estimated: "by an estimate of the price of its host",
  unknown: "without a price, since none is known",
}

const quantityOf = ({ quantity, unit }: BillingLine): string | null =>
  quantity === null ? null : `${count(quantity)} ${unit ?? ""}${quantity === 1 || unit === "percent" ? "" : "s"}`

export const Bill = ({ detail: { billing, exact } }: { readonly detail: RequestDetail }) => {
  const cost = picodollars(exact.usage) ?? 0n
  const sum = billing?.lines.reduce((all, line) => all + (picodollars(line.amount_usd) ?? 0n), 0n) ?? 0n
  return (
    <Panel
      title="Bill"
      note={
        billing === null
          ? undefined
          : `Computed ${basisWords[billing.price_basis] ?? billing.price_basis}${billing.price_version === null ? "" : `, version ${billing.price_version} of the prices`}.`
      }
    >
      {billing === null ? (
        <Empty title="Nothing was booked.">It cost its key nothing.</Empty>
      ) : (
        <>
          {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard. */}
          <div class="bill-scroll" tabIndex={0}>
            <table class="bill">
              <thead>
                <tr>
                  <th scope="col">For</th>
                  <th scope="col" class="is-number">
                    Quantity
                  </th>
                  <th scope="col" class="is-number">
                    Each
                  </th>
                  <th scope="col" class="is-number">
                    Amount
                  </th>
                </tr>
              </thead>
              <tbody>
                {billing.lines.map((line) => (
                  <tr key={line.what}>
                    <th scope="row">{line.what.replaceAll("_", " ")}</th>
                    <td class="is-number">{quantityOf(line) ?? <None />}</td>
                    <td class="is-number">
                      <Usd amount={line.unit_price_usd} isExact />
                    </td>
                    <td class="is-number">
                      <Usd amount={line.amount_usd} isExact />
                    </td>
                  </tr>
                ))}
              </tbody>
              <tfoot>
                <tr>
                  <th scope="row" colSpan={3}>
                    Together
                  </th>
                  <td class="is-number">
                    <strong>{exactUsd(sum)}</strong>
                  </td>
                </tr>
              </tfoot>
            </table>
          </div>
          {sum === cost ? null : (
            <p role="alert">
              <Badge tone="bad">does not agree</Badge> The ledger has {exactUsd(cost)}.
            </p>
          )}
          {billing.estimated ? (
            <p class="small">
              <Badge tone="warning">estimated</Badge> Its host did not count its tokens, so the gateway did.
            </p>
          ) : null}
          {billing.waived === null ? null : (
            <p class="small">
              <Badge>waived</Badge> The key paid nothing of it: {billing.waived.replaceAll("-", " ")}.
            </p>
          )}
        </>
      )}
    </Panel>
  )
}
