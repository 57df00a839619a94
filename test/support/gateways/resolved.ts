/** The resolved configuration of some plugins, and what was logged on the way. */
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import { ProviderRegistry } from "../../../src/catalogue/ProviderRegistry.ts"
import type { ResolvedConfig } from "../../../src/catalogue/ResolvedConfig.ts"
import { readConfig } from "../../../src/config/loadConfig.ts"
import { type Parts, resolveConfig } from "../../../src/config/resolveConfig.ts"

export interface Resolution {
  readonly log: ReadonlyArray<string>
  /** Lines of the refusal; empty when there was none. */
  readonly problems: ReadonlyArray<string>
  readonly resolved: ResolvedConfig | undefined
}

export const resolution = async (
  parts: Parts,
  config: unknown = {},
  env: Readonly<Record<string, string>> = {},
): Promise<Resolution> => {
  const log: Array<string> = []
  const logger = Logger.make(({ message }) => log.push(String([message].flat()[0])))
  return Effect.runPromise(
    Effect.flatMap(readConfig(config), (reading) => resolveConfig(parts, reading)).pipe(
      Effect.match({
        onSuccess: ({ resolved }) => ({ log, problems: [], resolved }),
        onFailure: ({ message }) => ({ log, problems: message.split("\n"), resolved: undefined }),
      }),
      Effect.provide(Logger.replace(Logger.defaultLogger, logger)),
      Effect.withConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(env)))),
    ),
  )
}

/** The resolved configuration of valid input; throws when anything is refused. */
export const resolvedFrom = async (...asked: Parameters<typeof resolution>): Promise<ResolvedConfig> => {
  const { problems, resolved } = await resolution(...asked)
  if (resolved === undefined) throw new Error(problems.join("\n"))
  return resolved
}

export const registryOf = (resolved: ResolvedConfig) =>
  Effect.runPromise(
    Effect.scoped(
      Effect.map(Layer.build(ProviderRegistry.layer(resolved)), (context) =>
        Effect.runSync(Effect.provide(ProviderRegistry, context)),
      ),
    ),
  )
