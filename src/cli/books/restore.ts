/** `headgate restore`: puts a backup in the place of the database, while no gateway uses it. docs/backup.md */
import { resolve } from "node:path"
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import { formatUsd } from "../../domain/price/money.ts"
import { withProgressBeside } from "../../process/withProgress.ts"
import type { Difference, NamedKey } from "../../sql/sqlite/databaseDifference.ts"
import { type Restored, restoreDatabase } from "../../sql/sqlite/restore.ts"
import { CommandFailed, exitCodes } from "../CommandFailed.ts"
import { jsonOption } from "../keyFlags.ts"
import { writeJson, writeRecord } from "../output.ts"
import { factsJson, factsRecord } from "./databaseRecord.ts"
import { configuredStorage, storageFailed } from "./readBooks.ts"

const databasePath = Effect.flatMap(configuredStorage, (storage) => {
  if (storage._tag === "Sqlite") return Effect.succeed(storage.path)
  const message =
    storage._tag === "Memory"
      ? "storage: memory: ends with the gateway, so nothing can be restored into it"
      : "storage: PostgreSQL has its own tools: restore what pg_dump wrote with pg_restore or psql"
  return Effect.fail(new CommandFailed({ code: exitCodes.badConfig, message }))
})

const counted = (count: number, one: string, more = `${one}s`): string => `${count} ${count === 1 ? one : more}`

const keyNames = (keys: ReadonlyArray<NamedKey>): string =>
  keys.map(({ hash, name }) => `${hash.slice(0, 12)} ${name}`).join(", ")

/** What was lost, or would be, a line for each kind. */
const losses = ({
  lost,
  newestRow,
}: Pick<Restored, "lost" | "newestRow">): ReadonlyArray<readonly [string, string]> => {
  const since = newestRow === null ? "" : ` after ${new Date(newestRow).toISOString()}`
  if (lost === undefined)
    return [["lost", `what was booked${since}: the previous database cannot be read, so this is not known`]]
  const { rows, cost, inFlight, keysMade, keysRevoked, keysChanged } = lost
  const requests: ReadonlyArray<readonly [string, string]> =
    rows === 0 ? [] : [["lost", `${counted(rows, "request")} that cost ${formatUsd(cost)} USD`]]
  const open: ReadonlyArray<readonly [string, string]> =
    inFlight === 0
      ? []
      : [["lost in flight", `${counted(inFlight, "request")} that a killed gateway had not booked yet`]]
  const keys = [
    ["lost keys", keysMade],
    ["accepted again", keysRevoked],
    ["as they were", keysChanged],
  ] as const
  return [
    ...requests,
    ...open,
    ...keys.flatMap(([name, listed]) => (listed.length === 0 ? [] : [[name, keyNames(listed)] as const])),
  ]
}

const differenceJson = (lost: Difference | undefined) =>
  lost === undefined
    ? null
    : {
        rows: lost.rows,
        cost_usd: formatUsd(lost.cost),
        in_flight: lost.inFlight,
        keys_made: lost.keysMade,
        keys_revoked: lost.keysRevoked,
        keys_changed: lost.keysChanged,
      }

export const restore = Command.make(
  "restore",
  {
    file: Args.text({ name: "file" }).pipe(Args.withDescription("a file that `headgate backup` wrote")),
    force: Options.boolean("force").pipe(
      Options.withDescription("also where requests or changes of keys are lost that the backup does not have"),
    ),
    json: jsonOption,
  },
  ({ file, force, json }) =>
    Effect.gen(function* () {
      const target = yield* databasePath
      const restored = yield* Effect.mapError(
        withProgressBeside((say) => restoreDatabase({ file: resolve(file), database: target, force }, say)),
        storageFailed,
      )
      const { done, database, kept, lost } = restored
      if (json) yield* writeJson({ restored: done, database, kept, ...factsJson(restored), lost: differenceJson(lost) })
      else {
        const place: ReadonlyArray<readonly [string, string]> = done
          ? [
              ["restored", database],
              ["previous", kept ?? "-"],
            ]
          : [["not restored", database]]
        yield* writeRecord([...place, ...factsRecord(restored), ...losses(restored)])
      }
      if (done) return
      return yield* new CommandFailed({
        code: exitCodes.failed,
        message:
          "nothing was changed: the backup lacks what the database has since; --force restores all the same, and keeps the database under another name",
      })
    }),
).pipe(
  Command.withDescription("Puts a backup in the place of the database of the configuration, while no gateway runs."),
)
