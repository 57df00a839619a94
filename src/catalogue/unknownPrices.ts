/** Hosts whose price is unknown: what they cost by `billing.unknown_price`. Pure. */
import { type Host, isPriceUnknown, type Model } from "../domain/hosts/Host.ts"
import { isJsonObject, objectsIn } from "../domain/json/json.ts"
import { renderPath } from "../domain/json/Problem.ts"
import { type Pricing, sortPrice } from "../domain/price/price.ts"

/**
 * - `deny`: they stay without a price, and keys with a limit may not call them.
 * - `estimate`: they have the prices of the dearest host of their model, or else of all models of the same author. Those
 *   for which there is neither are denied.
 * - `allow`: they stay without a price, every key may call them and pays nothing.
 */
export type UnknownPrice = "deny" | "estimate" | "allow"

export const withUnknownPrices = (models: ReadonlyArray<Model>, choice: UnknownPrice): ReadonlyArray<Model> => {
  const isUnknown = ({ pricing }: Host) => pricing === null
  if (choice === "deny" || !models.some(({ hosts }) => hosts.some(isUnknown))) return models
  const ofAuthors = new Map<string, Pricing | null>()
  for (const { id, hosts } of models) {
    const author = authorOf(id)
    ofAuthors.set(author, dearest([ofAuthors.get(author) ?? null, ...hosts.map(({ pricing }) => pricing)]))
  }
  return models.map((model) => {
    if (!model.hosts.some(isUnknown)) return model
    const pricing = dearest(model.hosts.map((host) => host.pricing)) ?? ofAuthors.get(authorOf(model.id)) ?? null
    return { ...model, hosts: model.hosts.map((host) => (isUnknown(host) ? priced(host, choice, pricing) : host)) }
  })
}

const priced = (host: Host, choice: UnknownPrice, pricing: Pricing | null): Host => {
  if (choice === "allow") return { ...host, unpriced: "allowed" }
  return pricing === null ? host : { ...host, pricing, unpriced: "estimated" }
}

const authorOf = (id: string): string => id.slice(0, id.indexOf("/"))

/** By a token of the prompt and one of the output together, less the discount. Of several the first. */
const dearest = (prices: ReadonlyArray<Pricing | null>): Pricing | null =>
  prices.reduce((most, pricing) => ((sortPrice(pricing) ?? -1n) > (sortPrice(most) ?? -1n) ? pricing : most), null)

/** One line about the hosts that are billed without a price of their own; `undefined`: there are none. */
export const unpricedWarning = (models: ReadonlyArray<Model>): string | undefined => {
  const named = (kind: Host["unpriced"]) =>
    models.flatMap(({ id, hosts }) =>
      hosts.filter(({ unpriced }) => unpriced === kind).map(({ tag }) => `${id} at ${tag}`),
    )
  const [estimated, allowed] = [named("estimated"), named("allowed")]
  if (estimated.length > 0) return `no price is known, so that of another host is charged: ${shortened(estimated)}`
  return allowed.length > 0 ? `no price is known, so nothing is charged: ${shortened(allowed)}` : undefined
}

/** The hosts of the configuration whose price is not known, where that denies them to keys with a limit; `undefined`: there are none. */
export const deniedWarning = (written: ReadonlyArray<unknown>, models: ReadonlyArray<Model>): string | undefined => {
  const denied = new Set(
    models.flatMap(({ id, hosts }) => hosts.flatMap((host) => (isPriceUnknown(host) ? [`${id} ${host.tag}`] : []))),
  )
  const paths = written.flatMap((model, at) =>
    isJsonObject(model)
      ? objectsIn(model["hosts"]).flatMap(({ provider, variant }, place) =>
          denied.has(`${model["id"]} ${[provider, variant].filter(Boolean).join("/")}`)
            ? [renderPath(["models", at, "hosts", place, "pricing"])]
            : [],
        )
      : [],
  )
  return paths.length === 0
    ? undefined
    : `no price is known, so keys with a limit may not call these hosts ("0" is free; billing.unknown_price): ${shortened(paths)}`
}

const mostNamed = 10

export const shortened = (names: ReadonlyArray<string>): string => {
  const more = names.length - mostNamed
  return more > 0 ? `${names.slice(0, mostNamed).join(", ")} and ${more} more` : names.join(", ")
}
