/**
 * Money: what a request may cost at most, what it did cost, and that it is written down before anybody is told. Holds
 * and spends are kept in memory for the keys in use, in integer picodollars; the ledger is `Storage`'s. G1, G3, G5, G7.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type Answer, type Charge, chargeFor } from "../domain/Charge.ts"
import type { ChatRequest } from "../domain/Chat.ts"
import { PaymentRequired, Unavailable } from "../domain/Failure.ts"
import { type HoldSize, holdSize, type Purse, type Refusal } from "../domain/Hold.ts"
import type { Host } from "../domain/Host.ts"
import type { KeyId } from "../domain/Ids.ts"
import { type KeyRecord, nextReset, type Spend, spentInWindow } from "../domain/Key.ts"
import type { Picodollars } from "../domain/Money.ts"
import type { Call } from "./Call.ts"
import type { Written } from "./GroupCommit.ts"
import { type KeyAccount, KeyAccounts } from "./KeyAccounts.ts"
import { makeLedgerWriter } from "./LedgerWriter.ts"
import { type LedgerRow, orUnavailable } from "./ledger.ts"
import { Storage } from "./Storage.ts"

/** Money reserved for one attempt. Ends in `settle` or `release`; the first wins. */
export interface Hold extends HoldSize {
  readonly call: Call
  readonly request: ChatRequest
  readonly host: Host
}

/** What is known of an answer when it has ended; the rest stands in its hold. */
export interface Settlement extends Omit<Answer, "asked"> {
  /** Milliseconds from admission to the first token. */
  readonly latencyMs: number
}

export class Meter extends Context.Tag("headgate/Meter")<
  Meter,
  {
    /** Reserves what this host could charge at most. Fails when it does not fit what the key has left. */
    readonly reserve: (
      call: Call,
      request: ChatRequest,
      host: Host,
    ) => Effect.Effect<Hold, PaymentRequired | Unavailable>
    /** Gives the money back: nothing was billable. */
    readonly release: (hold: Hold) => void
    /** Books the true cost in place of the hold. Succeeds once the row is durable. */
    readonly settle: (hold: Hold, settlement: Settlement) => Effect.Effect<Charge, Unavailable>
    /** Whether the ledger takes rows: where it does not, `reserve` fails. */
    readonly writable: () => boolean
    /** What a key has spent, and what its requests in flight hold. */
    readonly spent: (key: KeyId) => Effect.Effect<Spend & { readonly held: Picodollars }, Unavailable>
  }
>() {
  static readonly layer = Layer.scoped(
    Meter,
    Effect.gen(function* () {
      const storage = yield* Storage
      const clock = yield* Effect.clock
      const ledger = yield* makeLedgerWriter(storage)
      const now = () => clock.unsafeCurrentTimeMillis()
      const accounts = new KeyAccounts((key) => {
        const at = now()
        return Effect.map(orUnavailable("metering")(storage.ledger.spend(key, at)), (spend) => ({ spend, now: at }))
      })
      const open = new WeakMap<Hold, KeyAccount>()

      const reserveIn = (account: KeyAccount, call: Call, request: ChatRequest, host: Host) => {
        const at = now()
        const { limit, limitReset } = call.key
        const spend = limit === null ? 0n : spentInWindow(account.spendAt(at), limitReset)
        const purse = { limit, spend, held: account.held }
        const size = holdSize(purse, request, host)
        if (typeof size === "string") return Effect.fail(refusal(call.key, size, purse, at))
        const hold: Hold = { call, request, host, amount: size.amount, outputBound: size.outputBound }
        account.take(size.amount)
        open.set(hold, account)
        return Effect.succeed(hold)
      }

      const close = (hold: Hold): KeyAccount | undefined => {
        const account = open.get(hold)
        open.delete(hold)
        account?.giveBack(hold.amount)
        return account
      }

      return {
        reserve: (call, request, host) => {
          if (ledger.hasBacklog()) return Effect.fail(unwritable())
          const known = accounts.known(call.key.id)
          if (known !== undefined) return reserveIn(known, call, request, host)
          return Effect.flatMap(accounts.of(call.key.id), (account) => reserveIn(account, call, request, host))
        },
        release: (hold) => {
          close(hold)
        },
        settle: (hold, settlement) => {
          const charge = chargeFor(hold.host.pricing, { ...settlement, asked: hold.request.body }, hold.call.admittedAt)
          const account = open.get(hold)
          if (account === undefined) return Effect.succeed(charge)
          open.delete(hold)
          return Effect.async((resume) => {
            const row = ledgerRow(hold, settlement, charge, now())
            // A caller who waits for an answer that cannot be booked in time gets an error, and must not pay for it later.
            const isAwaited = settlement.outcome === "finished" && hold.call.ending === undefined
            const lateCost = isAwaited ? 0n : row.cost
            const onResult = (written: Written) =>
              resume(written === "durable" ? Effect.succeed(charge) : Effect.fail(unwritable()))
            // What waits for the database stays held: the key must not spend it again. What can never be booked is not.
            ledger.add({ _tag: "Settled", row, lateCost }, onResult, (booked) => {
              if (booked !== undefined) account.spend(booked.cost, booked.admittedAt)
              account.giveBack(hold.amount)
            })
          })
        },
        writable: () => !ledger.hasBacklog(),
        spent: (key) => Effect.map(accounts.of(key), (account) => ({ ...account.spendAt(now()), held: account.held })),
      }
    }),
  )
}

const unwritable = () => new Unavailable({ why: "metering", retryAfterSeconds: 5 })

const ledgerRow = (
  { call, request, host }: Hold,
  settlement: Settlement,
  charge: Charge,
  settledAt: number,
): LedgerRow => ({
  requestId: call.requestId,
  generationId: call.generationId,
  key: call.key.id,
  model: host.model,
  host: host.tag,
  provider: host.provider,
  cost: charge.cost.total,
  upstreamCost: charge.upstream.total,
  promptTokens: charge.usage.promptTokens,
  completionTokens: charge.usage.completionTokens,
  cachedTokens: charge.usage.cachedTokens,
  cacheWriteTokens: charge.usage.cacheWriteTokens,
  reasoningTokens: charge.usage.reasoningTokens,
  estimated: charge.estimated,
  streamed: request.stream,
  finishReason: settlement.finishReason,
  outcome: settlement.outcome,
  admittedAt: call.admittedAt,
  settledAt,
  latencyMs: Math.round(settlement.latencyMs),
  durationMs: Math.round(call.elapsedMs()),
  appTitle: call.attribution.appTitle,
  appUrl: call.attribution.appUrl,
})

const refusal = (key: KeyRecord, reason: Refusal, { limit, spend, held }: Purse, now: number): PaymentRequired =>
  new PaymentRequired({
    reason,
    limitSource: key.limitReset ?? "total",
    limit: limit ?? 0n,
    spend,
    held,
    resetsAt: nextReset(key.limitReset, now),
    ...(reason === "in_flight_budget_exhausted" ? { retryAfterSeconds: 1 } : {}),
  })
