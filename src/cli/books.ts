/** `headgate reconcile` and `headgate audit verify`: read the database file, also while a gateway uses it. */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import type { SqlClient } from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import { loadConfig } from "../config/loadConfig.ts"
import { formatUsd } from "../domain/Money.ts"
import type { StorageUnavailable } from "../services/ledger.ts"
import {
  reconcile as compareSums,
  type RowDifference,
  repriceLedger,
  type SumDifference,
} from "../services/reconcile.ts"
import { verifyAudit } from "../sql/auditLog.ts"
import { ledgerLength, makeLedgerReads } from "../sql/LedgerRepository.ts"
import { makePriceRepository } from "../sql/PriceRepository.ts"
import { openToRead } from "../sql/sqliteFile.ts"
import { CommandFailed, exitCodes } from "./CommandFailed.ts"
import { jsonOption } from "./keys.ts"
import { treeOf } from "./misspelt.ts"
import { type Column, plain, write, writeJson, writeTable } from "./output.ts"

/** The database file of the configuration of this directory. */
const databasePath: Effect.Effect<string, CommandFailed> = Effect.gen(function* () {
  const { config, problems } = yield* loadConfig
  const [problem] = problems.filter(({ path }) => path === "HEADGATE_STORAGE" || path.startsWith("storage"))
  if (problem !== undefined) return yield* Effect.fail({ message: `${problem.path}: ${problem.message}` })
  if (config.storage._tag === "Sqlite") return config.storage.path
  return yield* Effect.fail({ message: "storage: this command reads a SQLite file, and the configuration names none" })
}).pipe(Effect.mapError(({ message }) => new CommandFailed({ code: exitCodes.badConfig, message: plain(message) })))

/** Reads the database as it is at one moment. */
const reading = <A>(read: (sql: SqlClient) => Effect.Effect<A, StorageUnavailable>): Effect.Effect<A, CommandFailed> =>
  Effect.gen(function* () {
    const path = yield* databasePath
    const sql = yield* Effect.mapError(openToRead(path), ({ reason, message }) => {
      const code = reason === "unreadable" ? exitCodes.noFile : exitCodes.badFile
      return new CommandFailed({ code, message: plain(message) })
    })
    return yield* Effect.mapError(
      read(sql),
      ({ message }) => new CommandFailed({ code: exitCodes.badFile, message: `${path}: ${plain(message)}` }),
    )
  }).pipe(Effect.scoped)

const windowOf = ({ window, start }: SumDifference): string =>
  window === "total" ? "total" : `${window} ${new Date(start).toISOString().slice(0, 10)}`

const differenceColumns: ReadonlyArray<Column<SumDifference>> = [
  { title: "KEY", value: ({ key }) => key },
  { title: "WINDOW", value: windowOf },
  { title: "LEDGER", value: ({ rows }) => formatUsd(rows), align: "right" },
  { title: "KEPT", value: ({ kept }) => formatUsd(kept), align: "right" },
  { title: "TOO MUCH", value: ({ rows, kept }) => formatUsd(kept - rows), align: "right" },
]

const rowColumns: ReadonlyArray<Column<RowDifference>> = [
  { title: "REQUEST", value: ({ requestId }) => requestId },
  { title: "KEY", value: ({ key }) => key },
  { title: "HOST", value: ({ model, host }) => `${model} ${host}` },
  { title: "CHARGED", value: ({ cost }) => formatUsd(cost), align: "right" },
  {
    title: "COMPUTED",
    value: ({ computed }) => (computed === undefined ? "?" : formatUsd(computed.cost)),
    align: "right",
  },
]

/** Computes each row of the ledger anew, by the prices that were in force. */
const repriced = (json: boolean): Effect.Effect<void, CommandFailed> =>
  Effect.gen(function* () {
    const { rows, tooOld, differences } = yield* reading((sql) =>
      repriceLedger({ ledger: makeLedgerReads(sql), prices: makePriceRepository(sql) }),
    )
    if (json) {
      const shown = differences.map(({ requestId, key, model, host, cost, computed }) => ({
        ...{ request_id: requestId, key, model, host, cost_usd: formatUsd(cost) },
        computed_usd: computed === undefined ? null : formatUsd(computed.cost),
      }))
      yield* writeJson({ rows, too_old: tooOld, differences: shown })
    } else if (differences.length === 0) {
      const older = tooOld === 0 ? "" : `; ${tooOld} are older than the kept prices`
      yield* write(`${rows} rows computed anew, no difference${older}`)
    } else yield* writeTable(differences, rowColumns, { empty: "" })
    if (differences.length === 0) return
    const message = `${differences.length} of ${rows} rows do not cost what their usage and prices come to`
    return yield* new CommandFailed({ code: exitCodes.failed, message })
  })

const repriceOption = Options.boolean("reprice").pipe(
  Options.withDescription("Compute each row anew, from its usage and the prices in force then."),
)

export const reconcile = Command.make("reconcile", { json: jsonOption, reprice: repriceOption }, ({ json, reprice }) =>
  Effect.gen(function* () {
    if (reprice) return yield* repriced(json)
    const [rows, { differences }] = yield* reading((sql) =>
      Effect.all([ledgerLength(sql), compareSums({ ledger: makeLedgerReads(sql) })]),
    )
    if (json) {
      const shown = differences.map((difference) => ({
        key: difference.key,
        window: windowOf(difference),
        ledger_usd: formatUsd(difference.rows),
        kept_usd: formatUsd(difference.kept),
      }))
      yield* writeJson({ rows, differences: shown })
    } else if (differences.length === 0) yield* write(`${rows} rows of the ledger, no difference`)
    else yield* writeTable(differences, differenceColumns, { empty: "" })
    if (differences.length === 0) return
    const message = `${differences.length} sums are not what the ${rows} rows of the ledger come to`
    return yield* new CommandFailed({ code: exitCodes.failed, message })
  }),
).pipe(
  Command.withDescription("Adds up the ledger and compares it with what keys are said to have spent. 1: they differ."),
)

const verify = Command.make("verify", { json: jsonOption }, ({ json }) =>
  Effect.gen(function* () {
    const found = yield* reading(verifyAudit)
    if ("why" in found) {
      if (json) yield* writeJson({ ok: false, broken: found })
      return yield* new CommandFailed({ code: exitCodes.failed, message: `audit row ${found.seq} ${found.why}` })
    }
    yield* json
      ? writeJson({ ok: true, rows: found.seq, head: found.hash })
      : write(`${found.seq} rows of the audit log, unbroken; the last one's hash is ${found.hash}`)
  }),
).pipe(Command.withDescription("Recomputes the chain of the audit log. 1: a row was changed, removed or moved."))

const group = Command.make("audit").pipe(
  Command.withDescription("The log of changes of keys."),
  Command.withSubcommands([verify]),
)

export const audit = { command: group, tree: treeOf(group, [treeOf(verify)]) }
