/** `headgate reconcile`, `headgate uncharged` and `headgate audit verify`: read the database, also while a gateway uses it. */
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { formatUsd } from "../../domain/price/money.ts"
import {
  type Correction,
  reconcile as compareSums,
  correctedLedger,
  type RowDifference,
  repriceLedger,
  type SumDifference,
  type Uncharged,
  unchargedByKey,
} from "../../services/money/reconcile.ts"
import { verifyAudit } from "../../sql/repositories/auditLog.ts"
import { ledgerLength, makeLedgerReads } from "../../sql/repositories/ledgerRepository.ts"
import { makePriceRepository } from "../../sql/repositories/priceRepository.ts"
import { CommandFailed, exitCodes, wrongUse } from "../CommandFailed.ts"
import { jsonOption } from "../keyFlags.ts"
import { treeOf } from "../misspelt.ts"
import { type Column, write, writeJson, writeTable } from "../output.ts"
import { reading } from "./readBooks.ts"

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

type Corrected = Omit<Correction, "key"> & { readonly key: string }

const correctionColumns: ReadonlyArray<Column<Corrected>> = [
  { title: "KEY", value: ({ key }) => key },
  { title: "HOST", value: ({ model, host }) => `${model} ${host}`.trim() },
  { title: "ROWS", value: ({ rows }) => `${rows}`, align: "right" },
  { title: "CHARGED", value: ({ charged }) => formatUsd(charged), align: "right" },
  { title: "COMPUTED", value: ({ corrected }) => formatUsd(corrected), align: "right" },
  { title: "MORE", value: ({ charged, corrected }) => formatUsd(corrected - charged), align: "right" },
]

/** What the rows of the ledger would have cost at the prices of a configuration file. */
const corrected = (file: string, json: boolean): Effect.Effect<void, CommandFailed> =>
  Effect.gen(function* () {
    // Its plugins are loaded for this alone.
    const { pricesIn } = yield* Effect.promise(() => import("./pricesIn.ts"))
    const pricesOf = yield* pricesIn(file)
    const {
      changes,
      leftOut,
      hosts: _,
      ...all
    } = yield* reading((sql) => correctedLedger({ ledger: makeLedgerReads(sql) }, pricesOf))
    if (json) {
      const usd = ({ charged, corrected }: typeof all) => ({
        charged_usd: formatUsd(charged),
        computed_usd: formatUsd(corrected),
      })
      const shown = changes.map((change) => ({
        ...{ key: change.key, model: change.model, host: change.host, rows: change.rows },
        ...usd(change),
      }))
      return yield* writeJson({ rows: all.rows, left_out: leftOut, ...usd(all), changes: shown })
    }
    if (changes.length > 0)
      return yield* writeTable([...changes, { key: "total", model: "", host: "", ...all }], correctionColumns, {
        empty: "",
      })
    yield* write(`${all.rows} rows computed at these prices, no difference; ${leftOut} left out`)
  })

const repriceOption = Options.boolean("reprice").pipe(
  Options.withDescription("compute each row anew, from its usage and the prices in force then"),
)

const withConfigOption = Options.file("with-config").pipe(
  Options.withDescription(
    "with --reprice: show by key and host what the rows would have cost at the prices of this configuration file, and book nothing",
  ),
  Options.optional,
)

const flags = { json: jsonOption, reprice: repriceOption, withConfig: withConfigOption }

export const reconcile = Command.make("reconcile", flags, ({ json, reprice, withConfig }) =>
  Effect.gen(function* () {
    if (Option.isSome(withConfig)) {
      if (!reprice) return yield* wrongUse("--with-config goes with --reprice")
      // Else it would be the configuration that is in force.
      if (withConfig.value === "") return yield* wrongUse("--with-config: expected the path of a file, got nothing")
      return yield* corrected(withConfig.value, json)
    }
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
  Command.withDescription(
    "Adds up the ledger by key and UTC day, week and month, and compares it with the sums by which limits are checked. 1: they differ.",
  ),
)

const unchargedColumns: ReadonlyArray<Column<Uncharged>> = [
  { title: "KEY", value: ({ key }) => key },
  { title: "ROWS", value: ({ rows }) => `${rows}`, align: "right" },
  { title: "FREE", value: ({ free }) => formatUsd(free), align: "right" },
  { title: "ESTIMATED, AT MOST", value: ({ atMost }) => formatUsd(atMost), align: "right" },
]

export const uncharged = Command.make("uncharged", { json: jsonOption }, ({ json }) =>
  Effect.gen(function* () {
    const found = yield* reading((sql) => unchargedByKey({ ledger: makeLedgerReads(sql) }))
    const shown = found.map(({ key, rows, free, atMost }) => ({
      ...{ key, rows, free_usd: formatUsd(free), estimated_at_most_usd: formatUsd(atMost) },
    }))
    yield* json
      ? writeJson({ keys: shown })
      : writeTable(found, unchargedColumns, { empty: "everything that hosts ask for was charged" })
  }),
).pipe(
  Command.withDescription(
    "What callers did not pay of what hosts ask, by key: failures, and estimates that can be too low.",
  ),
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
