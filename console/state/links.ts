/** Addresses of views that other views lead to. Parameters of a list are those of the API's list, so that both show the same rows. */
import type { Span } from "../lib/range.ts"
import { href } from "./router.ts"

export interface RequestFilters {
  readonly model?: string | null
  readonly host?: string | null
  readonly provider?: string | null
  readonly key_hash?: string | null
  readonly app?: string | null
  readonly user_hash?: string | null
  readonly user?: string | null
  readonly status?: string | null
  readonly outcome?: string | null
}

/** The requests of a span that `filters` leave; with `to: null` until now. */
export const requestsHref = (
  filters: RequestFilters,
  span?: Span | { readonly from: Date; readonly to: null },
): string =>
  href("/requests", {
    ...filters,
    ...(span === undefined ? {} : { from: span.from.toISOString(), to: span.to?.toISOString() }),
  })

export const requestHref = (id: string): string => href(`/requests/${encodeURIComponent(id)}`)

export const keyHref = (hash: string): string => href(`/keys/${encodeURIComponent(hash)}`)

/** A model's id has a slash, which stays one in the address. */
export const modelHref = (id: string): string => href(`/models/${id.split("/").map(encodeURIComponent).join("/")}`)
