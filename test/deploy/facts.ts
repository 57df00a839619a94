/** What the files for operators are held against: facts of the code. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { environmentWarnings } from "../../src/config/environment.ts"
import type { GatewayConfig } from "../../src/config/GatewayConfig.ts"
import { decodeConfig } from "../../src/config/loadConfig.ts"
import { root, said } from "./dockerfile.ts"

export const textOf = (path: string): string => readFileSync(join(root, path), "utf8")

export const configOf = (raw: unknown): Promise<GatewayConfig> => Effect.runPromise(decodeConfig(raw))

export const defaults = await configOf({})

/** What a gateway would say of these variables. */
export const unknownVariables = (names: ReadonlyArray<string>): ReadonlyArray<string> =>
  environmentWarnings(Object.fromEntries(names.map((name) => [name, "value"])), {})

/** The folder of the image in which an installation is, and where it writes. */
export const image = { installation: said("WORKDIR"), data: said("VOLUME"), user: Number(said("USER").split(":")[0]) }

export const { version } = JSON.parse(textOf("package.json")) as { readonly version: string }

/** Peak of the memory of a gateway under the longest bodies that its bounds admit, MiB: docs/decisions/0045-what-one-caller-may-take.md */
export const longestBodiesMiB = 3084
