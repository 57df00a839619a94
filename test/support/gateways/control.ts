/** The control plane as a function from request to response: no port, the real services, everything in memory. */
import { expect } from "bun:test"
import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import { ProviderRegistry } from "../../../src/catalogue/ProviderRegistry.ts"
import { readConfig } from "../../../src/config/loadConfig.ts"
import { resolveConfig } from "../../../src/config/resolveConfig.ts"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import { parseUsd } from "../../../src/domain/price/money.ts"
import { CallerAddresses } from "../../../src/http/CallerAddresses.ts"
import { ConsoleFolder } from "../../../src/http/console/ConsoleFiles.ts"
import { type ControlOptions, ControlSettings, controlRoutes } from "../../../src/http/control/index.ts"
import { everything, Mount } from "../../../src/http/Mount.ts"
import { defineProvider } from "../../../src/plugin/Provider.ts"
import { HostHealth } from "../../../src/services/hosts/HostHealth.ts"
import { HostStats } from "../../../src/services/hosts/HostStats.ts"
import { ProviderKeys } from "../../../src/services/hosts/ProviderKeys.ts"
import { KeyStore, type NewKey } from "../../../src/services/keys/KeyStore.ts"
import { RequestLimits } from "../../../src/services/keys/RequestLimits.ts"
import { Sessions } from "../../../src/services/keys/Sessions.ts"
import { LiveRequests } from "../../../src/services/live/LiveRequests.ts"
import { Meter } from "../../../src/services/money/Meter.ts"
import { RequestRecords } from "../../../src/services/records/RequestRecords.ts"
import { Idempotency } from "../../../src/services/request/Idempotency.ts"
import { InFlight } from "../../../src/services/request/InFlight.ts"
import { RequestEnds } from "../../../src/services/request/RequestEnds.ts"
import { Timers } from "../../../src/services/request/Timers.ts"
import { ConfigFacts } from "../../../src/services/state/ConfigFacts.ts"
import { GatewayState } from "../../../src/services/state/GatewayState.ts"
import type { LedgerRow } from "../../../src/services/storage/ledger.ts"
import type { Storage } from "../../../src/services/storage/Storage.ts"
import { silentProvider } from "../hosts/silentProvider.ts"
import { memoryStorage } from "../storage/lastingStorage.ts"

export const managementKey = "a-management-key-that-the-operator-brought-along"

const toy = defineProvider({
  id: "toy",
  name: "Toy",
  config: Schema.Struct({}),
  load: () => ({ ...silentProvider, transport: async () => Response.json({}) }),
})

const pricing = {
  prompt: "0.000001",
  completion: 0.000002,
  input_cache_read: "0.0000001",
  overrides: [{ min_prompt_tokens: 200_000, prompt: "0.000003" }],
}

export const models = [
  {
    id: "acme/small-2.5:free",
    name: "Acme Small",
    description: "A small one.",
    created: 1_760_000_000,
    context_length: 8192,
    architecture: { input_modalities: ["text", "image"] },
    canonical_slug: "acme/small-2.5-20251009",
    aliases: ["small-2.5-latest"],
    hugging_face_id: "Acme/Small-2.5",
    knowledge_cutoff: "2025-06",
    reasoning: { supported_efforts: ["low", "high"], supports_max_tokens: true },
    hosts: [
      {
        ...{ provider: "toy", variant: "dear", pricing: { prompt: "1", completion: "1" } },
        ...{ supported_parameters: ["seed"], expiration_date: "2026-10-01" },
        native_tools: { "router:web_search": { type: "web_search" } },
        ...{ supports_voice_cloning: true, supports_multiple_audio_references: true },
        ...{ supports_image_reference: true, supports_diarization: true },
      },
      {
        ...{ provider: "toy", pricing, max_completion_tokens: 4096, supported_parameters: ["tools"] },
        ...{ quantization: "fp8", expiration_date: "2026-12-31" },
      },
      { provider: "toy", variant: "unpriced", expiration_date: "2026-01-01" },
    ],
  },
  {
    id: "acme/m0",
    context_length: 100,
    hosts: [{ provider: "toy" }, { provider: "off", pricing: { prompt: "0", completion: "0" } }],
  },
  ...Array.from({ length: 5 }, (_, n) => ({ id: `acme/m${n + 1}`, context_length: 100, hosts: [{ provider: "toy" }] })),
]

const toys = { toy: { name: "Toy Ltd" }, off: { plugin: "toy", enabled: false } }

const registryOf = (config: unknown) =>
  Layer.unwrapEffect(
    readConfig(config).pipe(
      Effect.flatMap((reading) => resolveConfig({ plugins: [toy] }, reading)),
      Effect.map(({ resolved, warnings, notes }) =>
        Layer.merge(ProviderRegistry.layer(resolved), ConfigFacts.layer({ file: null, warnings, providers: notes })),
      ),
      Effect.orDie,
    ),
  )

type Services =
  | KeyStore
  | Storage
  | Meter
  | HostHealth
  | HostStats
  | InFlight
  | ProviderRegistry
  | RequestEnds
  | RequestLimits
  | RequestRecords

export interface ControlPlaneOptions {
  readonly control?: Partial<ControlOptions>
  readonly storage?: Layer.Layer<Storage>
  /** In place of the gateway's keys. */
  readonly keys?: Layer.Layer<KeyStore, never, Storage>
  /** Where the console's files are. */
  readonly consoleFolder?: string
  readonly meter?: Layer.Layer<Meter, never, Storage | ProviderRegistry>
  /** Its providers may use the plugin `toy`. Default: the providers `toys` with `models`. */
  readonly config?: object
}

/** The time of the gateway's clock: a Wednesday. Only a test changes it. */
export const noon = Date.UTC(2026, 6, 15, 12)

