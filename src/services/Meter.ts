/**
 * Metering: reserves what a request can cost at most, computes what it did cost, and makes that durable before it is
 * reported. Holds and spend of the keys in use are kept in memory, in integer picodollars; `Storage` keeps the ledger.
 * See docs/guarantees.md#g1, #g3 and #g5.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { type Charge, chargeFor } from "../domain/Charge.ts"
import { type PaymentRequired, Unavailable } from "../domain/Failure.ts"
import {
  type BudgetSnapshot,
  type HoldRequest,
  type HoldSize,
  holdSize,
  nextBlock,
  type OutputAllowance,
  paymentRequired,
} from "../domain/Hold.ts"
import type { Host } from "../domain/Host.ts"
import type { KeyId } from "../domain/Ids.ts"
import { type KeyRecord, nextReset, type Spend } from "../domain/Key.ts"
import type { Picodollars } from "../domain/Money.ts"
import { Roster } from "../domain/Roster.ts"
import type { Slice } from "../domain/Slice.ts"
import type { Written } from "./GroupCommit.ts"
import { crashedRow, type Hold, heldIn, ledgerRow, type Settlement } from "./heldMoney.ts"
import { makeJournal } from "./Journal.ts"
import { type KeyAccount, KeyAccounts } from "./KeyAccounts.ts"
import { makeLedgerWriter } from "./LedgerWriter.ts"
import { orUnavailable } from "./ledger.ts"
import { PriceVersions } from "./PriceVersions.ts"
import { makeProcessLease } from "./ProcessLease.ts"
import type { UsedKey } from "./ProviderKeys.ts"
import { ProviderRegistry } from "./ProviderRegistry.ts"
import type { RequestContext } from "./RequestContext.ts"
import { makeSlices, type Slices } from "./Slices.ts"
import { wait } from "./Steps.ts"
import { Storage } from "./Storage.ts"

/** Who pays for a request. One kind in this version: the caller's key. */
export interface Account {
  readonly _tag: "Key"
  readonly key: KeyRecord
}

type OpenHold = { -readonly [M in keyof Hold]: Hold[M] }

export interface HoldAsk extends HoldRequest {
  readonly streamed: boolean
  readonly providerKey?: UsedKey | undefined
}

export class Meter extends Context.Tag("headgate/Meter")<
  Meter,
  {
    /** What the account can still pay. */
    readonly budget: (account: Account) => Effect.Effect<BudgetSnapshot, Unavailable>
    /** Reserves the most that this host could charge. Fails when the account has less left. */
    readonly reserve: (
      account: Account,
      context: RequestContext,
      ask: HoldAsk,
      host: Host,
    ) => Effect.Effect<Hold, PaymentRequired | Unavailable>
    /** Ends the hold without a charge. */
    readonly release: (hold: Hold) => void
    /** Books the true cost in place of the hold. Succeeds once the row is durable. */
    readonly settle: (hold: Hold, settlement: Settlement) => Effect.Effect<Charge, Unavailable>
    /** Whether the ledger accepts rows. If not, `reserve` fails. */
    readonly writable: () => boolean
    /** What a key has spent, and what its requests in flight hold. */
    readonly spent: (key: KeyId) => Effect.Effect<Spend & { readonly held: Picodollars }, Unavailable>
  }
