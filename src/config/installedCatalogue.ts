/** The catalogue file of an installation: lists of models in the place of those that the plugins bring. See docs/catalogue.md. */
import { open, rename, rm } from "node:fs/promises"
import { resolve } from "node:path"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { type Catalogue, readCatalogue, writtenCatalogue } from "../catalogue/catalogueFile.ts"
import { ConfigInvalid, type Problem } from "../domain/json/Problem.ts"
import type { GatewayConfig } from "./GatewayConfig.ts"

type Settings = Pick<GatewayConfig, "catalogue">

export const catalogueFile = ({ catalogue }: Settings): string => resolve(catalogue.file)

const none: Catalogue = new Map()

/** Empty where there is no file. */
export const installedCatalogue = (config: Settings): Effect.Effect<Catalogue, ConfigInvalid> =>
  Effect.gen(function* () {
    const path = catalogueFile(config)
    const file = Bun.file(path)
    if (!(yield* Effect.promise(() => file.exists()))) return none
    const raw = yield* Effect.tryPromise({
      try: (): Promise<unknown> => file.json(),
      catch: () => invalid(path, { path: "", message: "expected JSON" }),
    })
    return yield* Either.mapLeft(readCatalogue(raw), ([first, ...more]) => invalid(path, first ?? unread, more))
  })

const unread: Problem = { path: "", message: "expected a catalogue" }

const invalid = (path: string, first: Problem, more: ReadonlyArray<Problem> = []): ConfigInvalid => {
  const within = (problem: Problem): Problem => ({ ...problem, path: `${path} ${problem.path}`.trim() })
  return new ConfigInvalid({ problems: [within(first), ...more.map(within)] })
}

/** Replaces the file as a whole: another process reads the old one or the new one. Rejects as the file system does. */
export const installCatalogue = async (path: string, catalogue: Catalogue): Promise<void> => {
  const beside = `${path}.${process.pid}.new`
  try {
    const file = await open(beside, "wx", 0o600)
    try {
      await file.writeFile(writtenCatalogue(catalogue))
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(beside, path)
  } catch (cause) {
    await rm(beside, { force: true })
    throw cause
  }
}
