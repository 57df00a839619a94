/**
 * Which of several keys of a provider is used for a call (`api_keys`). A key that its host refused, or whose rate limit
 * is used up, cools down alone while another key is left; one that has spent its limit is passed over until that is
 * reset. What a key has spent is what its host charges, by the ledger's rows. Providers with one `api_key` have none of
 * this.
 */
import type * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schedule from "effect/Schedule"
import type { EndpointKey } from "../../catalogue/endpoints.ts"
import { type ConfigInForce, type Endpoints, ProviderRegistry } from "../../catalogue/ProviderRegistry.ts"
import type { HostFailed } from "../../domain/failures/Failure.ts"
import type { HostReason } from "../../domain/failures/HostReason.ts"
import { cooldownMs, verdictOn } from "../../domain/failures/Verdict.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import { weightedOrder } from "../../domain/hosts/keyOrder.ts"
import { nextReset, spentInWindow } from "../../domain/keys/limitWindows.ts"
import { KeyAccount } from "../../domain/money/KeyAccount.ts"
import type { Picodollars } from "../../domain/price/money.ts"
import { lasted } from "../../process/log/LoggedState.ts"
import { logEvent } from "../../process/log/logEvent.ts"
import { makeEffectRunner } from "../request/EffectRunner.ts"
import { monotonic, type RequestContext } from "../request/RequestContext.ts"
import { Streak } from "../storage/Outage.ts"
import { type LedgerRepository, Storage } from "../storage/Storage.ts"
import type { StorageUnavailable } from "../storage/StorageUnavailable.ts"
import { survivingDefects } from "../storage/survivingDefects.ts"

/** All keys of a provider are passed over. */
export interface KeysOut {
  readonly because: "api_keys"
  /** Each key by its label, with why. Without secrets. */
  readonly reason: string
  /** Milliseconds until one of them may be used; `undefined`: no time is known. */
  readonly retryAfterMs: number | undefined
  /** Whether each of them rests after a rate limit. */
  readonly isRateLimit: boolean
}

/** The key of one call, for the ledger. */
export interface UsedKey {
  /** Names the key in the database: a hash that only this installation can make. */
  readonly id: string
  /** A row of it was booked. `admittedAt`: Unix milliseconds. */
  readonly booked: (upstreamCost: Picodollars, admittedAt: number) => void
}

/** The key that is used for a call. */
export interface ChosenKey {
  readonly key: EndpointKey
  readonly used: UsedKey
}

/** What of a request decides about the key. */
export type Choosing = Pick<RequestContext, "seed" | "triedKeys"> & Partial<Pick<RequestContext, "conversation">>

/** What plans and calls ask. */
export interface KeyChoice {
  /** Why none of the keys of the host's provider may be used now; `undefined`: one may, or it has no several. */
  readonly refusal: (host: Host) => KeysOut | undefined
  /**
   * Of the keys that may be used and were not tried for this request, that of its conversation; else the first in the
   * order of the seed.
   */
  readonly choose: (keys: ReadonlyArray<EndpointKey>, request: Choosing) => ChosenKey | KeysOut
}

/** What the end of an attempt tells. */
export interface KeyFailures {
  /** A call failed. Whether that is a matter of the key and not of its host. */
  readonly failed: (chosen: ChosenKey, failure: HostFailed) => boolean
  /** A call was answered. */
  readonly succeeded: (chosen: ChosenKey) => void
}

/** One of several keys of a provider, for those who watch the gateway. */
export interface ProviderKeyState {
  /** Its slug. */
  readonly provider: string
  /** As in the log, such as `key 2 (OPENAI_KEY_B)`. */
  readonly label: string
  /** Names the key in the database. */
  readonly id: string
  /** Why it is passed over; `null`: it may be used. */
  readonly out: { readonly why: string; readonly retryAfterMs: number | undefined } | null
}

export interface KeyReport {
  /** The keys of providers that have several, by provider and place. Absent: not known. */
  readonly states?: () => ReadonlyArray<ProviderKeyState>
}

export class ProviderKeys extends Context.Tag("headgate/ProviderKeys")<
  ProviderKeys,
  KeyChoice & KeyFailures & KeyReport
>() {
  static readonly layer: Layer.Layer<ProviderKeys, never, ProviderRegistry | Storage> = Layer.scoped(
    ProviderKeys,
    Effect.suspend(() => make),
  )

  /** For providers with one key each. */
  static readonly layerNone: Layer.Layer<ProviderKeys> = Layer.succeed(ProviderKeys, {
    refusal: () => undefined,
    choose: () => ({ because: "api_keys", reason: "there are none", retryAfterMs: undefined, isRateLimit: false }),
    failed: () => false,
    succeeded: () => {},
  })
}

/** Whether a failure may be a matter of the key that was used. */
export const isOfKey = ({ reason }: HostFailed): boolean =>
  reason === "account" || reason === "forbidden" || reason === "rate-limited"

/**
 * How often what keys have spent is read again: other processes spend, too, and what a killed one left is booked late.
 */
