/**
 * The key that the playground calls models with: a short-lived one with a limit, made by a management session, or one that was pasted. It
 * is in memory alone, and the one that was made is deleted when the page is left.
 */
import { signal } from "@preact/signals"
import { call } from "../../api/call.ts"
import type { MadeKey } from "../../api/keyTypes.ts"

/** USD, and how long it is accepted. */
export const playLimit = 1
const forMs = 3_600_000

export const playKey = signal<{ readonly secret: string; readonly hash: string | null } | null>(null)

export const makePlayKey = async (): Promise<string> => {
  const expires = new Date(Date.now() + forMs).toISOString()
  const body = { name: "playground", limit: playLimit, expires_at: expires, tags: ["playground"] }
  const made = await call<MadeKey>("/keys", { method: "POST", body })
  playKey.value = { secret: made.key, hash: made.data.hash }
  return made.key
}

/** One that cannot be deleted now expires within the hour. */
export const dropPlayKey = (): void => {
  const hash = playKey.value?.hash ?? null
  playKey.value = null
  if (hash !== null)
    void call(`/keys/${encodeURIComponent(hash)}`, { method: "DELETE", outlivesPage: true }).catch(() => {})
}
