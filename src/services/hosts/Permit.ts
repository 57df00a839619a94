/** Permission for one call to one endpoint, and what the health of the host learns from the call. */
import type { HostFailed } from "../../domain/failures/Failure.ts"
import type { EndpointState } from "./endpointHealth.ts"

/** What becomes of calls. `countsForBreaker`: the call began in the breaker's current epoch. */
export interface PermitOutcomes {
  readonly failed: (state: EndpointState, failure: HostFailed, caller: string, countsForBreaker: boolean) => void
  readonly succeeded: (state: EndpointState, caller: string, countsForBreaker: boolean) => void
  /** A probe was answered. */
  readonly recovered: (state: EndpointState) => void
}

/**
 * Permission for one call to one endpoint. It learns how the call went, by at most one of `succeeded` and `failed`, and is
 * given back by `release`, in every case. A call that was ended by the caller or by the gateway has no outcome.
 */
export class Permit {
  private readonly health: PermitOutcomes
  private readonly state: EndpointState
  /** Who calls: `callerOf`. */
  private readonly caller: string
  private epoch: number
  /** Whether it holds the probe of the breaker, or the emergency probe of the model. */
  private isProbe: boolean
  private isEmergency: boolean
  private isReleased = false

  constructor(health: PermitOutcomes, state: EndpointState, caller: string, isProbe: boolean, isEmergency: boolean) {
    this.health = health
    this.state = state
    this.caller = caller
    this.isProbe = isProbe
    this.isEmergency = isEmergency
    this.epoch = state.breaker.epoch
  }

  /** The first event of a stream came: a probe has shown that the host is back. */
  answered(): void {
    if (!this.isProbe && !this.isEmergency) return
    this.health.recovered(this.state)
    this.epoch = this.state.breaker.epoch
    this.endProbe()
  }

  /** The answer is complete. */
  succeeded(): void {
    this.answered()
    this.health.succeeded(this.state, this.caller, this.state.breaker.epoch === this.epoch)
  }

  failed(failure: HostFailed): void {
    this.health.failed(this.state, failure, this.caller, this.state.breaker.epoch === this.epoch)
    this.isProbe = this.isProbe && this.state.breaker.probing
  }

  /** Gives the place and the probe back. Does nothing the second time. */
  release(): void {
    if (this.isReleased) return
    this.isReleased = true
    this.state.calls.running -= 1
    this.endProbe()
  }

  private endProbe(): void {
    if (this.isProbe) this.state.breaker.giveUp()
    if (this.isEmergency) this.state.probes.isRunning = false
    this.isProbe = this.isEmergency = false
  }
}
