/** The router with the services that it observes, and nothing else: plans for bodies, without a call. */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import { ProviderRegistry } from "../../../src/catalogue/ProviderRegistry.ts"
import type { Host } from "../../../src/domain/hosts/Host.ts"
import type { BudgetSnapshot } from "../../../src/domain/money/reservation.ts"
import type { Plan } from "../../../src/domain/routing/Plan.ts"
import { decodeChat } from "../../../src/formats/chat/chatRequest.ts"
import type { Plugin } from "../../../src/plugin/loading/discover.ts"
import { HostHealth } from "../../../src/services/hosts/HostHealth.ts"
import { HostStats } from "../../../src/services/hosts/HostStats.ts"
import { ProviderKeys } from "../../../src/services/hosts/ProviderKeys.ts"
import type { PlanFailure } from "../../../src/services/routing/planRefusal.ts"
import { Router } from "../../../src/services/routing/Router.ts"
import { layer as memoryStorage } from "../../../src/sql/sqlite/MemoryStorage.ts"
import { ManualClock } from "../clocks/manualClock.ts"
import { ownPlugins } from "./gateway.ts"
import { resolvedFrom } from "./resolved.ts"

export const unlimited: BudgetSnapshot = { limit: null, spend: 0n, reserved: 0n, source: "total", resetsAt: null }

export interface Planner {
  /** The plan for a body of a chat completion; throws when the body is invalid. */
  readonly plan: (body: Record<string, unknown>, seed?: number) => Either.Either<Plan, PlanFailure>
  /** Tags of the hosts that are tried for it; throws when there is no plan. */
  readonly tags: (body: Record<string, unknown>, seed?: number) => ReadonlyArray<string>
  readonly router: Router["Type"]
  readonly hosts: ReadonlyArray<Host>
  readonly stats: HostStats["Type"]
  readonly health: HostHealth["Type"]
  readonly clock: ManualClock
}

export interface HostFields {
  readonly provider: string
  readonly [field: string]: unknown
}

/** A model and its hosts; providers are made from the names, with `privacy` where it is given. */
export const plannerFor = async (
  models: ReadonlyArray<{
    readonly id: string
    readonly hosts: ReadonlyArray<HostFields>
    readonly [field: string]: unknown
  }>,
  {
    strategy = "price",
    privacy = {},
    plugins,
  }: {
    readonly strategy?: string
    readonly privacy?: Readonly<Record<string, object>>
    readonly plugins?: ReadonlyArray<Plugin>
  } = {},
): Promise<Planner> => {
  const slugs = new Set(models.flatMap(({ hosts }) => hosts.map(({ provider }) => provider)))
  const provider = { plugin: "openai-compatible", base_url: "http://127.0.0.1:1/v1", network: "private", api_key: "k" }
  const config = {
    providers: Object.fromEntries([...slugs].map((slug) => [slug, { ...provider, ...privacyOf(privacy[slug]) }])),
    models: models.map((model) => ({ context_length: 8192, ...model })),
    routing: { strategy },
  }
  const resolved = await resolvedFrom(
    { plugins: [...(await Effect.runPromise(ownPlugins)), ...(plugins ?? [])] },
    config,
  )
  const clock = new ManualClock()
  const observed = Layer.mergeAll(HostStats.layer, HostHealth.layer, ProviderKeys.layerNone).pipe(
    Layer.provideMerge(ProviderRegistry.layer(resolved)),
  )
  const services = Layer.provideMerge(Router.layer, observed).pipe(
    Layer.provide(Layer.setClock(clock)),
    Layer.provide(memoryStorage),
  )
  const { router, stats, health } = await Effect.runPromise(
    Effect.all({ router: Router, stats: HostStats, health: HostHealth }).pipe(Effect.provide(services)),
  )
  const plan: Planner["plan"] = (body, seed) => {
    const text = JSON.stringify({ model: models[0]?.id, messages: [{ role: "user", content: "hi" }], ...body })
    const request = Either.getOrThrowWith(decodeChat(JSON.parse(text)), ({ message }) => new Error(message))
    return router.plan(request, unlimited, seed === undefined ? {} : { seed })
  }
  return {
    plan,
    tags: (body, seed) => Either.getOrThrow(plan(body, seed)).attempts.map(({ tag }) => tag),
    router,
    hosts: resolved.models.flatMap(({ hosts }) => hosts),
    stats,
    health,
    clock,
  }
}

const privacyOf = (privacy: object | undefined) => (privacy === undefined ? {} : { privacy })
