/**
 * The thread that owns the database file: a commit that waits for the disk stops nobody but those who wait for it.
 * It opens the file that its first message names, then answers calls one after another, each before it looks at the
 * next. Started by SqliteStorage.ts.
 */
import { SQLiteError } from "bun:sqlite"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { KeyId } from "../domain/Ids.ts"
import type { KeyRecord } from "../domain/Key.ts"
import type { KeyPage, KeyPatch, StorageUnavailable } from "../services/ledger.ts"
import type { SqlStorage } from "./SqlStorage.ts"
import { type OpenFile, type Opening, openFile, type Refusal, Refused } from "./sqliteFile.ts"

/** What the thread is asked. Flat where it is hot: what has no objects in it crosses fastest. */
export type Call = { readonly id: number } & Asked

export type Asked =
  /** Rows as `encodeRows` writes them. */
  | { readonly method: "append"; readonly rows: string }
  /** The last call: the file is closed, then answered. */
  | { readonly method: "close" }
  | Question

type Question =
  | { readonly method: "installation" | "managementKeys" }
  | { readonly method: "findKey" | "deleteKey"; readonly key: KeyId }
  | { readonly method: "insertKey"; readonly record: KeyRecord }
  | { readonly method: "updateKey"; readonly key: KeyId; readonly patch: KeyPatch }
  | { readonly method: "listKeys"; readonly page: KeyPage }
  | { readonly method: "spend"; readonly key: KeyId; readonly now: number }
  | { readonly method: "ledger"; readonly key: KeyId; readonly limit: number }

/** `failed`: the reason of a `StorageUnavailable`. */
export type Reply =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly failed: string; readonly refused?: boolean }

/** The answer to the first message. `refusal` undefined: the file is open. */
export interface Opened {
  readonly refusal: Refusal | undefined
}

declare const self: Worker

const ask = (storage: SqlStorage, question: Question): Effect.Effect<unknown, StorageUnavailable> => {
  switch (question.method) {
    case "installation":
      return storage.installation
    case "managementKeys":
      return storage.managementKeys
    case "findKey":
      return storage.findKey(question.key)
    case "insertKey":
      return storage.insertKey(question.record)
    case "updateKey":
      return storage.updateKey(question.key, question.patch)
    case "deleteKey":
      return storage.deleteKey(question.key)
    case "listKeys":
      return storage.listKeys(question.page)
    case "spend":
      return storage.spend(question.key, question.now)
    case "ledger":
      return storage.ledger(question.key, question.limit)
  }
}

const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  return "reason" in error && typeof error.reason === "string" ? error.reason : error.message
}

/** Whether the database found the rows at fault, and not itself. */
const isRefusal = (error: unknown): boolean =>
  error instanceof SQLiteError && error.code?.startsWith("SQLITE_CONSTRAINT") === true

const reply = (message: Reply) => self.postMessage(message)

const append = (file: OpenFile, id: number, rows: string) => {
  try {
    file.append(rows)
  } catch (error) {
    reply({ id, failed: reasonOf(error), refused: isRefusal(error) })
    return
  }
  reply({ id, value: true })
}

const answer = (id: number, exit: Exit.Exit<unknown, StorageUnavailable>) =>
  reply(Exit.isSuccess(exit) ? { id, value: exit.value } : { id, failed: reasonOf(Cause.squash(exit.cause)) })

const serve = (file: OpenFile, scope: Scope.CloseableScope) => {
  self.onmessage = ({ data: call }: MessageEvent<Call>) => {
    switch (call.method) {
      case "append":
        return append(file, call.id, call.rows)
      case "close":
        return Effect.runCallback(Scope.close(scope, Exit.void), { onExit: (exit) => answer(call.id, exit) })
      default:
        // The driver never waits, so the call is over when this returns.
        return answer(call.id, Effect.runSyncExit(ask(file.storage, call)))
    }
  }
}

const open = (opening: Opening) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const opened = yield* Effect.exit(Scope.extend(openFile(opening), scope))
    if (Exit.isSuccess(opened)) {
      serve(opened.value, scope)
      return { refusal: undefined }
    }
    yield* Scope.close(scope, opened)
    const error = Cause.squash(opened.cause)
    if (!(error instanceof Refused)) return yield* Effect.die(error)
    return { refusal: { reason: error.reason, message: error.message } }
  })

self.onmessage = async ({ data: opening }: MessageEvent<Opening>) => {
  const opened: Opened = await Effect.runPromise(open(opening))
  self.postMessage(opened)
}
