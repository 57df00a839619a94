/**
 * The last failure of each provider, and when it last refused our account, for those who run the gateway. Each process has its own, and
 * nothing is written for an answer that went well.
 */
import type { HostFailed } from "../../domain/failures/Failure.ts"
import type { HostReason } from "../../domain/failures/HostReason.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { type ConnectionFault, connectionFault } from "../calls/callFault.ts"

export interface ProviderError {
  /** Unix milliseconds. */
  readonly at: number
  readonly model: string
  /** The tag of the host. */
  readonly host: string
  readonly reason: HostReason
  /** Why the host could not be reached. */
  readonly fault?: ConnectionFault | undefined
}

export interface ProviderRecord {
  readonly lastError: ProviderError | null
  /** Unix milliseconds; `null`: it has not, or has answered since. */
  readonly accountRefusedAt: number | null
}

export class ProviderFailures {
  private readonly now: () => number
  private readonly records = new Map<string, ProviderRecord>()
  private readonly refused = new Set<string>()

  /** `now`: Unix milliseconds. */
  constructor(now: () => number) {
    this.now = now
  }

  of(provider: string): ProviderRecord {
    return this.records.get(provider) ?? { lastError: null, accountRefusedAt: null }
  }

  failed({ provider, model, tag }: Host, failure: HostFailed): void {
    const { reason } = failure
    const at = this.now()
    const isRefusal = reason === "account"
    if (isRefusal) this.refused.add(provider)
    const accountRefusedAt = isRefusal ? at : this.of(provider).accountRefusedAt
    this.records.set(provider, {
      lastError: { at, model, host: tag, reason, fault: connectionFault(failure) },
      accountRefusedAt,
    })
  }

  answered({ provider }: Host): void {
    if (this.refused.size === 0 || !this.refused.delete(provider)) return
    this.records.set(provider, { ...this.of(provider), accountRefusedAt: null })
  }

  /** Forgets the providers that are not among these: a reload may have removed them. */
  keepOnly(providers: ReadonlyMap<string, unknown>): void {
    for (const provider of this.records.keys()) {
      if (providers.has(provider)) continue
      this.records.delete(provider)
      this.refused.delete(provider)
    }
  }
}
