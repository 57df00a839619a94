/**
 * Which hosts to try, in what order: a request's preferences turned into a plan. Each filter is a small pure function
 * that keeps a host or says why not; the order is a strategy plugin's. Nothing here waits or calls. Architecture 5, reference 14.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import type { ChatRequest } from "../domain/Chat.ts"
import { BadRequest, type Exclusion, NoHostMatches } from "../domain/Failure.ts"
import type { Host, Model } from "../domain/Host.ts"
import type { Plan } from "../domain/Plan.ts"
import { randomSequence } from "../domain/randomSequence.ts"
import { filters, named } from "../domain/routeFilters.ts"
import type { Candidate, Rank, RankContext } from "../plugin/Strategy.ts"
import { HostStats } from "./HostStats.ts"
import { ProviderRegistry } from "./ProviderRegistry.ts"

export interface RouterOptions {
  /** Strategies by id. */
  readonly strategies: ReadonlyMap<string, Rank>
  /** Id of the one in force where a request asks for none. */
  readonly strategy: string
}

export class Router extends Context.Tag("headgate/Router")<
  Router,
  {
    /** The plan for a request. Fails when a model is unknown, or when no host of any is left: then with every exclusion and its reason. */
    readonly plan: (request: ChatRequest) => Effect.Effect<Plan, BadRequest | NoHostMatches>
  }
>() {
  static readonly layer = (options: RouterOptions) =>
    Layer.effect(
      Router,
      Effect.gen(function* () {
        const registry = yield* ProviderRegistry
        const stats = yield* HostStats
        const clock = yield* Effect.clock

        const candidates = (hosts: ReadonlyArray<Host>): ReadonlyArray<Candidate> =>
          hosts.map((host) => ({ host, seen: stats.seen(host) }))

        const planWith = (request: ChatRequest, models: ReadonlyArray<Model>, seed: number) => {
          const context = {
            request,
            now: clock.unsafeCurrentTimeMillis(),
            random: randomSequence(Math.floor(seed * 2 ** 32)),
          }
          return decide(request, models, options, candidates, context)
        }

        return {
          plan: (request) =>
            Effect.suspend(() => {
              const models = resolveAll(request.models, registry)
              if (Either.isLeft(models)) return Effect.fail(models.left)
              if (models.right.every(({ hosts }) => hosts.length < 2)) return planWith(request, models.right, 0)
              // One number of Effect's generator seeds the ranking: a test that fixes it fixes the plan.
              return Effect.flatMap(Random.next, (seed) => planWith(request, models.right, seed))
            }),
        }
      }),
    )
}

const resolveAll = (
  names: ReadonlyArray<string>,
  registry: Context.Tag.Service<ProviderRegistry>,
): Either.Either<ReadonlyArray<Model>, BadRequest> => {
  const models = new Set<Model>()
  for (const name of names) {
    const model = registry.resolve(name)
    if (Either.isLeft(model)) return Either.left(model.left)
    models.add(model.right)
  }
  return Either.right([...models])
}

const decide = (
  request: ChatRequest,
  models: ReadonlyArray<Model>,
  options: RouterOptions,
  candidates: (hosts: ReadonlyArray<Host>) => ReadonlyArray<Candidate>,
  context: RankContext,
): Either.Either<Plan, BadRequest | NoHostMatches> => {
  const excluded: Array<Exclusion> = []
  const attempts: Array<Host> = []
  const wanted = request.preferences.sort
  const strategy = wanted !== undefined && options.strategies.has(wanted) ? wanted : options.strategy
  const rank = options.strategies.get(strategy) ?? ((hosts: ReadonlyArray<Candidate>) => hosts)
  for (const model of models) {
    const kept = filtered(request, model, excluded)
    const ranked = kept.length < 2 ? kept : ordered(rank, candidates(kept), context)
    attempts.push(...preferred(request, ranked, model, excluded))
  }
  return attempts.length > 0 ? Either.right({ attempts, excluded, strategy }) : Either.left(refusal(request, excluded))
}

/** A strategy's mistake costs the order, not the request; nor can it leave a host out or bring one in. G33. */
const ordered = (rank: Rank, candidates: ReadonlyArray<Candidate>, context: RankContext): ReadonlyArray<Host> => {
  const given = candidates.map(({ host }) => host)
  try {
    const ranked = rank(candidates, context).map(({ host }) => host)
    return ranked.length === given.length && given.every((host) => ranked.includes(host)) ? ranked : given
  } catch {
    return given
  }
}

const filtered = (request: ChatRequest, model: Model, excluded: Array<Exclusion>): ReadonlyArray<Host> => {
  let kept = model.hosts
  for (const filter of filters) {
    if (!filter.applies(request)) continue
    const passing: Array<Host> = []
    for (const host of kept) {
      const reason = filter.excludes(request, host)
      if (reason === undefined) passing.push(host)
      else if (filter.soft !== true) excluded.push({ host: host.tag, model: model.id, by: filter.name, reason })
    }
    // A soft filter never takes the last host.
    if (filter.soft !== true || passing.length > 0) kept = passing
  }
  return kept
}

/** The hosts of `order` first, as they are listed; then the others, if fallbacks are allowed. Reference 14.4. */
const preferred = (
  request: ChatRequest,
  ranked: ReadonlyArray<Host>,
  model: Model,
  excluded: Array<Exclusion>,
): ReadonlyArray<Host> => {
  const { order, allowFallbacks } = request.preferences
  const listed = [...new Set(order.flatMap((name) => ranked.filter((host) => named(name, host))))]
  const others = ranked.filter((host) => !listed.includes(host))
  const all = [...listed, ...others]
  if (allowFallbacks) return all
  const allowed = order.length > 0 ? listed : all.slice(0, 1)
  for (const host of all) {
    if (allowed.includes(host)) continue
    excluded.push({ host: host.tag, model: model.id, by: "allow_fallbacks", reason: "fallbacks are not allowed" })
  }
  return allowed
}

/** A prompt that fits nowhere is the request's fault; anything else that leaves no host is the filters'. */
const refusal = (request: ChatRequest, excluded: ReadonlyArray<Exclusion>): BadRequest | NoHostMatches => {
  const [first] = excluded
  if (first !== undefined && excluded.every(({ by }) => by === "context_length")) {
    return new BadRequest({ kind: "context_length_exceeded", issues: [{ path: "messages", message: first.reason }] })
  }
  return new NoHostMatches({ models: request.models, excluded })
}
