/**
 * The last failure of each provider, and when it last refused our account. It runs within the end of each request, so it does next to nothing
 * for one that went well. Each process has its own.
 */
import type { HostReason } from "../../domain/failures/HostReason.ts"
import type { RequestEnd } from "../request/RequestEnds.ts"

export interface ProviderError {
  /** Unix milliseconds. */
  readonly at: number
  readonly model: string
  /** The tag of the host. */
  readonly host: string
  readonly reason: HostReason
}

export interface ProviderRecord {
  readonly lastError: ProviderError | null
  /** Unix milliseconds; `null`: it has not, or has answered since. */
  readonly accountRefusedAt: number | null
}

export class ProviderTally {
  private readonly records = new Map<string, ProviderRecord>()
  private readonly refused = new Set<string>()

  /** An observer of `RequestEnds`. */
  readonly observe = ({ attempts, times }: RequestEnd): void => {
    for (const { host, failure, outcome, ended } of attempts) {
      if (failure !== undefined) {
        const { provider, model, tag } = host
        this.failed(provider, { at: Math.round(times.receivedAt + ended), model, host: tag, reason: failure.reason })
      } else if (this.refused.size > 0 && outcome !== "abandoned") this.answered(host.provider)
    }
  }

  /** Forgets the providers that are not among these: a reload may have removed them. */
  keepOnly(providers: ReadonlyMap<string, unknown>): void {
    for (const provider of this.records.keys()) {
      if (providers.has(provider)) continue
      this.records.delete(provider)
      this.refused.delete(provider)
    }
  }

  of(provider: string): ProviderRecord {
    return this.records.get(provider) ?? { lastError: null, accountRefusedAt: null }
  }

  private failed(provider: string, error: ProviderError): void {
    const known = this.records.get(provider)
    const isRefusal = error.reason === "account"
    if (isRefusal) this.refused.add(provider)
    const accountRefusedAt = isRefusal ? error.at : (known?.accountRefusedAt ?? null)
    this.records.set(provider, { lastError: error, accountRefusedAt })
  }

  private answered(provider: string): void {
    if (!this.refused.delete(provider)) return
    this.records.set(provider, { ...this.of(provider), accountRefusedAt: null })
  }
}
