/** `headgate backup`: a copy of the database of a running gateway, in a file or on standard output. docs/backup.md */
import { closeSync, existsSync, renameSync, rmSync, writeSync } from "node:fs"
import { dirname, resolve } from "node:path"
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Options from "@effect/cli/Options"
import * as Effect from "effect/Effect"
import { backupDigestHeader, backupSizeHeader } from "../../http/headers.ts"
import { type Say, withProgress, withProgressBeside } from "../../process/withProgress.ts"
import { syncClosed } from "../../sql/files/closedFile.ts"
import { createPrivateFile } from "../../sql/files/privateFile.ts"
import { realPath } from "../../sql/files/realPath.ts"
import { databaseFacts } from "../../sql/sqlite/databaseFacts.ts"
import { gatewayUsing } from "../../sql/sqlite/sqliteProbe.ts"
import { CommandFailed, exitCodes, wrongUse } from "../CommandFailed.ts"
import { connect, type Download, type Gateway, urlOption } from "../gatewayClient.ts"
import { jsonOption } from "../keyFlags.ts"
import { plain, writeJson, writeRecord } from "../output.ts"
import { factsJson, factsRecord } from "./databaseRecord.ts"
import { storageFailed } from "./readBooks.ts"

const failed = (message: string) => new CommandFailed({ code: exitCodes.failed, message })

const cannotWrite = (cause: unknown) => {
  const why = cause instanceof Error ? cause.message : String(cause)
  return new CommandFailed({ code: exitCodes.cannotWrite, message: plain(why) })
}

const tellEveryBytes = 256 * 1024 * 1024

/** Passes the pieces to `use`, and fails unless all came that the gateway sent. Their number of bytes. */
const whole = ({ headers, pieces }: Download, say: Say, use: (piece: Uint8Array) => Promise<void>) =>
  Effect.gen(function* () {
    const hash = new Bun.CryptoHasher("sha256")
    let bytes = 0
    yield* pieces(async (piece) => {
      await use(piece).catch((cause: unknown) => Promise.reject(cannotWrite(cause)))
      hash.update(piece)
      const before = bytes
      bytes += piece.length
      if (Math.floor(before / tellEveryBytes) < Math.floor(bytes / tellEveryBytes))
        say(`copying the database: ${bytes} bytes so far`)
    })
    const [, digest] = /^sha-256=:([^:]+):$/.exec(headers.get(backupDigestHeader) ?? "") ?? []
    if (digest === undefined)
      return yield* failed("what came has no hash, so it is no backup of a Headgate: does --url name the gateway?")
    if (headers.get(backupSizeHeader) !== String(bytes))
      return yield* failed(`the backup is not whole: ${bytes} bytes came; try again`)
    if (hash.digest("base64") !== digest)
      return yield* failed("the backup was changed on its way: its hash is another one; try again")
    return bytes
  })

/** For a pipe: the caller of the command keeps what comes. */
const toOutput = (gateway: Gateway) =>
  Effect.gen(function* () {
    if (process.stdout.isTTY === true)
      return yield* wrongUse("a backup is no text for a terminal: name a file, or use a pipe")
    const download = yield* gateway.download("/backup")
    const pass = (piece: Uint8Array) =>
      new Promise<void>((done, reject) => {
        process.stdout.write(piece, (error) => (error ? reject(error) : done()))
      })
    yield* withProgress((say) => whole(download, say, pass))
  })

const notWritten = (message: string) => Effect.fail(new CommandFailed({ code: exitCodes.cannotWrite, message }))

/** The gateway that uses a file as its database, or as one of the files beside it; `undefined`: none does. */
const holderOf = (file: string): number | undefined =>
  gatewayUsing(realPath(file)) ?? gatewayUsing(realPath(file.replace(/(?:-wal|-shm|\.lock|\.ballast)$/, "")))

/** Writes into `<file>.part`, which takes the name of the file when it is whole, checked and durable. */
const toFile = (gateway: Gateway, file: string, force: boolean) => {
  const part = `${file}.part`
  const free = Effect.suspend(() => {
    if (!existsSync(file)) return Effect.void
    const pid = holderOf(file)
    if (pid !== undefined) return notWritten(`${file} belongs to the database of a running gateway (pid ${pid})`)
    return force ? Effect.void : notWritten(`${file} is there already; --force replaces it`)
  })
  const received = (say: Say) =>
    Effect.gen(function* () {
      yield* free
      say("waiting for the gateway to copy its database")
      const download = yield* gateway.download("/backup")
      const handle = yield* Effect.try({
        try: () => {
          rmSync(part, { force: true })
          return createPrivateFile(part)
        },
        catch: cannotWrite,
      })
      const bytes = yield* whole(download, say, async (piece) => {
        for (let at = 0; at < piece.length; ) at += writeSync(handle, piece, at)
      }).pipe(Effect.ensuring(Effect.sync(() => closeSync(handle))))
      say("checking the backup")
      // A copy of a newer gateway is whole, but this program does not know its tables.
      const facts = yield* databaseFacts(part).pipe(
        Effect.catchIf(
          ({ reason }) => reason === "newer",
          () => Effect.succeed(undefined),
        ),
        Effect.mapError(storageFailed),
      )
      yield* free
      yield* Effect.try({
        try: () => {
          syncClosed(part)
          renameSync(part, file)
          syncClosed(dirname(file))
        },
        catch: cannotWrite,
      })
      return { bytes, facts }
    })
  return Effect.onError(withProgressBeside(received), () => Effect.sync(() => rmSync(part, { force: true })))
}

export const backup = Command.make(
  "backup",
  {
    file: Args.text({ name: "file" }).pipe(Args.withDescription("where to write it; -: to standard output")),
    force: Options.boolean("force").pipe(Options.withDescription("replace a file that is there")),
    json: jsonOption,
    url: urlOption,
  },
  ({ file, force, json, url }) =>
    Effect.gen(function* () {
      const gateway = yield* connect(url)
      if (file === "-") return yield* toOutput(gateway)
      const path = resolve(file)
      const { bytes, facts } = yield* toFile(gateway, path, force)
      const shown = facts === undefined ? {} : factsJson(facts)
      if (json) return yield* writeJson({ file: path, bytes, ...shown })
      yield* writeRecord([["file", path], ["bytes", `${bytes}`], ...factsRecord(facts)])
    }),
).pipe(Command.withDescription("Copies the SQLite database of a running gateway, which goes on meanwhile."))
