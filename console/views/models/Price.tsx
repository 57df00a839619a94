import { None } from "../../components/values.tsx"
import { exactUsd } from "../../lib/money.ts"
import { perMillion } from "../../lib/prices.ts"

/** A price of the listings, for 1,000,000 tokens. */
export const Price = ({ of }: { readonly of: unknown }) => {
  const amount = perMillion(of)
  return amount === null ? <None words="no price is known" /> : <span class="number">{exactUsd(amount)}</span>
}
