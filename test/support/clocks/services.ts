/** Services without a gateway around them, under a clock that the test advances and with fixed random numbers. */
import { afterEach } from "bun:test"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Random from "effect/Random"
import * as Scope from "effect/Scope"
import openaiCompatible from "../../../plugins/providers/openai-compatible/index.ts"
import price from "../../../plugins/strategies/price/index.ts"
import type { ResolvedConfig } from "../../../src/catalogue/ResolvedConfig.ts"
import { type EffectRunner, makeEffectRunner } from "../../../src/services/request/EffectRunner.ts"
import { resolvedFrom } from "../gateways/resolved.ts"
import { ManualClock } from "./manualClock.ts"

export interface Services<A> {
  readonly clock: ManualClock
  readonly get: <I extends A, S>(tag: Context.Tag<I, S>) => S
  /** Runs an effect under the clock of the services. */
  readonly run: <B, E>(effect: Effect.Effect<B, E, A>) => Promise<B>
  readonly runner: EffectRunner
  /** `WARN a text {"members":1}`. */
  readonly logged: Array<string>
  /** Closes them before the end of the test. */
  readonly close: () => Promise<void>
}

const open = new Set<() => Promise<void>>()

/** Call it once in a file that uses `servicesOf`. */
export const closeServices = (): void =>
  afterEach(async () => {
    for (const close of open) await close()
  })

export const servicesOf = async <A>(
  layer: Layer.Layer<A, unknown>,
  clock: ManualClock = new ManualClock(),
): Promise<Services<A>> => {
  const logged: Array<string> = []
  const logger = Logger.make(({ logLevel, message }) => {
    const parts = Array.isArray(message) ? message : [message]
    logged.push(
      [logLevel.label, ...parts.map((part) => (typeof part === "string" ? part : JSON.stringify(part)))].join(" "),
    )
  })
  const setting = Layer.mergeAll(
    Layer.setClock(clock),
    Layer.setRandom(Random.make("a fixed seed")),
    Logger.replace(Logger.defaultLogger, logger),
  )
  const scope = Effect.runSync(Scope.make())
  const built = Layer.buildWithScope(Layer.provideMerge(layer, setting), scope)
  const context = await Effect.runPromise(built)
  const run = <B, E>(effect: Effect.Effect<B, E, A>) =>
    Effect.runPromise(effect.pipe(Effect.provide(context), Effect.provide(setting)))
  const close = async () => {
    if (open.delete(close)) await Effect.runPromise(Scope.close(scope, Exit.void))
  }
  open.add(close)
  const runner = makeEffectRunner(await Effect.runPromise(Effect.provide(Effect.runtime<never>(), setting)))
  return { clock, get: (tag) => Context.unsafeGet(context, tag), run, runner, logged, close }
}

/** A configuration of plugins whose code is small. */
const smallConfig = (
  config: { readonly routing?: object; readonly [member: string]: unknown },
  env: Readonly<Record<string, string>>,
): Promise<ResolvedConfig> =>
  resolvedFrom(
    { plugins: [openaiCompatible, price] },
    { ...config, routing: { strategy: "price", ...config.routing } },
    env,
  )

/** Of each of these names a provider, and the hosts of `acme/small` in this order. */
export const hostsConfig = (
  hosts: Readonly<Record<string, object>>,
  more: { readonly routing?: object; readonly [member: string]: unknown } = {},
  providers: Readonly<Record<string, object>> = {},
  env: Readonly<Record<string, string>> = {},
): Promise<ResolvedConfig> =>
  smallConfig(
    {
      providers: Object.fromEntries(
        Object.keys(hosts).map((slug) => [
          slug,
          {
            ...{ plugin: "openai-compatible", base_url: `http://${slug}.test/v1`, network: "private" },
            ...("api_keys" in (providers[slug] ?? {}) ? {} : { api_key: `secret-of-${slug}` }),
            ...providers[slug],
          },
        ]),
      ),
      models: [
        {
          ...{ id: "acme/small", context_length: 8192 },
          hosts: Object.entries(hosts).map(([provider, fields]) => ({
            provider,
            max_completion_tokens: 4096,
            ...fields,
          })),
        },
      ],
      ...more,
    },
    env,
  )

/** Lets what was woken run. */
export const turns = async (count = 3): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}
