/**
 * Logs that a host is left alone after a failure, and that it answers again: once each, however often it is tried in vain in between. An
 * account that is refused is logged once for its provider, not for each of its models.
 */
import type * as Effect from "effect/Effect"
import type { HostReason } from "../../domain/failures/HostReason.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { lasted } from "../../process/log/LoggedState.ts"
import { logEvent } from "../../process/log/logEvent.ts"

interface Rest {
  /** Milliseconds of the clock of who asks. */
  readonly since: number
  readonly reason: HostReason
}

/** Endpoints and providers that rest at once, at most; of more the first ones are forgotten. */
const mostRests = 10_000

export class RestLog {
  /** Of an account by its provider, else by model and host. */
  private readonly rests = new Map<string, Rest>()
  private readonly log: (line: Effect.Effect<void>) => void
  private readonly keyOf: (provider: string) => string

  /** `keyOf`: where the key of a provider comes from, without the key. */
  constructor(log: (line: Effect.Effect<void>) => void, keyOf: (provider: string) => string) {
    this.log = log
    this.keyOf = keyOf
  }

  /** It is not called for `forMs` milliseconds. */
  begin(host: Host, reason: HostReason, forMs: number, now: number): void {
    const name = nameOf(host, reason)
    if (this.rests.has(name)) return
    const [first] = this.rests.keys()
    if (first !== undefined && this.rests.size >= mostRests) this.rests.delete(first)
    this.rests.set(name, { since: now, reason })
    const about = { ...aboutOf(host), reason, for_s: Math.round(forMs / 1000) }
    this.log(
      reason === "account"
        ? logEvent("account_refused", { ...about, key: this.keyOf(host.provider) })
        : logEvent("host_rests", about),
    )
  }

  /** It has answered. */
  end(host: Host, now: number): void {
    for (const name of [nameOf(host, "account"), nameOf(host, "rate-limited")]) {
      const rest = this.rests.get(name)
      if (rest === undefined) continue
      this.rests.delete(name)
      const { since, reason } = rest
      this.log(logEvent("host_back", { ...aboutOf(host), reason, lasted_s: lasted((now - since) / 1000) }))
    }
  }
}

const aboutOf = ({ provider, tag, model }: Host) => ({ provider, host: tag, model })

const nameOf = ({ provider, tag, model }: Host, reason: HostReason): string =>
  reason === "account" ? provider : `${model} ${tag}`