export const startControlPlane = async ({
  control,
  storage = memoryStorage,
  keys = KeyStore.layer({ managementKey: Redacted.make(managementKey) }),
  consoleFolder,
  meter = Meter.layer,
  config = {},
}: ControlPlaneOptions = {}) => {
  const time = { now: noon }
  const log: Array<string> = []
  const table: Array<string> = []
  const clock = Object.assign(Clock.make(), {
    unsafeCurrentTimeMillis: () => time.now,
    unsafeCurrentTimeNanos: () => BigInt(time.now) * 1_000_000n,
    currentTimeMillis: Effect.sync(() => time.now),
  })
  const setting = Layer.mergeAll(
    Layer.setClock(clock),
    Logger.replace(
      Logger.defaultLogger,
      Logger.make(({ message, cause }) => log.push(`${JSON.stringify(message)} ${String(cause)}`)),
    ),
  )
  const services = GatewayState.layer(undefined).pipe(
    Layer.provideMerge(
      Layer.mergeAll(
        Layer.provideMerge(Sessions.layer, keys),
        meter,
        HostStats.layer,
        HostHealth.layer,
        ProviderKeys.layer,
        RequestLimits.layer,
        Layer.provide(LiveRequests.layer, Layer.merge(InFlight.layer, meter)),
        RequestRecords.layer({ days: 30, rows: 1000 }).pipe(
          Layer.provideMerge(RequestEnds.layer),
          Layer.provide(Idempotency.layer),
          Layer.provideMerge(InFlight.layer),
        ),
      ),
    ),
    Layer.provideMerge(registryOf({ providers: toys, models, ...config })),
    Layer.provideMerge(Timers.layer),
    Layer.provideMerge(storage),
    Layer.provideMerge(setting),
  )
  const scope = await Effect.runPromise(Scope.make())
  const context = await Effect.runPromise(Layer.buildWithScope(services, scope))
  const recorded = Layer.effect(
    HttpLayerRouter.HttpRouter,
    Effect.map(HttpLayerRouter.HttpRouter, (router) =>
      Object.assign({}, router, {
        add: (...route: Parameters<typeof router.add>) => {
          table.push(`${route[0]} ${route[1]}`)
          return router.add(...route)
        },
      }),
    ),
  )
  const { handler, dispose } = HttpLayerRouter.toWebHandler(
    controlRoutes.pipe(
      Layer.provide(Layer.succeed(Mount, everything)),
      Layer.provide(ControlSettings.layer({ corsOrigins: ["*"], ...control })),
      Layer.provide(CallerAddresses.layer({ trustedProxies: [], forwardedHeader: "x-forwarded-for" })),
      Layer.provide(recorded),
      Layer.provide(Layer.succeedContext(context)),
      Layer.provideMerge(setting),
      Layer.provideMerge(consoleFolder === undefined ? Layer.empty : Layer.succeed(ConsoleFolder, consoleFolder)),
    ),
    { disableLogger: true },
  )
  const run = <A, E>(effect: Effect.Effect<A, E, Services>) => Effect.runPromise(Effect.provide(effect, context))
  return {
    time,
    log,
    table,
    run,
    /** `path`: or a whole URL. */
    send: (path: string, init?: RequestInit) =>
      handler(new Request(path.startsWith("http") ? path : `http://gateway.test${path}`, init)),
    newKey: async (key: Partial<NewKey> = {}) => {
      const create = Effect.flatMap(KeyStore, (keys) => keys.create({ kind: "ordinary", name: "test", ...key }))
      return Redacted.value((await run(create)).secret)
    },
    close: async () => {
      await dispose()
      await Effect.runPromise(Scope.close(scope, Exit.void))
    },
  }
}

export type ControlPlane = Awaited<ReturnType<typeof startControlPlane>>

export const bearer = (secret: string) => ({ headers: { authorization: `Bearer ${secret}` } })
export const asManager = (method = "GET", body?: unknown) => ({
  method,
  ...bearer(managementKey),
  ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
})

// biome-ignore lint/suspicious/noExplicitAny: the tests look into answers, and a wrong guess is a failing test.
export type Anything = any

export const json = async (response: Response): Promise<Anything> => response.json()

/** Every answer has its id; every error has the one documented body. */
export const expectAnswer = (response: Response, status: number): void => {
  expect(response.status).toBe(status)
  expect(response.headers.get("x-gw-request-id")).toMatch(/^req_[A-Za-z0-9]{24}$/)
  expect(response.headers.get("content-type")).toBe("application/json")
}

export const expectError = async (response: Response, status: number): Promise<Anything> => {
  expectAnswer(response, status)
  const body = await json(response)
  expect(Object.keys(body)).toEqual(["error"])
  expect(body.error.code).toBe(status)
  expect(body.error.message).toMatch(/\.$/)
  return body.error
}

export const row = (secret: string, cost: string, admittedAt: number): LedgerRow => ({
  requestId: crypto.randomUUID(),
  generationId: "gen-1-x",
  key: keyId(secret),
  model: "acme/m0",
  host: "toy",
  provider: "toy",
  cost: parseUsd(cost) ?? 0n,
  upstreamCost: 0n,
  promptTokens: 1,
  completionTokens: 1,
  cachedTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  estimated: false,
  streamed: false,
  finishReason: "stop",
  outcome: "finished",
  admittedAt,
  settledAt: admittedAt,
  latencyMs: 1,
  durationMs: 1,
  appTitle: "",
  appUrl: "",
  strategy: "balanced",
  seed: 1,
  rareUsage: null,
  priceBasis: "unknown",
  priceVersion: null,
  waived: null,
  form: "chat",
  operation: "chat",
  providerKey: "",
  callerRequestId: "",
  userHash: "",
  routed: "",
})
