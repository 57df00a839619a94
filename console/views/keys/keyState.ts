/** What a key's state is called, and what it has spent of its limit. */
import type { Key } from "../../api/keyTypes.ts"
import { type Picodollars, picodollars } from "../../lib/money.ts"

interface State {
  readonly words: "active" | "disabled" | "expired" | "used up"
  readonly tone: "good" | "plain" | "warning"
}

/** What counts against the limit: the spend of the window that it is for. */
export const spentInWindow = (key: Key): Picodollars => {
  const { limit, limit_remaining: left } = key.exact
  const whole = picodollars(limit)
  const rest = picodollars(left)
  if (whole !== null && rest !== null) return whole - rest
  return picodollars(key.exact.usage) ?? 0n
}

export const keyState = (key: Key, now: Date): State => {
  if (key.disabled) return { words: "disabled", tone: "plain" }
  if (key.expires_at !== null && new Date(key.expires_at) <= now) return { words: "expired", tone: "plain" }
  const left = picodollars(key.exact.limit_remaining)
  if (key.exact.limit !== null && left !== null && left <= 0n) return { words: "used up", tone: "warning" }
  return { words: "active", tone: "good" }
}
