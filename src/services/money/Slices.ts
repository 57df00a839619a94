/**
 * Slices of budgets that this process has leased from a database which several processes share. Reservations of requests are
 * taken out of them in memory; only a request that finds its slice used up waits for the database. Before a request is refused
 * the other processes are asked to give back what they do not use. See docs/decisions/0022-replicas.md.
 */
import * as BigInteger from "effect/BigInt"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schedule from "effect/Schedule"
import type * as Scope from "effect/Scope"
import { type PaymentRequired, Unavailable } from "../../domain/failures/Failure.ts"
import type { KeyRecord } from "../../domain/keys/key.ts"
import {
  type BudgetRefusal,
  type BudgetSnapshot,
  paymentRequired,
  type ReservationSize,
} from "../../domain/money/reservation.ts"
import { type BudgetWindow, budgetWindow, Slice } from "../../domain/money/Slice.ts"
import type { Picodollars } from "../../domain/price/money.ts"
import { logEvent } from "../../process/log/logEvent.ts"
import { type EffectRunner, makeEffectRunner, wait } from "../request/EffectRunner.ts"
import { monotonic } from "../request/RequestContext.ts"
import type { SharedEvents, SharedRepositories } from "../storage/SharedRepositories.ts"
import type { StorageUnavailable } from "../storage/StorageUnavailable.ts"
import { forEachToItsEnd, survivingDefects } from "../storage/survivingDefects.ts"
import type { ProcessLease } from "./ProcessLease.ts"

/** The reservation that a request needs of a budget, or why it cannot have one. */
export type SizeOf = (budget: BudgetSnapshot) => ReservationSize | BudgetRefusal

/** What a request asks of a slice. */
export interface SliceAsk {
  readonly sizeOf: SizeOf
  /** `requiredAmount`, called for a refusal alone. */
  readonly required: () => Picodollars | undefined
}

export interface Slices {
  /** What there is at best for a request that is admitted at `at` (Unix milliseconds). */
  readonly atBest: (key: KeyRecord, limit: Picodollars, at: number) => BudgetSnapshot
  /** Makes a reservation, at once where the slice has enough. */
  readonly take: <A>(
    key: KeyRecord,
    limit: Picodollars,
    at: number,
    ask: SliceAsk,
    onTaken: (size: ReservationSize, slice: Slice) => A,
  ) => Effect.Effect<A, PaymentRequired | Unavailable>
  /** Calls `then` when so much is free (at once, if it is), or when that is not to be had; not for a slice that was lost. */
  readonly fill: (slice: Slice, limit: Picodollars, amount: Picodollars, then: () => void) => void
  /** The lease was lost, and all slices with it. */
  readonly lost: () => void
}

/** Milliseconds. */
const idleMs = 5000
const lookEveryMs = 1000
/** The other processes give back within 50 ms. */
const othersMs = 60
const askAgainMs = 12

const unavailable = new Unavailable({ why: "metering", retryAfterSeconds: 5 })

/** A request that found too little in its slice. */
interface Waiting extends SliceAsk {
  readonly limit: Picodollars
  readonly at: number
  readonly take: (size: ReservationSize) => void
  readonly refuse: (failure: PaymentRequired | Unavailable) => void
}

/** A slice, and the requests that wait for more of it. */
class Served {
  readonly slice: Slice
  readonly waiting: Array<Waiting> = []
  /** One statement about a slice at a time, so that what is known of it is not older than what was known before. */
  readonly turn = Effect.unsafeMakeSemaphore(1)
  isServing = false
  /** Calls of `fill` that run. */
  fills = 0
  usedAt = 0
  /** A statement failed, so the database may have more as this slice than this process knows. */
  isUncertain = false

  constructor(slice: Slice) {
    this.slice = slice
  }

  isIdle(since: number): boolean {
    return this.usedAt < since && !this.isServing && this.fills === 0
  }

  /** Gives the request its reservation. Else how much more that takes, or why it cannot have one, in view of what there may be. */
  admit(one: Waiting, view: "atBest" | "asKnown"): "taken" | Picodollars | BudgetRefusal {
    const { slice } = this
    const size = one.sizeOf(slice[view](one.limit, one.at))
    if (typeof size === "string") return size
    if (!slice.take(size.amount)) return size.amount - slice.free
    this.remove(one)
    one.take(size)
    return "taken"
  }

  refuse(one: Waiting, reason: BudgetRefusal): void {
    this.remove(one)
    one.refuse(paymentRequired(this.slice.asKnown(one.limit, one.at), reason, one.required()))
  }

  /** Refuses the first, and all others for whom there is not enough either. */
  refuseAll(first: Waiting): void {
    for (const one of [...this.waiting]) {
      const size = one.sizeOf(this.slice.asKnown(one.limit, one.at))
      if (typeof size === "string") this.refuse(one, size)
      else if (one === first) this.refuse(one, "in_flight_budget_exhausted")
    }
  }

