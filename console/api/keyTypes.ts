/** A key as management sees it. */
import type { KeyAmount, Role } from "./types.ts"

export type LimitReset = "daily" | "weekly" | "monthly"

export interface Key {
  readonly hash: string
  readonly name: string
  readonly label: string
  readonly disabled: boolean
  readonly limit_reset: LimitReset | null
  readonly rate_limit: { readonly requests: number; readonly interval_s: number } | null
  readonly allowed_models: ReadonlyArray<string> | null
  readonly allowed_providers: ReadonlyArray<string> | null
  readonly allowed_addresses: ReadonlyArray<string> | null
  readonly expires_at: string | null
  readonly created_at: string
  readonly updated_at: string | null
  /** Earlier secrets are accepted until then. */
  readonly previous_ends_at: string | null
  readonly tags: ReadonlyArray<string>
  readonly owner: string | null
  /** `null` for an ordinary key. */
  readonly role: Role | null
  readonly exact: Readonly<Record<KeyAmount, string>> & {
    readonly limit: string | null
    readonly limit_remaining: string | null
  }
}

/** The only answer that holds a secret. */
export interface MadeKey {
  readonly data: Key
  readonly key: string
}
