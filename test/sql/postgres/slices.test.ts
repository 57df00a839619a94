/** Slices of budgets in PostgreSQL: nothing is lost and nothing is spent twice, whatever happens. docs/guarantees.md#g1 */
import { afterAll, expect, test } from "bun:test"
import * as BigInteger from "effect/BigInt"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Scope from "effect/Scope"
import { type BudgetWindow, Slice } from "../../../src/domain/money/Slice.ts"
import { openDatabase } from "../../../src/sql/postgres/postgresDatabase.ts"
import { connect, describePostgres, makeDatabase, redactedUrlOf } from "../../support/storage/postgres.ts"
import { alice, bob, sampleRow } from "../samples.ts"

const closing: Array<() => unknown> = []
afterAll(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const run = Effect.runPromise

const opened = async () => {
  const database = await makeDatabase()
  const scope = Effect.runSync(Scope.make())
  closing.push(() => run(Scope.close(scope, Exit.void)))
  const storage = await run(Scope.extend(openDatabase({ url: redactedUrlOf(database), durability: "process" }), scope))
  if (storage.shared === undefined) throw new Error("the database is not shared")
  const client = await connect(database)
  closing.push(() => client.end())
  /** Of all keys: rows and their sums, what is leased, and by whom. */
  const books = async (key: string) => {
    const { rows } = await client.query<Record<"ledger" | "spend" | "leased", string>>(
      `SELECT (SELECT COALESCE(SUM(cost), 0) FROM headgate.ledger WHERE key_id = $1)::text AS ledger,
        (SELECT COALESCE(SUM(amount), 0) FROM headgate.spend WHERE key_id = $1 AND window_kind = 'total')::text AS spend,
        (SELECT COALESCE(SUM(amount), 0) FROM headgate.slices WHERE key_id = $1)::text AS leased`,
      [key],
    )
    return {
      ledger: BigInt(rows[0]?.ledger ?? 0),
      spend: BigInt(rows[0]?.spend ?? 0),
      leased: BigInt(rows[0]?.leased ?? 0),
    }
  }
  return { database, storage, shared: storage.shared, books, client }
}

const total = (key = alice): BudgetWindow => ({ key, window: "total", start: 0 })

const command = FastCheck.record({
  process: FastCheck.nat({ max: 2 }),
  act: FastCheck.constantFrom(
    ...(["ask", "ask", "take", "take", "take", "settle", "settle", "late", "give back", "kill", "lower"] as const),
  ),
  amount: FastCheck.bigInt({ min: 1n, max: 200n }),
})

describePostgres("slices of a budget", () => {
  test("any history of three processes: the sums are those of the rows, and never more than the limit with what is leased", async () => {
    const { storage, shared, books } = await opened()
    let histories = 0
    const property = FastCheck.asyncProperty(
      FastCheck.array(command, { minLength: 10, maxLength: 60, size: "max" }),
      async (commands) => {
        const key = `${histories++}`.padStart(64, "0") as typeof alice
        let limit = 1000n
        let rows = 0
        let spent = 0n
        let charged = 0n
        let before = 0n
        const start = async (name: string) => {
          const process = `${key} ${name} ${crypto.randomUUID()}`
          await run(shared.leases.take(process, 60_000))
          return { slice: new Slice(total(key), process), reservations: [] as Array<bigint> }
        }
        const all = [await start("a"), await start("b"), await start("c")]
        for (const { process: at, act, amount } of commands) {
          const one = all[at]
          if (one === undefined) continue
          const { slice, reservations } = one
          if (act === "ask") {
            const grant = await run(shared.slices.take(slice.process, slice.budget, limit, amount))
            if (grant === undefined) throw new Error("it has a lease")
            slice.learn(grant)
            expect(slice.asKnown(limit, 0).spend).toBe(grant.spent)
          } else if (act === "take") {
            if (slice.take(amount)) reservations.push(amount)
          } else if (act === "settle" || act === "late") {
            const reservation = reservations.pop()
            if (reservation === undefined) continue
            // One that could not be booked in time is free.
            const cost = act === "late" ? 0n : BigInteger.min(amount, reservation)
            const reservedIn = { process: slice.process, window: "total", amount: reservation } as const
            const providerKey = rows % 2 === 0 ? "" : `several/${key}`
            charged += providerKey === "" ? 0n : 2n
            const row = { ...sampleRow(`${key}-${rows++}`, { key, cost, providerKey }), reservedIn }
            await run(storage.ledger.append([row]))
            // A second try of the same batch changes nothing.
            await run(storage.ledger.append([row]))
            slice.settled(reservation, cost)
          } else if (act === "give back") {
            const free = slice.free
            slice.free = 0n
            await run(shared.slices.giveBack(slice.process, slice.budget, free))
          } else if (act === "lower") {
            limit = limit - amount < 0n ? 0n : limit - amount
          } else {
            await run(shared.leases.end(slice.process))
            all[at] = await start("again")
          }
          const { ledger, spend, leased } = await books(key)
          expect(spend).toBe(ledger)
          expect(spend).toBeGreaterThanOrEqual(spent)
          // A lower limit takes back nothing that is leased, and gives nothing more.
          expect(spend + leased).toBeLessThanOrEqual(BigInteger.max(limit, before))
          expect(leased).toBe(all.reduce((sum, { slice: { free, reserved } }) => sum + free + reserved, 0n))
          expect((await run(storage.ledger.providerSpend(`several/${key}`, 0))).total).toBe(charged)
          spent = spend
          before = spend + leased
        }
      },
    )
    await FastCheck.assert(property, { numRuns: 15 })
  }, 1_800_000)

  // A host that counts more than was reserved: the rest of the cost was never in the slice.
  test("a cost above its reservation takes no more than the reservation out of the slice", async () => {
    const { storage, shared, books } = await opened()
    await run(shared.leases.take("a", 60_000))
    await run(shared.slices.take("a", total(), 1_000_000n, 100n))
    const { leased: before } = await books(alice)
    const reservedIn = { process: "a", window: "total", amount: 10n } as const
    await run(storage.ledger.append([{ ...sampleRow("above", { cost: 50n }), reservedIn }]))
    const { leased, spend } = await books(alice)
    expect({ left: before - leased, spend }).toEqual({ left: 10n, spend: 50n })
  })

  test("asks, batches and returns of several processes at once wait for each other in no circle", async () => {
    const { storage, shared, books } = await opened()
    const processes = ["a", "b", "c"]
    for (const process of processes) await run(shared.leases.take(process, 60_000))
    const keys = [alice, bob]
    const limit = 1_000_000n
    for (const process of processes)
      for (const key of keys) await run(shared.slices.take(process, total(key), limit, 1000n))
    const reservedIn = (process: string) => ({ process, window: "total", amount: 10n }) as const
    const batch = (at: number, process: string) => {
      const rows = keys.map((key) => ({
        ...sampleRow(`${process}-${at}-${key}`, {
          key,
          cost: 7n,
          providerKey: at % 3 === 0 ? "" : `several/${at % 3}`,
        }),
        reservedIn: reservedIn(process),
      }))
      return storage.ledger.append(at % 2 === 0 ? rows : rows.toReversed())
    }
    const all = Array.from({ length: 20 }, (_, at) =>
      processes.flatMap((process) => [
        batch(at, process),
        ...keys.map((key) => shared.slices.take(process, total(key), limit, 5n)),
        shared.slices.giveBack(process, total(keys[at % 2]), 1n),
        shared.leases.clear,
      ]),
    ).flat()
    await run(Effect.all(all, { concurrency: "unbounded" }))
    for (const key of keys) {
      const { ledger, spend, leased } = await books(key)
      expect([ledger, spend]).toEqual([420n, 420n])
      expect(spend + leased).toBeLessThanOrEqual(limit)
    }
  }, 1_800_000)

  test("a process without a lease gets none, and loses what it had", async () => {
    const { shared, books, client } = await opened()
    expect(await run(shared.slices.take("nobody", total(), 100n, 1n))).toBeUndefined()
    await run(shared.leases.take("a", 60_000))
    await run(shared.leases.take("b", 60_000))
    expect(await run(shared.slices.take("a", total(), 100n, 60n))).toEqual({ granted: 60n, spent: 0n, others: 0n })
    expect(await run(shared.slices.take("b", total(), 100n, 60n))).toEqual({ granted: 0n, spent: 0n, others: 60n })
    await client.query("UPDATE headgate.leases SET ends_at = 0 WHERE process = 'a'")
    expect(await run(shared.slices.take("a", total(), 100n, 1n))).toBeUndefined()
    await run(shared.leases.clear)
    expect((await books(alice)).leased).toBe(0n)
    expect(await run(shared.slices.take("b", total(), 100n, 60n))).toEqual({ granted: 60n, spent: 0n, others: 0n })
  })
})