const readEveryMs = 5000

const make = Effect.gen(function* () {
  const registry = yield* ProviderRegistry
  const { installation, ledger } = yield* Storage
  const runner = makeEffectRunner(yield* Effect.runtime<never>())
  const log = (line: Effect.Effect<void>) => runner.run(line, () => {})
  const keys = new KeysInUse(registry, installation, ledger, yield* Effect.clock, log)
  const watchAnew = Effect.zipRight(keys.watch, keys.read)
  yield* watchAnew
  yield* Effect.scheduleForked(survivingDefects("keys of providers")(keys.read), Schedule.spaced(readEveryMs))
  yield* registry.onReplaced(() => runner.run(watchAnew, () => {}))
  return ProviderKeys.of({
    refusal: (host) => keys.refusal(host),
    choose: (all, request) => keys.choose(all, request),
    failed: (chosen, failure) => keys.failed(chosen, failure),
    succeeded: (chosen) => keys.succeeded(chosen),
    states: () => keys.reported,
  })
})

/** Why a key is passed over. */
interface Out {
  readonly why: string
  readonly retryAfterMs: number | undefined
  readonly isRateLimit: boolean
}

class KeysInUse {
  private readonly registry: ConfigInForce & Endpoints
  private readonly installation: string
  private readonly ledger: Pick<LedgerRepository, "providerSpend">
  /** Milliseconds of a clock that never steps back. */
  private readonly nowMs: () => number
  /** Unix milliseconds. */
  private readonly now: () => number
  private states = new Map<string, KeyState>()
  private readonly byKey = new WeakMap<EndpointKey, KeyState>()
  /** The keys that may be passed over. Usually there is none, and a check is one comparison. */
  private readonly watched = new Map<KeyState, EndpointKey>()
  private readonly reading = new Streak()
  private readonly log: (line: Effect.Effect<void>) => void

  constructor(
    registry: ConfigInForce & Endpoints,
    installation: string,
    ledger: Pick<LedgerRepository, "providerSpend">,
    clock: Clock.Clock,
    log: (line: Effect.Effect<void>) => void,
  ) {
    this.log = log
    this.registry = registry
    this.installation = installation
    this.ledger = ledger
    this.nowMs = monotonic(clock)
    this.now = () => clock.unsafeCurrentTimeMillis()
  }

  refusal(host: Host): KeysOut | undefined {
    if (this.watched.size === 0) return undefined
    const keys = this.registry.endpoint(host)?.keys
    return keys === undefined ? undefined : this.keysOut(keys)
  }

  choose(keys: ReadonlyArray<EndpointKey>, { seed, triedKeys, conversation }: Choosing): ChosenKey | KeysOut {
    const host = keys[0]?.endpoint.host
    const wanted = host && conversation?.keyAt(host)
    let first: ChosenKey | undefined
    for (const key of weightedOrder(keys, seed)) {
      const state = this.stateOf(key)
      if (triedKeys.includes(state.id) || !this.isFree(key)) continue
      if (wanted === undefined || state.id === wanted) return { key, used: state }
      first ??= { key, used: state }
    }
    return first ?? this.keysOut(keys) ?? eachWasTried
  }

  failed({ key, used }: ChosenKey, failure: HostFailed): boolean {
    const { reason } = failure
    const { siblings } = key
    if (!isOfKey(failure) || siblings.length === 1) return false
    const isOtherLeft = siblings.some((other) => other.place !== key.place && this.isFree(other))
    // It may be about the request itself. So the last key is not left alone for that: one caller would take all of them
    // from others.
    if ((reason === "forbidden" || verdictOn(failure).isDoubtful) && !isOtherLeft) return false
    const state = this.states.get(used.id)
    // What a host forbids to one of several keys is a matter of its account.
    const rule = reason === "forbidden" ? "account" : verdictOn(failure).cooldown
    const waitMs = cooldownMs(rule, failure.retryAfterSeconds, this.registry.current().limits.cooldown)
    if (state === undefined || waitMs === 0) return true
    state.coolsUntil = Math.max(state.coolsUntil, this.nowMs() + waitMs)
    state.reason = reason
    this.watched.set(state, key)
    if (state.restsSince === undefined) {
      state.restsSince = this.nowMs()
      this.log(logEvent("provider_key_rests", { ...aboutOf(key), reason, forS: Math.round(waitMs / 1000) }))
    }
    return true
  }

  succeeded({ key, used }: ChosenKey): void {
    const state = this.states.get(used.id)
    if (state?.restsSince === undefined) return
    const lastedS = lasted((this.nowMs() - state.restsSince) / 1000)
    state.restsSince = undefined
    this.log(logEvent("provider_key_back", { ...aboutOf(key), lastedS }))
  }

  get reported(): ReadonlyArray<ProviderKeyState> {
    const found = new Map<string, ProviderKeyState>()
    // Each host of a provider has all of its keys.
    for (const { host, keys = [] } of this.registry.current().endpoints.values()) {
      for (const key of keys) {
        const { id } = this.stateOf(key)
        if (!found.has(id))
          found.set(id, { provider: host.provider, label: key.label, id, out: this.outOf(key) ?? null })
      }
    }
    return [...found.values()]
  }

