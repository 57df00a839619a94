/** What `headgate --version` says. */
import * as Effect from "effect/Effect"
import { schemaVersion } from "../sql/migrations.ts"

/** Of the package. */
export const version = Effect.promise(async (): Promise<string> => {
  const { version } = await Bun.file(new URL("../../package.json", import.meta.url)).json()
  return version
})

export const versions = Effect.map(
  version,
  (program) => `headgate ${program} (Bun ${Bun.version}, database schema ${schemaVersion})`,
)
