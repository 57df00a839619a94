/** What a database of the gateway has, and a copy of an earlier time has not. */
import { Database } from "bun:sqlite"
import type { Picodollars } from "../../domain/price/money.ts"
import { sqliteCode } from "../failure.ts"
import { untrusted } from "./sqliteFile.ts"

/** A key, as a message names it. */
export interface NamedKey {
  readonly hash: string
  readonly name: string
}

export interface Difference {
  /** Rows of the ledger that the copy does not have, and what their keys paid. */
  readonly rows: number
  readonly cost: Picodollars
  /** Requests that were in flight when the gateway was killed, whose delivered part is not booked yet. */
  readonly inFlight: number
  readonly keysMade: ReadonlyArray<NamedKey>
  /** Keys that were deleted or disabled since: the copy accepts them. */
  readonly keysRevoked: ReadonlyArray<NamedKey>
  /** Others that were changed since. */
  readonly keysChanged: ReadonlyArray<NamedKey>
}

export const noDifference: Difference = {
  rows: 0,
  cost: 0n,
  inFlight: 0,
  keysMade: [],
  keysRevoked: [],
  keysChanged: [],
}

export const isLoss = ({ rows, inFlight, keysMade, keysRevoked, keysChanged }: Difference): boolean =>
  rows + inFlight + keysMade.length + keysRevoked.length + keysChanged.length > 0

/** `undefined`: the database cannot be read, or not compared. */
export const differenceTo = (database: string, copy: string): Difference | undefined => {
  try {
    const db = untrusted(new Database(database, { readonly: true, safeIntegers: true }))
    try {
      db.query("ATTACH ? AS copy").run(copy)
      return differenceIn(db)
    } finally {
      db.close()
    }
  } catch (error) {
    if (sqliteCode(error) === undefined) throw error
    return undefined
  }
}

interface Booked {
  readonly rows: bigint
  readonly cost: bigint
}

const differenceIn = (db: Database): Difference => {
  const keys = (condition: string): ReadonlyArray<NamedKey> =>
    db.query<NamedKey, []>(`SELECT id AS hash, name FROM ${condition} ORDER BY created_at`).all()
  const booked = db
    .query<Booked, []>(
      `SELECT COUNT(*) AS rows, COALESCE(SUM(cost), 0) AS cost FROM main.ledger AS present
        WHERE NOT EXISTS (SELECT 1 FROM copy.ledger WHERE request_id = present.request_id)`,
    )
    .get()
  const open = db
    .query<{ readonly entries: bigint }, []>(
      `SELECT COUNT(*) AS entries FROM main.open_requests
        WHERE id NOT IN (SELECT request_id FROM main.ledger) AND id NOT IN (SELECT id FROM copy.open_requests)`,
    )
    .get()
  return {
    rows: Number(booked?.rows ?? 0),
    cost: booked?.cost ?? 0n,
    inFlight: Number(open?.entries ?? 0),
    keysMade: keys("main.keys AS k WHERE id NOT IN (SELECT id FROM copy.keys)"),
    keysRevoked: keys(
      `copy.keys AS k WHERE NOT disabled AND NOT EXISTS (SELECT 1 FROM main.keys WHERE id = k.id AND NOT disabled)`,
    ),
    keysChanged: keys(
      `main.keys AS k WHERE EXISTS
        (SELECT 1 FROM copy.keys AS c WHERE c.id = k.id AND c.updated_at IS NOT k.updated_at AND c.disabled >= k.disabled)`,
    ),
  }
}
