/**
 * Where the first keys are shown. On standard output, or in a file of the data folder if standard output is kept by others: a log file,
 * a service manager's journal, the logs of containers. That file is the one place where the gateway writes a secret.
 * docs/decisions/0036-first-keys-in-a-file.md
 */
import { closeSync, existsSync, fstatSync, fsyncSync, openSync, rmSync, writeSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import * as Effect from "effect/Effect"
import type { GatewayConfig } from "../../config/GatewayConfig.ts"
import { logEvent } from "../../process/log/logEvent.ts"
import { makePrivateFolder, privateMode } from "../../sql/files/privateFile.ts"

export interface FirstKeysPlace {
  /** Once, with the lines that hold the keys. */
  readonly tell: (lines: string) => Effect.Effect<void>
  /** In place of `tell`, when another gateway has made the keys. */
  readonly discard: Effect.Effect<void>
}

/** `none`: a device that keeps nothing, such as /dev/null. */
export type OutputKind = "terminal" | "pipe" | "file" | "none"

/** What standard output is. */
const outputKind = (): OutputKind => {
  if (process.stdout.isTTY) return "terminal"
  const output = fstatSync(1)
  if (output.isFile()) return "file"
  return output.isCharacterDevice() ? "none" : "pipe"
}

/**
 * Whether another program keeps what is printed, or it is lost: a log file; systemd (which sets INVOCATION_ID and
 * JOURNAL_STREAM), Kubernetes, or the engine of a container, where the image or the engine sets `container` or the gateway is
 * process 1; /dev/null. A pipe in a shell is none of these.
 */
export const isOutputKept = (
  env: Readonly<Record<string, string | undefined>>,
  { output, pid }: { readonly output: OutputKind; readonly pid: number },
): boolean => {
  const marks = ["INVOCATION_ID", "JOURNAL_STREAM", "KUBERNETES_SERVICE_HOST", "container"]
  if (output === "terminal") return false
  return output !== "pipe" || pid === 1 || marks.some((name) => (env[name] ?? "") !== "")
}

/** Where the keys are to be shown; `undefined`: nowhere, so that none may be made. The log says why. */
export const placeOfFirstKeys = (config: GatewayConfig): Effect.Effect<FirstKeysPlace | undefined> =>
  Effect.suspend(() => {
    if (!isOutputKept(process.env, { output: outputKind(), pid: process.pid }))
      return Effect.succeed(onOutput(folderOf(config)))
    return Effect.catchAll(
      Effect.try(() => inFile(folderOf(config))),
      ({ error }) =>
        Effect.as(
          logEvent("first_keys_not_made", { because: error instanceof Error ? error.message : error }),
          undefined,
        ),
    )
  })

/** Says at a later start that the file is still there. */
export const warnOfFirstKeys = (config: GatewayConfig): Effect.Effect<void> =>
  Effect.suspend(() => {
    const file = pathIn(folderOf(config), 1)
    return existsSync(file) ? logEvent("first_keys_still_in_file", { file }) : Effect.void
  })

const folderOf = ({ storage, spoolFolder }: GatewayConfig): string =>
  resolve(storage._tag === "Sqlite" ? dirname(storage.path) : spoolFolder)

const pathIn = (folder: string, number: number): string =>
  join(folder, number === 1 ? "first-keys.txt" : `first-keys-${number}.txt`)

/** Shows the keys on standard output, or in the file after all if the reader of a pipe has gone, as `head` does. */
const onOutput = (folder: string): FirstKeysPlace => ({
  tell: (lines) =>
    Effect.async<boolean>((resume) => {
      process.stdout.write(`\nThese two keys are shown once and kept nowhere:\n\n${lines}\n`, (failure) =>
        resume(Effect.succeed(failure == null)),
      )
    }).pipe(Effect.flatMap((isShown) => (isShown ? Effect.void : inFile(folder).tell(lines)))),
  discard: Effect.void,
})

const heading = `The first keys of a gateway. They stand nowhere else, and whoever reads them can do everything:
move this file away, to where you keep secrets.

`

/** The first name that no file has: other gateways may look for one in this folder, too. */
const newFile = (folder: string, number = 1): { readonly file: string; readonly handle: number } => {
  const file = pathIn(folder, number)
  if (existsSync(file)) return newFile(folder, number + 1)
  try {
    return { file, handle: openSync(file, "wx", privateMode) }
  } catch (error) {
    if (existsSync(file)) return newFile(folder, number + 1)
    throw error
  }
}

/** A new file, which is open: keys that could not be written down would be lost. Throws where there cannot be one. */
const inFile = (folder: string): FirstKeysPlace => {
  makePrivateFolder(folder)
  const { file, handle } = newFile(folder)
  return {
    tell: (lines) =>
      Effect.zipRight(
        Effect.sync(() => {
          writeSync(handle, `${heading}${lines}\n`)
          fsyncSync(handle)
          closeSync(handle)
        }),
        logEvent("first_keys_in_file", { file }),
      ),
    discard: Effect.sync(() => {
      closeSync(handle)
      rmSync(file)
    }),
  }
}
