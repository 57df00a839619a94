/**
 * The reservations of running attempts. A reservation is taken from what its key has left or, where several processes share the
 * database, from this process's slice of that. It grows while a stream runs, and is given back at its end. See docs/guarantees.md#g1.
 */
import type * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { ConfigInForce } from "../../catalogue/ProviderRegistry.ts"
import type { PaymentRequired, Unavailable } from "../../domain/failures/Failure.ts"
import type { Host } from "../../domain/hosts/Host.ts"
import type { KeyRecord } from "../../domain/keys/key.ts"
import { nextReset } from "../../domain/keys/limitWindows.ts"
import type { ErrorFinish } from "../../domain/money/Charge.ts"
import type { KeyAccount } from "../../domain/money/KeyAccount.ts"
import {
  type BudgetSnapshot,
  mostUsage,
  nextBlock,
  type OutputAllowance,
  paymentRequired,
  type ReservationBasis,
  type ReservationSize,
  requiredAmount,
  reservationSize,
} from "../../domain/money/reservation.ts"
import type { Slice } from "../../domain/money/Slice.ts"
import type { Picodollars } from "../../domain/price/money.ts"
import type { Usage } from "../../domain/price/Usage.ts"
import { Roster } from "../../domain/structures/Roster.ts"
import type { UsedKey } from "../hosts/ProviderKeys.ts"
import type { RequestContext } from "../request/RequestContext.ts"
import type { ProcessLease } from "./ProcessLease.ts"
import type { Reservation } from "./Reservation.ts"
import type { Slices } from "./Slices.ts"

/** What a reservation is made for. */
export interface ReservationRequest extends ReservationBasis {
  readonly streamed: boolean
  /** The most output tokens that may be made and not sent (`domain/money/reservation.ts`: `mostHiddenTokens`). Default 0. */
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
export const noLimit: BudgetSnapshot = { limit: null, spend: 0n, reserved: 0n, source: "total", resetsAt: null }

/** The open reservations of this process, and how they are taken, grown and given back. */
export class OpenReservations {
  /** Those that are not closed. */
  readonly open = new Roster<Reservation>()
  private readonly services: Services

  constructor(services: Services) {
    this.services = services
  }

  /** What is left of the key's whole budget. */
  budget({ limit, limitReset }: KeyRecord, account: KeyAccount): BudgetSnapshot {
    const { reserved } = account
    if (limitReset === null) return { limit, spend: account.total, reserved, source: "total", resetsAt: null }
    const at = this.services.now()
    const spend = account.spendAt(at)[limitReset]
    return { limit, spend, reserved, source: limitReset, resetsAt: nextReset(limitReset, at) }
  }

  /** Reserves the most that this host could charge. Fails when less is left. May wait for the database where that is shared. */
  take(
    key: KeyRecord,
    account: KeyAccount,
    context: RequestContext,
    ask: ReservationRequest,
    host: Host,
  ): Effect.Effect<Reservation, PaymentRequired | Unavailable> {
    const { registry, shared } = this.services
    const reservation = new OpenReservation(key, account, context, ask, host, registry.current().billing.errorFinish)
    if (shared !== undefined && key.limit !== null)
      return this.takeFromSlice(shared.slices, key.limit, reservation, ask)
    const budget = key.limit === null ? noLimit : this.budget(key, account)
    const size = reservationSize(budget, ask, host)
    if (typeof size === "string") return Exit.fail(paymentRequired(budget, size, requiredAmount(ask, host)))
    return Exit.succeed(this.admit(reservation, size))
  }

  // Not within `take`, which would make an object for the variables of these closures at every call.
  private takeFromSlice(slices: Slices, limit: Picodollars, reservation: OpenReservation, ask: ReservationRequest) {
    const { key, context, host } = reservation
    return slices.take(
      key,
      limit,
      context.admittedAt,
      { sizeOf: (budget) => reservationSize(budget, ask, host), required: () => requiredAmount(ask, host) },
      (size, slice) => {
        reservation.slice = slice
        return this.admit(reservation, size)
      },
    )
  }

