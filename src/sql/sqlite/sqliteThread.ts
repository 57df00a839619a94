/**
 * The thread that owns the database file, so that a commit that waits for the disk does not block the gateway. It opens
 * the file named in its first message, then answers calls one after another. Started by SqliteStorage.ts.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import type { StorageUnavailable } from "../../services/storage/StorageUnavailable.ts"
import { type Call, invoke, type MethodNames, methodNamesOf } from "../calls.ts"
import { unavailable } from "../failure.ts"
import type { SqliteOpening } from "../opening.ts"
import type { SqlRepositories } from "../repositories/repositories.ts"
import { type OpenFile, openFile, type Refusal, Refused } from "./sqliteFile.ts"

/** Messages to the thread after the first one. `close` is the last: it is answered when the file is closed. */
export type Message = readonly [id: number, ...call: Call<SqlRepositories> | readonly ["close"]]

/** `failed`: the members of a `StorageUnavailable`. */
export type Reply =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly failed: string; readonly refused: boolean; readonly isDiskFull: boolean }

/** The answer to the first message; before it, what is done that may take long. */
export type Opened =
  | { readonly doing: string }
  | { readonly refusal: Refusal }
  | { readonly installation: string; readonly methods: MethodNames<SqlRepositories> }

declare const self: Worker

const answer = (id: number, exit: Exit.Exit<unknown, StorageUnavailable>) => {
  if (Exit.isSuccess(exit)) return self.postMessage({ id, value: exit.value } satisfies Reply)
  const failure = unavailable(Cause.squash(exit.cause))
  const { reason: failed, refused = false, isDiskFull = false } = failure
  self.postMessage({ id, failed, refused, isDiskFull } satisfies Reply)
}

const serve = ({ repositories }: OpenFile, scope: Scope.CloseableScope) => {
  self.onmessage = ({ data: message }: MessageEvent<Message>) => {
    const [id, ...call] = message
    if (call[0] === "close") {
      Effect.runCallback(Scope.close(scope, Exit.void), { onExit: (exit) => answer(id, exit) })
      return
    }
    // SQLite is synchronous, so the call is over when this returns.
    answer(id, invoke(repositories, call))
  }
}

const say = (doing: string): void => self.postMessage({ doing } satisfies Opened)

const open = (opening: SqliteOpening): Effect.Effect<Opened> =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const opened = yield* Effect.exit(Scope.extend(openFile(opening, say), scope))
    if (Exit.isSuccess(opened)) {
      serve(opened.value, scope)
      const { installation, repositories } = opened.value
      return { installation, methods: methodNamesOf(repositories) }
    }
    yield* Scope.close(scope, opened)
    const error = Cause.squash(opened.cause)
    if (!(error instanceof Refused)) return yield* Effect.die(error)
    return { refusal: { reason: error.reason, message: error.message } }
  })

self.onmessage = async ({ data: opening }: MessageEvent<SqliteOpening>) => {
  const opened: Opened = await Effect.runPromise(open(opening))
  self.postMessage(opened)
}