  /** Watches the keys of the configuration in force, and forgets all others. */
  readonly watch: Effect.Effect<void> = Effect.sync(() => {
    const inForce = new Map<string, KeyState>()
    this.watched.clear()
    for (const { keys = [] } of this.registry.current().endpoints.values()) {
      for (const key of keys) {
        const state = this.stateOf(key)
        inForce.set(state.id, state)
        if (key.limit !== null || state.coolsUntil > this.nowMs()) this.watched.set(state, key)
      }
    }
    this.states = inForce
  })

  /** Reads what the keys with a limit have spent. */
  readonly read: Effect.Effect<void> = Effect.suspend(() => {
    const limited = [...this.watched].filter(([, { limit }]) => limit !== null)
    return Effect.forEach(limited, ([state]) => this.readOne(state), { discard: true })
  }).pipe(
    Effect.matchEffect({
      onSuccess: () => Effect.sync(() => this.reading.ended()),
      onFailure: ({ message }) => this.reading.failed(logEvent("provider_spend_not_read", { because: message })),
    }),
  )

  private readOne(state: KeyState): Effect.Effect<void, StorageUnavailable> {
    const at = this.now()
    state.beginReading()
    return Effect.map(this.ledger.providerSpend(state.id, at), (spend) => state.learn(new KeyAccount(spend, at)))
  }

  private stateOf(key: EndpointKey): KeyState {
    const known = this.byKey.get(key)
    if (known !== undefined) return known
    const id = key.idIn(this.installation)
    const state = this.states.get(id) ?? new KeyState(id)
    state.isLimited ||= key.limit !== null
    this.states.set(id, state)
    this.byKey.set(key, state)
    return state
  }

  private isFree(key: EndpointKey): boolean {
    return this.outOf(key) === undefined
  }

  private outOf(key: EndpointKey): Out | undefined {
    const { coolsUntil, reason, account } = this.stateOf(key)
    const coolsMs = coolsUntil - this.nowMs()
    if (coolsMs > 0) {
      return {
        why: `left alone after a failure: ${reason}`,
        retryAfterMs: coolsMs,
        isRateLimit: reason === "rate-limited",
      }
    }
    if (key.limit === null) return undefined
    if (account === undefined) return unread
    const at = this.now()
    if (spentInWindow(account.spendAt(at), key.limitReset) < key.limit) return undefined
    const resetsAt = nextReset(key.limitReset, at)
    const why = key.limitReset === null ? "its limit is used up" : `its ${key.limitReset} limit is used up`
    return { why, retryAfterMs: resetsAt === null ? undefined : resetsAt - at, isRateLimit: false }
  }

  /** Why all of these keys are passed over; `undefined`: one is not. */
  private keysOut(keys: ReadonlyArray<EndpointKey>): KeysOut | undefined {
    const reasons: Array<string> = []
    const waits: Array<number> = []
    let isRateLimit = keys.length > 0
    for (const key of keys) {
      const out = this.outOf(key)
      if (out === undefined) return undefined
      reasons.push(`${key.label}: ${out.why}`)
      isRateLimit &&= out.isRateLimit
      if (out.retryAfterMs !== undefined) waits.push(out.retryAfterMs)
    }
    return {
      because: "api_keys",
      reason: reasons.join("; "),
      retryAfterMs: waits.length === 0 ? undefined : Math.min(...waits),
      isRateLimit,
    }
  }
}

const aboutOf = ({ label, endpoint }: EndpointKey) => ({ provider: endpoint.host.provider, key: label })

const unread: Out = { why: "what it has spent is not known yet", retryAfterMs: readEveryMs, isRateLimit: false }

/** One key of one provider. */
class KeyState implements UsedKey {
  readonly id: string
  /** Whether what it has spent matters. */
  isLimited = false
  coolsUntil = Number.NEGATIVE_INFINITY
  reason: HostReason = "rate-limited"
  /** Since when it is left alone, or tried in vain; `undefined`: it is not. */
  restsSince: number | undefined
  /** `undefined`: not read yet. */
  account: KeyAccount | undefined
  /** Booked since the last reading began, which may have it or not. */
  private recent: Array<readonly [cost: Picodollars, admittedAt: number]> = []

  constructor(id: string) {
    this.id = id
  }

  readonly booked = (cost: Picodollars, admittedAt: number): void => {
    if (!this.isLimited) return
    this.account?.spend(cost, admittedAt)
    this.recent.push([cost, admittedAt])
  }

  beginReading(): void {
    this.recent = []
  }

  learn(account: KeyAccount): void {
    // Rather counted twice until the next reading than not at all.
    for (const [cost, admittedAt] of this.recent) account.spend(cost, admittedAt)
    this.account = account
  }
}

const eachWasTried: KeysOut = {
  because: "api_keys",
  reason: "each was tried",
  retryAfterMs: undefined,
  isRateLimit: false,
}