  private remove(one: Waiting): void {
    const at = this.waiting.indexOf(one)
    if (at >= 0) this.waiting.splice(at, 1)
  }

  fail(): void {
    for (const { refuse } of this.waiting.splice(0)) refuse(unavailable)
  }
}

/** Keeps slices until the scope closes, when the end of the process's lease gives them back. `report` is told of each failure. */
export const makeSlices = (
  shared: SharedRepositories,
  lease: Pick<ProcessLease, "id">,
  report: (failure: StorageUnavailable) => Effect.Effect<void> = ({ message }) =>
    logEvent("database_failed", { text: message }),
): Effect.Effect<Slices, never, Scope.Scope> =>
  Effect.gen(function* () {
    const nowMs = monotonic(yield* Effect.clock)
    const runner = makeEffectRunner(yield* Effect.runtime<never>())
    const slices = new LeasedSlices(shared, lease, report, nowMs, runner)
    yield* shared.on(slices.listener)
    yield* Effect.scheduleForked(survivingDefects("slices of budgets")(slices.look), Schedule.spaced(lookEveryMs))
    return slices
  })

class LeasedSlices implements Slices {
  private readonly shared: SharedRepositories
  private readonly lease: Pick<ProcessLease, "id">
  private readonly report: (failure: StorageUnavailable) => Effect.Effect<void>
  /** Milliseconds of a clock that never steps back. */
  private readonly nowMs: () => number
  private readonly runner: EffectRunner
  private readonly all = new Map<string, Served>()
  private readonly surviving = survivingDefects("a slice of a budget")

  constructor(
    shared: SharedRepositories,
    lease: Pick<ProcessLease, "id">,
    report: (failure: StorageUnavailable) => Effect.Effect<void>,
    nowMs: () => number,
    runner: EffectRunner,
  ) {
    this.shared = shared
    this.lease = lease
    this.report = report
    this.nowMs = nowMs
    this.runner = runner
  }

  readonly listener: SharedEvents = {
    wanted: (budget, by) => {
      const served = this.all.get(nameOf(budget))
      if (served !== undefined && by !== this.lease.id()) this.run(this.giveBack(served))
    },
    // Its limit may be another one.
    keyChanged: (key) => {
      for (const served of this.all.values()) if (served.slice.budget.key === key) this.run(this.giveBack(served))
    },
  }

  atBest(key: KeyRecord, limit: Picodollars, at: number): BudgetSnapshot {
    return this.servedOf(budgetWindow(key, at)).slice.atBest(limit, at)
  }

  take<A>(
    key: KeyRecord,
    limit: Picodollars,
    at: number,
    { sizeOf, required }: SliceAsk,
    onTaken: (size: ReservationSize, slice: Slice) => A,
  ): Effect.Effect<A, PaymentRequired | Unavailable> {
    const served = this.servedOf(budgetWindow(key, at))
    const { slice } = served
    served.usedAt = this.nowMs()
    const size = sizeOf(slice.atBest(limit, at))
    if (typeof size === "string") return Exit.fail(paymentRequired(slice.asKnown(limit, at), size, required()))
    if (slice.take(size.amount)) {
      // Not near the end of a budget, where the next slice would be smaller than a reservation.
      if (served.fills === 0 && slice.unleased(limit) / 8n >= size.amount)
        this.fill(slice, limit, size.amount, () => {})
      return Exit.succeed(onTaken(size, slice))
    }
    return wait<A, PaymentRequired | Unavailable>((resume) => {
      served.waiting.push({
        limit,
        at,
        sizeOf,
        required,
        take: (size) => resume(Exit.succeed(onTaken(size, slice))),
        refuse: (failure) => resume(Exit.fail(failure)),
      })
      this.startServing(served)
    })
  }

  fill(slice: Slice, limit: Picodollars, amount: Picodollars, then: () => void): void {
    const served = this.all.get(nameOf(slice.budget))
    if (served?.slice !== slice) return
    if (slice.free >= amount) {
      then()
      return
    }
    served.fills += 1
    let isOver = false
    const enough = () => {
      if (isOver || slice.free < amount) return
      isOver = true
      then()
    }
    const grown = Effect.suspend(() => {
      enough()
      const need = BigInteger.min(amount - slice.free, slice.unleased(limit))
      return isOver ? Effect.void : this.grow(served, limit, BigInteger.max(0n, need), enough)
    })
    const asked = Effect.suspend(() =>
      isOver || !slice.othersHave
        ? Effect.void
        : this.shared.slices
            .want(slice.process, slice.budget)
            .pipe(Effect.zipRight(Effect.sleep(othersMs)), Effect.zipRight(grown)),
    )
    const stopped = Effect.sync(() => {
      served.fills -= 1
      if (!isOver) then()
    })
    this.run(grown.pipe(Effect.zipRight(asked), Effect.ignore, Effect.ensuring(stopped)))
  }

  lost(): void {
    for (const served of this.all.values()) {
      served.slice.free = 0n
      served.fail()
    }
    this.all.clear()
  }

