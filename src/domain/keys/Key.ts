/** Keys of callers, their limits, and the windows of the limits. */
import type { KeyId } from "../Ids.ts"
import type { Picodollars } from "../price/Money.ts"
import type { RateLimit } from "../structures/SlidingWindow.ts"
import { type Permissions, unrestricted } from "./Permissions.ts"

/** How often a limit may start anew. */
export const limitResets = ["daily", "weekly", "monthly"] as const

export type LimitReset = (typeof limitResets)[number]

export interface KeyRecord extends Permissions {
  readonly id: KeyId
  readonly kind: "ordinary" | "management"
  readonly name: string
  /** The masked key: first characters, three dots, last three. */
  readonly label: string
  readonly disabled: boolean
  /** `null`: none. */
  readonly limit: Picodollars | null
  /** How often the limit resets, at 00:00 UTC; `null`: never. */
  readonly limitReset: LimitReset | null
  readonly includeByokInLimit: boolean
  /** How many requests to models it may make; `null`: any number. */
  readonly rateLimit: RateLimit | null
  /** Unix milliseconds. A request that was admitted before may end after it. */
  readonly expiresAt: number | null
  readonly createdAt: number
  readonly updatedAt: number | null
  readonly creatorUserId: string | null
  readonly workspaceId: string
}

/** Defaults of a key without limit, name or expiry, for keys that are not stored here. */
export const unlimitedKey = {
  kind: "ordinary",
  name: "",
  label: "",
  disabled: false,
  limit: null,
  limitReset: null,
  includeByokInLimit: false,
  rateLimit: null,
  ...unrestricted,
  expiresAt: null,
  createdAt: 0,
  updatedAt: null,
  creatorUserId: null,
  workspaceId: "00000000-0000-0000-0000-000000000000",
} as const satisfies Omit<KeyRecord, "id">

/** What a key has spent: in all, and in the current UTC day, week (from Monday) and month. */
export interface Spend {
  readonly total: Picodollars
  readonly daily: Picodollars
  readonly weekly: Picodollars
  readonly monthly: Picodollars
}

/** Milliseconds of a day. UTC has no longer or shorter ones. */
export const dayMs = 86_400_000

/** Start of the UTC window that contains `now` (Unix milliseconds). See docs/guarantees.md#g7. */
export const windowStart = (reset: LimitReset, now: number): number => {
  const midnight = now - (now % dayMs)
  switch (reset) {
    case "daily":
      return midnight
    case "weekly":
      // The epoch was a Thursday, three days after a Monday.
      return midnight - ((midnight / dayMs + 3) % 7) * dayMs
    case "monthly": {
      const at = new Date(now)
      return Date.UTC(at.getUTCFullYear(), at.getUTCMonth(), 1)
    }
  }
}

/** When the next window begins, Unix milliseconds; `null` for a limit that never resets. */
export const nextReset = (reset: LimitReset | null, now: number): number | null => {
  if (reset === null) return null
  const start = windowStart(reset, now)
  if (reset === "daily") return start + dayMs
  if (reset === "weekly") return start + 7 * dayMs
  const at = new Date(start)
  return Date.UTC(at.getUTCFullYear(), at.getUTCMonth() + 1, 1)
}

/** The part of `spend` that counts against a limit with this reset. */
export const spentInWindow = (spend: Spend, reset: LimitReset | null): Picodollars =>
  reset === null ? spend.total : spend[reset]
