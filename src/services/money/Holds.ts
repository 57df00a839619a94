/**
 * The holds of running attempts. A hold is taken from what its key has left or, where several processes share the database, from
 * this process's slice of that. It grows while a stream runs, and is given back at its end. See docs/guarantees.md#g1.
 */
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { ConfigInForce } from "../../catalogue/ProviderRegistry.ts"
import type { PaymentRequired, Unavailable } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import type { KeyRecord } from "../../domain/keys/key.ts"
import { nextReset } from "../../domain/keys/limitWindows.ts"
import type { ErrorFinish } from "../../domain/money/Charge.ts"
import {
  type BudgetSnapshot,
  type HoldRequest,
  type HoldSize,
  holdSize,
  mostUsage,
  nextBlock,
  type OutputAllowance,
  paymentRequired,
  requiredAmount,
} from "../../domain/money/hold.ts"
import type { KeyAccount } from "../../domain/money/KeyAccount.ts"
import type { Slice } from "../../domain/money/Slice.ts"
import type { Picodollars } from "../../domain/price/money.ts"
import type { Usage } from "../../domain/price/Usage.ts"
import { Roster } from "../../domain/structures/Roster.ts"
import type { UsedKey } from "../hosts/ProviderKeys.ts"
import type { RequestContext } from "../request/RequestContext.ts"
import type { Hold } from "./Hold.ts"
import type { ProcessLease } from "./ProcessLease.ts"
import type { Slices } from "./Slices.ts"

/** What a hold is taken for. */
export interface HoldAsk extends HoldRequest {
  readonly streamed: boolean
  /** The most output tokens that may be made and not sent (`domain/money/hold.ts`: `mostHiddenTokens`). Default 0. */
  readonly mostHidden?: number
  readonly providerKey?: UsedKey | undefined
}

interface Services {
  readonly registry: ConfigInForce
  /** Unix milliseconds. */
  readonly now: () => number
  /** Where several processes share the database. */
  readonly shared: { readonly slices: Slices; readonly lease: Pick<ProcessLease, "isHeld"> } | undefined
}

/** Of a key without a limit. */
export const noLimit: BudgetSnapshot = { limit: null, spend: 0n, held: 0n, source: "total", resetsAt: null }

/** The open holds of this process, and how they are taken, grown and given back. */
export class Holds {
  /** Reservations that are not closed. */
  readonly open = new Roster<Hold>()
  private readonly services: Services

  constructor(services: Services) {
    this.services = services
  }

  /** What is left of the key's whole budget. */
  budget({ limit, limitReset }: KeyRecord, account: KeyAccount): BudgetSnapshot {
    const { held } = account
    if (limitReset === null) return { limit, spend: account.total, held, source: "total", resetsAt: null }
    const at = this.services.now()
    const spend = account.spendAt(at)[limitReset]
    return { limit, spend, held, source: limitReset, resetsAt: nextReset(limitReset, at) }
  }

  /** Reserves the most that this host could charge. Fails when less is left. May wait for the database where that is shared. */
  take(
    key: KeyRecord,
    account: KeyAccount,
    context: RequestContext,
    ask: HoldAsk,
    host: Host,
  ): Effect.Effect<Hold, PaymentRequired | Unavailable> {
    const { registry, shared } = this.services
    const hold = new OpenHold(key, account, context, ask, host, registry.current().billing.errorFinish)
    if (shared !== undefined && key.limit !== null) return this.takeFromSlice(shared.slices, key.limit, hold, ask)
    const budget = key.limit === null ? noLimit : this.budget(key, account)
    const size = holdSize(budget, ask, host)
    if (typeof size === "string") return Exit.fail(paymentRequired(budget, size, requiredAmount(ask, host)))
    return Exit.succeed(this.admit(hold, size))
  }

  // Not within `take`, which would make an object for the variables of these closures at every call.
  private takeFromSlice(slices: Slices, limit: Picodollars, hold: OpenHold, ask: HoldAsk) {
    const { key, context, host } = hold
    return slices.take(
      key,
      limit,
      context.admittedAt,
      { sizeOf: (budget) => holdSize(budget, ask, host), required: () => requiredAmount(ask, host) },
      (size, slice) => {
        hold.slice = slice
        return this.admit(hold, size)
      },
    )
  }

  private admit(hold: OpenHold, { amount, outputBound, outputTokens }: HoldSize): Hold {
    hold.amount = amount
    hold.outputBound = outputBound
    hold.outputTokens = outputTokens
    hold.account.take(amount)
    this.open.add(hold)
    if (hold.streamed && outputTokens < Number.POSITIVE_INFINITY) hold.output = this.allowance(hold)
    return hold
  }