  private admit(reservation: OpenReservation, { amount, outputBound, outputTokens }: ReservationSize): Reservation {
    reservation.amount = amount
    reservation.outputBound = outputBound
    reservation.outputTokens = outputTokens
    reservation.account.take(amount)
    this.open.add(reservation)
    if (reservation.streamed && outputTokens < Number.POSITIVE_INFINITY)
      reservation.output = this.allowance(reservation)
    return reservation
  }

  private allowance(reservation: OpenReservation): OutputAllowance {
    const { shared } = this.services
    const { key, slice } = reservation
    if (shared === undefined || slice === undefined || key.limit === null) return new BudgetAllowance(this, reservation)
    return new SliceAllowance(this, reservation, slice, key.limit, shared)
  }

  /** Adds the next block to the reservation. Returns how many tokens it pays for, 0 where there is none. */
  extend(reservation: OpenReservation, budget: BudgetSnapshot): number {
    const { tokens, amount } = nextBlock(budget, reservation.host, reservation.outputTokens)
    reservation.amount += amount
    reservation.account.addToReservation(amount)
    reservation.slice?.take(amount)
    return tokens
  }

  /** Takes the reservation out of the open ones, so that it does not grow any more. `false`: it was closed before. */
  close(reservation: Reservation): boolean {
    const wasOpen = this.open.has(reservation)
    this.open.delete(reservation)
    return wasOpen
  }

  /** Gives the money of a closed reservation back, of which `cost` is spent. `since`: `Slice.settles`. */
  giveBack({ account, amount, slice }: Reservation, cost: Picodollars, since?: number): void {
    account.giveBack(amount)
    slice?.settled(amount, cost, since)
  }
}

class OpenReservation implements Reservation {
  readonly key: KeyRecord
  readonly account: KeyAccount
  readonly context: RequestContext
  readonly host: Host
  readonly errorFinish: ErrorFinish
  readonly streamed: boolean
  readonly bounds: ReservationRequest["bounds"]
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
  progress: Reservation["progress"] = "held"
  rosterIndex = -1

  constructor(
    key: KeyRecord,
    account: KeyAccount,
    context: RequestContext,
    ask: ReservationRequest,
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

/** Grows a reservation out of what the key has left. */
class BudgetAllowance implements OutputAllowance {
  readonly outputTokens: number
  private readonly reservations: OpenReservations
  private readonly reservation: OpenReservation

  constructor(reservations: OpenReservations, reservation: OpenReservation) {
    this.outputTokens = reservation.outputTokens
    this.reservations = reservations
    this.reservation = reservation
  }

  extend(): number {
    const { reservations, reservation } = this
    return reservations.open.has(reservation)
      ? reservations.extend(reservation, reservations.budget(reservation.key, reservation.account))
      : 0
  }
}

/**
 * Grows a reservation out of a slice. A stream cannot wait for the database, so one without a bound of the caller's reserves its
 * next block ahead of need. One with a bound needs more only where its host ignores that.
 */
class SliceAllowance implements OutputAllowance {
  readonly outputTokens: number
  private readonly reservations: OpenReservations
  private readonly reservation: OpenReservation
  private readonly slice: Slice
  private readonly limit: Picodollars
  private readonly shared: NonNullable<Services["shared"]>
  /** Tokens that are paid for by a block that was taken ahead. */
  private ahead = 0

  constructor(
    reservations: OpenReservations,
    reservation: OpenReservation,
    slice: Slice,
    limit: Picodollars,
    shared: NonNullable<Services["shared"]>,
  ) {
    this.outputTokens = reservation.outputTokens
    this.reservations = reservations
    this.reservation = reservation
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
    const { reservations, reservation, slice } = this
    // What is certain: the money of the slice that no request has reserved.
    return reservations.open.has(reservation) ? reservations.extend(reservation, { ...noLimit, limit: slice.free }) : 0
  }

  private takeAhead(): void {
    const { reservation, slice, limit, shared } = this
    if (!reservation.growsAhead) return
    const { amount } = nextBlock({ ...noLimit, limit }, reservation.host, reservation.outputTokens)
    shared.slices.fill(slice, limit, amount, () => {
      this.ahead += this.takeBlock()
    })
  }
}