>() {
  static readonly layer = Layer.scoped(
    Meter,
    Effect.gen(function* () {
      const registry = yield* ProviderRegistry
      const storage = yield* Storage
      const clock = yield* Effect.clock
      const now = () => clock.unsafeCurrentTimeMillis()
      const accounts = new KeyAccounts((key) => {
        const at = now()
        return Effect.map(orUnavailable("metering")(storage.ledger.spend(key, at)), (spend) => ({ spend, now: at }))
      })
      const open = new Roster<Hold>()
      const prices = new PriceVersions(storage.prices)
      const ledgerOf = { ...storage.ledger, append: prices.before(storage.ledger.append) }
      const journalOf = { ...storage.journal, write: prices.before(storage.journal.write) }
      const { shared } = storage
      const lease = shared && (yield* makeProcessLease(shared.leases, () => slices?.lost()))
      const slices: Slices | undefined = shared && lease && (yield* makeSlices(shared, lease))
      const journal = yield* makeJournal<Hold>(
        { ledger: ledgerOf, journal: journalOf },
        {
          open: () => open,
          crashed: (hold) => crashedRow(hold, prices.idOf(hold.host.pricing), now()),
          onBooked: ({ key, cost, admittedAt }) => accounts.booked(key, cost, admittedAt),
          lease,
        },
      )
      // After the journal, so that it is closed first, and the journal knows what was booked.
      const ledger = yield* makeLedgerWriter({ ledger: ledgerOf })

      const snapshot = ({ limit, limitReset }: KeyRecord, account: KeyAccount): BudgetSnapshot => {
        const { held } = account
        if (limitReset === null) return { limit, spend: account.total, held, source: "total", resetsAt: null }
        const at = now()
        const spend = account.spendAt(at)[limitReset]
        return { limit, spend, held, source: limitReset, resetsAt: nextReset(limitReset, at) }
      }

      const writable = () => !ledger.hasBacklog() && ledger.takesRequests() && lease?.isHeld() !== false

      const addTo = (hold: OpenHold, money: KeyAccount, budget: BudgetSnapshot): number => {
        const { tokens, amount } = nextBlock(budget, hold.host, hold.outputTokens)
        hold.amount += amount
        money.addToHold(amount)
        hold.slice?.take(amount)
        return tokens
      }

      const allowance = (account: Account, money: KeyAccount, hold: OpenHold): OutputAllowance => ({
        outputTokens: hold.outputTokens,
        extend: () => (open.has(hold) ? addTo(hold, money, snapshot(account.key, money)) : 0),
      })

      /**
       * The same of a slice. A stream cannot wait for the database, so one that `grows` holds its next block ahead of
       * need. One with a bound needs more only where its host ignores that.
       */
      const allowanceOf = (
        slice: Slice,
        limit: Picodollars,
        money: KeyAccount,
        hold: OpenHold,
        grows: boolean,
      ): OutputAllowance => {
        let ahead = 0
        const takeBlock = () => (open.has(hold) ? addTo(hold, money, inSlice(slice)) : 0)
        const fill = () => {
          if (!grows) return
          const { amount } = nextBlock({ ...noLimit, limit }, hold.host, hold.outputTokens)
          slices?.fill(slice, limit, amount, () => {
            ahead += takeBlock()
          })
        }
        fill()
        return {
          outputTokens: hold.outputTokens,
          extend: () => {
            if (lease?.isHeld() === false) return 0
            const tokens = ahead > 0 ? ahead : takeBlock()
            ahead = 0
            if (tokens > 0) fill()
            return tokens
          },
        }
      }

      const opened = (
        account: Account,
        money: KeyAccount,
        context: RequestContext,
        { streamed, bounds, grows = false, maxTokens, providerKey }: HoldAsk,
        host: Host,
        { amount, outputBound, outputTokens }: HoldSize,
        slice: Slice | undefined,
      ): Hold => {
        const hold: OpenHold = {
          context,
          account: money,
          host,
          errorFinish: registry.current().billing.errorFinish,
          amount,
          outputBound,
          outputTokens,
          streamed,
          bounds,
          slice,
          providerKey,
          output: undefined,
          progress: "held",
          rosterIndex: -1,
        }
        money.take(amount)
        open.add(hold)
        if (streamed && outputTokens < Number.POSITIVE_INFINITY) {
          const { limit } = account.key
          hold.output =
            slice === undefined || limit === null
              ? allowance(account, money, hold)
              : allowanceOf(slice, limit, money, hold, grows && maxTokens === undefined)
        }
        return hold
      }

      const reserveFrom = (
        money: KeyAccount,
        account: Account,
        context: RequestContext,
        ask: HoldAsk,
        host: Host,
      ): Effect.Effect<Hold, PaymentRequired | Unavailable> => {
        const { key } = account
        if (slices !== undefined && key.limit !== null) {
          return reserveFromSlice(slices, key.limit, money, account, context, ask, host)
        }
        const budget = key.limit === null ? noLimit : snapshot(key, money)
        const size = holdSize(budget, ask, host)
        if (typeof size === "string") return Exit.fail(paymentRequired(budget, size))
        return Exit.succeed(opened(account, money, context, ask, host, size, undefined))
      }

      const reserveFromSlice = (
        slices: Slices,
        limit: Picodollars,
        money: KeyAccount,
        account: Account,
        context: RequestContext,
        ask: HoldAsk,
        host: Host,
      ): Effect.Effect<Hold, PaymentRequired | Unavailable> =>
        slices.take(
          account.key,
          limit,
          context.admittedAt,
          (budget) => holdSize(budget, ask, host),
          (size, slice) => opened(account, money, context, ask, host, size, slice),
        )

      // For an account that is not in memory. Functions of their own, like `reserveFromSlice`: with these closures in `budget`
      // and `reserve`, every call of those would keep its variables in an object for them.
      const readBudget = (key: KeyRecord) => Effect.map(accounts.of(key.id), (money) => snapshot(key, money))
      const readAndReserve = (account: Account, context: RequestContext, ask: HoldAsk, host: Host) =>
        Effect.flatMap(accounts.of(account.key.id), (money) => reserveFrom(money, account, context, ask, host))

      const close = (hold: Hold): KeyAccount | undefined => {
        if (!open.has(hold)) return undefined
        open.delete(hold)
        return hold.account
      }

      const giveBack = ({ amount, slice }: Hold, money: KeyAccount, cost: Picodollars, since?: number): void => {
        money.giveBack(amount)
        slice?.settled(amount, cost, since)
      }

      return {
        budget: ({ key }) => {
          if (key.limit === null) return unlimited
          if (slices !== undefined) return Effect.succeed(slices.atBest(key, key.limit, now()))
          const known = accounts.known(key.id)
          return known !== undefined ? Exit.succeed(snapshot(key, known)) : readBudget(key)
        },
        reserve: (account, context, ask, host) => {
          if (!writable()) return Exit.fail(unwritable())
          const known = accounts.known(account.key.id)
          return known !== undefined
            ? reserveFrom(known, account, context, ask, host)
            : readAndReserve(account, context, ask, host)
        },
        release: (hold) => {
          const money = close(hold)
          if (money !== undefined) giveBack(hold, money, 0n)
          journal.closed(hold)
        },
        settle: (hold, settlement) => {
          const { context, bounds, host, errorFinish } = hold
          const charge = chargeFor(host.pricing, settlement, bounds, context.admittedAt, errorFinish)
          const money = close(hold)
          if (money === undefined) return Effect.succeed(charge)
          return wait((resume) => {
            const since = hold.slice?.settles(hold.amount)
            const settled = ledgerRow(hold, settlement, charge, prices.idOf(host.pricing), now())
            const row = hold.slice === undefined ? settled : { ...settled, heldIn: heldIn(hold, hold.slice) }
            // A caller who gets an error in place of the answer must not pay for it later.
            const lateCost = settlement.isAwaited ? 0n : row.cost
            const onResult = (written: Written) => {
              const isBooked = written === "durable" || !settlement.isAwaited
              if (isBooked && settlement.outcome !== "lost") context.booked = row
              resume(written === "durable" ? Exit.succeed(charge) : Exit.fail(unwritable()))
            }
            // A row in the backlog stays held, so that the key cannot spend the money again. A refused row is not held.
            ledger.add({ row, lateCost }, onResult, (booked) => {
              if (booked !== undefined) {
                money.spend(booked.cost, booked.admittedAt)
                hold.providerKey?.booked(booked.upstreamCost, booked.admittedAt)
              }
              giveBack(hold, money, booked?.cost ?? 0n, since)
              journal.closed(hold)
            })
          })
        },
        writable,
        spent: (key) => {
          if (shared === undefined)
            return Effect.map(accounts.of(key), (account) => ({ ...account.spendAt(now()), held: account.held }))
          // Other processes spend too. While the database is away, what this one knows.
          const known = accounts.known(key)
          return storage.ledger.spend(key, now()).pipe(
            Effect.catchAll((failure) =>
              known === undefined ? Effect.fail(failure) : Effect.succeed(known.spendAt(now())),
            ),
            orUnavailable("metering"),
            Effect.map((spend) => ({ ...spend, held: known?.held ?? 0n })),
          )
        },
      }
    }),
  )
}

const noLimit: BudgetSnapshot = { limit: null, spend: 0n, held: 0n, source: "total", resetsAt: null }
const unlimited = Effect.succeed(noLimit)

const unwritable = () => new Unavailable({ why: "metering", retryAfterSeconds: 5 })

/** What is certain: the money of the slice that no request holds. */
const inSlice = ({ free }: Slice): BudgetSnapshot => ({ ...noLimit, limit: free })
