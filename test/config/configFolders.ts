/** Configurations as an operator has them: files in a folder of their own, variables and flags. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { type LoadedConfig, loadConfigIn } from "../../src/config/loadConfig.ts"
import type { Overrides } from "../../src/config/Overrides.ts"
import { resolveConfig } from "../../src/config/resolveConfig.ts"
import type { ConfigInvalid } from "../../src/domain/json/Problem.ts"
import { defineProvider } from "../../src/plugin/Provider.ts"
import { silentProvider } from "../support/hosts/silentProvider.ts"

/** What a file in TypeScript imports `defineConfig` from. */
export const definition = resolve(import.meta.dir, "../../src/config/GatewayConfig.ts")

/** A secret that no message may have. */
export const canary = "sk-canary-0a1b2c3d4e5f60718293a4b5c6d7e8f9"

/** What a message says of a wrong port. */
export const port = "a whole number from 0 to 65535"

/** Files of a fresh directory, the environment, and the flags. */
interface Ground {
  readonly flags?: Overrides
  /** The working directory, below the fresh one. */
  readonly cwd?: string
  readonly files?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string>>
}

/** Providers that are content with anything. */
const plugins = ["acme", "b", "openai-compatible"].map((id) =>
  defineProvider({
    id,
    name: id,
    baseUrl: "https://api.acme.example/v1",
    config: Schema.Struct({}),
    load: () => silentProvider,
  }),
)

interface Outcome {
  readonly directory: string
  /** As it is loaded when nothing at all is wrong with it. */
  readonly result: Either.Either<LoadedConfig, ConfigInvalid>
}

/** For the tests of one file, which call `remove` at its end. */
export const configFolders = () => {
  const root = mkdtempSync(join(tmpdir(), "headgate-config-"))
  let count = 0

  const outcome = async ({ files = {}, env = {}, flags = {}, cwd = "." }: Ground): Promise<Outcome> => {
    const directory = join(root, String(count++))
    await Bun.write(join(directory, ".keep"), "")
    for (const [name, text] of Object.entries(files)) await Bun.write(join(directory, name), text)
    const provider = ConfigProvider.fromMap(new Map(Object.entries(env)))
    const start = Effect.tap(loadConfigIn(join(directory, cwd), flags), (reading) =>
      resolveConfig({ plugins }, reading),
    )
    return { directory, result: await Effect.runPromise(Effect.either(Effect.withConfigProvider(start, provider))) }
  }

  const loaded = async (ground: Ground): Promise<LoadedConfig> => Either.getOrThrow((await outcome(ground)).result)

  /** The lines that the operator reads, the directory's name left out. */
  const lines = async (ground: Ground): Promise<ReadonlyArray<string>> => {
    const { directory, result } = await outcome(ground)
    if (Either.isRight(result)) return []
    return result.left.message.split("\n").map((line) =>
      line
        .replaceAll(`${directory}/`, "")
        .replaceAll(directory, ".")
        .replace(/ \([^()]*:\d+:\d+\)$/, ""),
    )
  }

  return { outcome, loaded, lines, remove: () => rmSync(root, { recursive: true }) }
}

export const json = (config: unknown) => ({ "headgate.config.json": JSON.stringify(config) })
