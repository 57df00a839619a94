/**
 * Decides whether a host may be called now, while `HostStats` only observes. A host that refused our account, does not
 * know the model or is rate limited cools down for a while. In memory, per process. See docs/guarantees.md#g10.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type Cooldowns, cooldownFor } from "../domain/Cooldown.ts"
import type { HostFailed, HostReason } from "../domain/Failure.ts"
import { endpointKey, type Host } from "../domain/Host.ts"

/** Why a host may not be called now. */
export interface Inadmissible {
  /** The failure that caused it: `rate-limited`, `account`, ... */
  readonly reason: HostReason
  /** Milliseconds until it may be called again. */
  readonly retryAfterMs: number
}

export class HostHealth extends Context.Tag("headgate/HostHealth")<
  HostHealth,
  {
    /**
     * Why the host may not be called now; `undefined`: it may. Has no side effects, so that a plan can check all hosts.
     */
    readonly admissible: (host: Host) => Inadmissible | undefined
    /** The permit for one call, taken just before it. Fails like `admissible`. */
    readonly acquire: (host: Host) => Inadmissible | undefined
    /** Records a failed call, after which the host may cool down. Does not shorten a cooldown that is running. */
    readonly failed: (host: Host, failure: HostFailed) => void
  }
>() {
  static readonly layer = (cooldowns: Cooldowns) =>
    Layer.effect(
      HostHealth,
      Effect.map(Effect.clock, (clock) => {
        const cooling = new Map<string, { readonly until: number; readonly reason: HostReason }>()
        const admissible = (host: Host): Inadmissible | undefined => {
          if (cooling.size === 0) return undefined
          const key = endpointKey(host)
          const entry = cooling.get(key)
          if (entry === undefined) return undefined
          const retryAfterMs = entry.until - clock.unsafeCurrentTimeMillis()
          if (retryAfterMs > 0) return { reason: entry.reason, retryAfterMs }
          cooling.delete(key)
          return undefined
        }
        return {
          admissible,
          acquire: admissible,
          failed: (host, failure) => {
            const wait = cooldownFor(failure, cooldowns)
            if (wait === 0) return
            const until = clock.unsafeCurrentTimeMillis() + wait
            const before = cooling.get(endpointKey(host))
            if (before === undefined || before.until < until)
              cooling.set(endpointKey(host), { until, reason: failure.reason })
          },
        }
      }),
    )
}