  private allowance(hold: OpenHold): OutputAllowance {
    const { shared } = this.services
    const { key, slice } = hold
    if (shared === undefined || slice === undefined || key.limit === null) return new BudgetAllowance(this, hold)
    return new SliceAllowance(this, hold, slice, key.limit, shared)
  }

  /** Adds the next block to the hold. Returns how many tokens it pays for, 0 where there is none. */
  extend(hold: OpenHold, budget: BudgetSnapshot): number {
    const { tokens, amount } = nextBlock(budget, hold.host, hold.outputTokens)
    hold.amount += amount
    hold.account.addToHold(amount)
    hold.slice?.take(amount)
    return tokens
  }

  /** Takes the hold out of the open ones, so that it does not grow any more. `false`: it was closed before. */
  close(hold: Hold): boolean {
    const wasOpen = this.open.has(hold)
    this.open.delete(hold)
    return wasOpen
  }

  /** Gives the money of a closed hold back, of which `cost` is spent. `since`: `Slice.settles`. */
  giveBack({ account, amount, slice }: Hold, cost: Picodollars, since?: number): void {
    account.giveBack(amount)
    slice?.settled(amount, cost, since)
  }
}

class OpenHold implements Hold {
  readonly key: KeyRecord
  readonly account: KeyAccount
  readonly context: RequestContext
  readonly host: Host
  readonly errorFinish: ErrorFinish
  readonly streamed: boolean
  readonly bounds: HoldAsk["bounds"]
  readonly maxTokens: number | undefined
  readonly sentBytes: number
  readonly mostHidden: number
  /** Whether it takes its next block ahead of need. */
  readonly growsAhead: boolean
  readonly providerKey: UsedKey | undefined
  amount = 0n
  outputBound: number | undefined
  outputTokens = 0
  slice: Slice | undefined
  output: OutputAllowance | undefined
  progress: Hold["progress"] = "held"
  rosterIndex = -1

  constructor(
    key: KeyRecord,
    account: KeyAccount,
    context: RequestContext,
    ask: HoldAsk,
    host: Host,
    errorFinish: ErrorFinish,
  ) {
    this.key = key
    this.account = account
    this.context = context
    this.host = host
    this.errorFinish = errorFinish
    this.streamed = ask.streamed
    this.bounds = ask.bounds
    this.maxTokens = ask.maxTokens
    this.sentBytes = ask.sentBytes
    this.mostHidden = ask.mostHidden ?? 0
    this.growsAhead = ask.grows === true && ask.maxTokens === undefined
    this.providerKey = ask.providerKey
  }

  get most(): Usage {
    return mostUsage(this, this.outputTokens, this.host)
  }
}

/** Grows a hold out of what the key has left. */
class BudgetAllowance implements OutputAllowance {
  readonly outputTokens: number
  private readonly holds: Holds
  private readonly hold: OpenHold

  constructor(holds: Holds, hold: OpenHold) {
    this.outputTokens = hold.outputTokens
    this.holds = holds
    this.hold = hold
  }

  extend(): number {
    const { holds, hold } = this
    return holds.open.has(hold) ? holds.extend(hold, holds.budget(hold.key, hold.account)) : 0
  }
}

/**
 * Grows a hold out of a slice. A stream cannot wait for the database, so one without a bound of the caller's holds its next
 * block ahead of need. One with a bound needs more only where its host ignores that.
 */
class SliceAllowance implements OutputAllowance {
  readonly outputTokens: number
  private readonly holds: Holds
  private readonly hold: OpenHold
  private readonly slice: Slice
  private readonly limit: Picodollars
  private readonly shared: NonNullable<Services["shared"]>
  /** Tokens that are paid for by a block that was taken ahead. */
  private ahead = 0

  constructor(holds: Holds, hold: OpenHold, slice: Slice, limit: Picodollars, shared: NonNullable<Services["shared"]>) {
    this.outputTokens = hold.outputTokens
    this.holds = holds
    this.hold = hold
    this.slice = slice
    this.limit = limit
    this.shared = shared
    this.takeAhead()
  }

  extend(): number {
    if (!this.shared.lease.isHeld()) return 0
    const tokens = this.ahead > 0 ? this.ahead : this.takeBlock()
    this.ahead = 0
    if (tokens > 0) this.takeAhead()
    return tokens
  }

  private takeBlock(): number {
    const { holds, hold, slice } = this
    // What is certain: the money of the slice that no request holds.
    return holds.open.has(hold) ? holds.extend(hold, { ...noLimit, limit: slice.free }) : 0
  }

  private takeAhead(): void {
    const { hold, slice, limit, shared } = this
    if (!hold.growsAhead) return
    const { amount } = nextBlock({ ...noLimit, limit }, hold.host, hold.outputTokens)
    shared.slices.fill(slice, limit, amount, () => {
      this.ahead += this.takeBlock()
    })
  }
}