  /** Gives back what was not used for a while. */
  readonly look: Effect.Effect<void> = Effect.suspend(() => {
    const idleSince = this.nowMs() - idleMs
    const idle = [...this.all.values()].filter((served) => served.isIdle(idleSince))
    return forEachToItsEnd(idle, (served) =>
      Effect.map(this.giveBack(served), () => {
        const { slice, isUncertain } = served
        const isEmpty = slice.free === 0n && slice.reserved === 0n && !isUncertain
        if (isEmpty && served.isIdle(idleSince)) this.all.delete(nameOf(slice.budget))
      }),
    )
  })

  private servedOf(budget: BudgetWindow): Served {
    const name = nameOf(budget)
    const known = this.all.get(name)
    if (known !== undefined) return known
    const served = new Served(new Slice(budget, this.lease.id()))
    this.all.set(name, served)
    return served
  }

  /** Asks for `need` more, after which it is known what there is. `then` runs before the next statement about the slice. */
  private readonly grow = (served: Served, limit: Picodollars, need: Picodollars, then = () => {}) =>
    Effect.suspend(() => {
      const { slice } = served
      const taken = this.shared.slices.take(slice.process, slice.budget, limit, need)
      return Effect.flatMap(Effect.onError(taken, uncertain(served)), (grant) => {
        // Another process may have cleared what this one had.
        if (grant === undefined || slice.process !== this.lease.id()) return Effect.fail(unavailable)
        slice.learn(grant)
        then()
        return Effect.void
      })
    }).pipe(served.turn.withPermits(1))

  /** Whether the request has its reservation: as large as there may be money for, or else as there is. */
  private readonly tryFor = (served: Served, first: Waiting, need: Picodollars) =>
    Effect.gen(this, function* () {
      yield* this.grow(served, first.limit, need)
      if (served.admit(first, "atBest") === "taken") return true
      const less = served.admit(first, "asKnown")
      if (typeof less === "bigint") yield* this.grow(served, first.limit, less)
      return less === "taken" || (typeof less === "bigint" && served.admit(first, "asKnown") === "taken")
    })

  private readonly askOthers = (served: Served, first: Waiting, need: Picodollars) =>
    Effect.gen(this, function* () {
      const { slice } = served
      yield* this.shared.leases.clear
      yield* this.shared.slices.want(slice.process, slice.budget)
      const until = this.nowMs() + othersMs
      return yield* Effect.repeat(Effect.delay(this.tryFor(served, first, need), askAgainMs), {
        until: (isServed) => isServed || this.nowMs() >= until,
      })
    })

  /** Serves the requests that wait, in their order. */
  private readonly serve = (served: Served): Effect.Effect<void, StorageUnavailable | Unavailable> =>
    Effect.gen(this, function* () {
      let hasAsked = false
      for (let [first] = served.waiting; first !== undefined; [first] = served.waiting) {
        const need = served.admit(first, "atBest")
        if (need === "taken") continue
        if (typeof need === "string") {
          served.refuse(first, need)
          continue
        }
        if (yield* this.tryFor(served, first, need)) continue
        if (served.slice.othersHave && !hasAsked) {
          hasAsked = true
          if (yield* this.askOthers(served, first, need)) continue
        }
        served.refuseAll(first)
      }
    })

  private readonly startServing = (served: Served): void => {
    if (served.isServing) return
    served.isServing = true
    const stopped = Effect.sync(() => {
      served.isServing = false
      // Those that were refused try their next host.
      if (served.waiting.length > 0) this.startServing(served)
    })
    this.run(
      this.serve(served).pipe(
        Effect.catchAll((failure) => {
          served.fail()
          return "reason" in failure ? this.report(failure) : Effect.void
        }),
        Effect.catchAllDefect((defect) => {
          served.fail()
          return logEvent("background_defect", { what: "a slice of a budget" }, defect)
        }),
        Effect.ensuring(stopped),
      ),
    )
  }

  /** Gives back what no request has reserved. When none runs, all that the database has as this slice. */
  private readonly giveBack = (served: Served) =>
    Effect.gen(this, function* () {
      const { slice } = served
      if (served.isUncertain && slice.reserved === 0n) {
        // Nothing can be taken meanwhile.
        slice.free = 0n
        slice.free = yield* this.shared.slices.kept(slice.process, slice.budget)
        served.isUncertain = false
      }
      const { free } = slice
      if (free === 0n) return
      slice.free = 0n
      yield* this.shared.slices.giveBack(slice.process, slice.budget, free)
    }).pipe(Effect.onError(uncertain(served)), Effect.ignore, served.turn.withPermits(1))

  private run(effect: Effect.Effect<unknown>): void {
    this.runner.run(this.surviving(effect), () => {})
  }
}

/** After a failure or a defect of a statement. */
const uncertain = (served: Served) => () =>
  Effect.sync(() => {
    served.isUncertain = true
  })

const nameOf = ({ key, window, start }: BudgetWindow): string => `${key} ${window} ${start}`
