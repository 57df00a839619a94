/**
 * A simulated day of conversations, to compare what strategies cost: the real router, strategies and memory of
 * conversations, under a clock of its own, with hosts whose prompt caches are simulated. Everything is seeded.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { ProviderRegistry } from "../../../src/catalogue/ProviderRegistry.ts"
import type { Host } from "../../../src/domain/hosts/Host.ts"
import { KeyId } from "../../../src/domain/ids.ts"
import { costOf } from "../../../src/domain/price/price.ts"
import { noUsage, type Usage } from "../../../src/domain/price/Usage.ts"
import type { Message } from "../../../src/domain/request/chat.ts"
import { bytesOf } from "../../../src/domain/request/estimate.ts"
import { randomSequence } from "../../../src/domain/structures/randomSequence.ts"
import { HostHealth } from "../../../src/services/hosts/HostHealth.ts"
import { HostStats } from "../../../src/services/hosts/HostStats.ts"
import { ProviderKeys } from "../../../src/services/hosts/ProviderKeys.ts"
import { Conversations } from "../../../src/services/request/Conversations.ts"
import { Router } from "../../../src/services/routing/Router.ts"
import { layer as memoryStorage } from "../../../src/sql/sqlite/MemoryStorage.ts"
import { ManualClock } from "../clocks/manualClock.ts"
import { requestWith } from "../recordings/recordings.ts"
import { ownPlugins } from "./gateway.ts"
import { resolvedFrom } from "./resolved.ts"

/** A host for sale: prices in USD per million tokens, and how long its cache keeps a prompt that nobody reads. */
export interface Offer {
  readonly prompt: number
  readonly completion: number
  readonly cacheRead?: number
  readonly cacheWrite?: number
  readonly lifetimeSeconds?: number
}

/** What the callers of a day do. Sizes are in tokens, pauses in seconds (median of a log-normal distribution). */
export interface Workload {
  readonly conversations: number
  /** Turns of a conversation, on average (geometric distribution). */
  readonly turns: number
  readonly pause: number
  /** Conversations share so many different instructions. */
  readonly instructions: { readonly kinds: number; readonly tokens: number }
  readonly firstMessage: number
  readonly message: number
  readonly answer: number
}

export interface Policy {
  readonly strategy: string
  readonly settings?: Record<string, unknown>
  /** Whether callers name their conversations. */
  readonly sessions?: boolean
}

export interface Spent {
  readonly usd: number
  readonly requests: number
  /** Of the prompt's tokens, the share that was read from caches. */
  readonly cachedShare: number
}

/** A cache finds a prompt that it still has in so many of a hundred cases, since hosts have many machines. */
const found = 0.95
/** Shorter prompts are not cached, and cached are multiples of this. */
const [fewest, step] = [1024, 128]

/** The prompt cache of one host: what it read, by name, with its size and the time. */
class SimulatedCache {
  private readonly kept = new Map<string, { readonly tokens: number; readonly at: number }>()
  private readonly lifetimeMs: number
  constructor(lifetimeSeconds: number) {
    this.lifetimeMs = lifetimeSeconds * 1000
  }

  /** Tokens of a prompt that are in the cache: of its conversation, or else of its instructions. */
  read(names: ReadonlyArray<string>, at: number, random: () => number): number {
    const isFound = random() < found
    const sizes = names.map((name) => {
      const kept = this.kept.get(name)
      return kept !== undefined && at - kept.at <= this.lifetimeMs ? kept.tokens : 0
    })
    const most = Math.floor(Math.max(0, ...sizes) / step) * step
    return isFound && most >= fewest ? most : 0
  }

  write(name: string, tokens: number, at: number): void {
    this.kept.set(name, { tokens, at })
  }
}

interface Talk {
  readonly name: string
  readonly instructions: string
  readonly turns: number
  readonly messages: Array<Message>
}

const tokensOf = (messages: ReadonlyArray<Message>): number =>
  Math.ceil(messages.reduce((sum, { content }) => sum + bytesOf(content), 0) / 4)

/** A text of so many tokens that no other one of another name equals. */
const textOf = (name: string, tokens: number): string => `${name} `.padEnd(tokens * 4, "lorem ipsum ")

const normal = (random: () => number): number =>
  Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())

const configOf = (market: Readonly<Record<string, Offer>>, { strategy, settings = {} }: Policy) => {
  const usd = (perMillion: number) => (perMillion / 1e6).toFixed(12)
  const hosts = Object.entries(market).map(([provider, { prompt, completion, cacheRead, cacheWrite }]) => ({
    provider,
    model: "upstream",
    supports_implicit_caching: cacheRead !== undefined,
    pricing: {
      prompt: usd(prompt),
      completion: usd(completion),
      ...(cacheRead === undefined ? {} : { input_cache_read: usd(cacheRead) }),
      ...(cacheWrite === undefined ? {} : { input_cache_write: usd(cacheWrite) }),
    },
  }))
  const provider = { plugin: "openai-compatible", base_url: "https://api.example.com/v1" }
  return {
    providers: Object.fromEntries(Object.keys(market).map((slug) => [slug, provider])),
    models: [{ id: "acme/large", context_length: 1_000_000, hosts }],
    routing: { strategy, strategies: { [strategy]: settings } },
  }
}

const services = async (market: Readonly<Record<string, Offer>>, policy: Policy, clock: ManualClock) => {
  const plugins = await Effect.runPromise(ownPlugins)
  const resolved = await resolvedFrom({ plugins }, configOf(market, policy))
  const layer = Router.layer.pipe(
    Layer.provideMerge(Layer.mergeAll(HostStats.layer, HostHealth.layer, ProviderKeys.layerNone, Conversations.layer)),
    Layer.provideMerge(ProviderRegistry.layer(resolved)),
    Layer.provide(Layer.setClock(clock)),
    Layer.provide(memoryStorage),
  )
  return Effect.runPromise(Effect.flatMap(Scope.make(), (scope) => Layer.buildWithScope(Layer.fresh(layer), scope)))
}

const unlimited = { limit: null, spend: 0n, reserved: 0n, source: "total", resetsAt: null }
const key = KeyId.make("the caller")

/** What the workload costs under a policy. `seed` decides everything that is random. */
export const dayOf = async (
  market: Readonly<Record<string, Offer>>,
  workload: Workload,
  policy: Policy,
  seed: number,
): Promise<Spent> => {
  const clock = new ManualClock()
  const context = await services(market, policy, clock)
  const [router, conversations] = [Context.get(context, Router), Context.get(context, Conversations)]
  const caches = new Map(
    Object.entries(market).map(([name, { lifetimeSeconds = 0 }]) => [name, new SimulatedCache(lifetimeSeconds)]),
  )
  // Two sequences, so that the workload is the same under every policy.
  const [draw, luck] = [randomSequence(seed), randomSequence(seed + 1)]
  const due = talksOf(workload, draw)
  const total = { usd: 0, requests: 0, prompt: 0, cached: 0 }

  for (let next = earliest(due); next !== undefined; next = earliest(due)) {
    const { talk, at } = next
    clock.advance(at - clock.unsafeCurrentTimeMillis())
    const messages = [...talk.messages]
    const promptTokens = tokensOf(messages)
    const asked = requestWith({ model: "acme/large", messages })
    const bounds = { ...asked.bounds, textBytes: promptTokens * 4, messages: messages.length }
    const routing = policy.sessions === true ? { ...asked.routing, session: talk.name } : asked.routing
    const request = { ...asked, routing, bounds }
    const conversation = conversations.of(key, request)
    const planSeed = Math.floor(luck() * 2 ** 32)
    const [host] = Either.getOrThrow(router.plan(request, unlimited, { conversation, seed: planSeed })).attempts
    if (host === undefined) throw new Error("no host")

    const usage = served(host, talk, promptTokens, workload.answer, at)
    conversation.record()?.succeeded(host, usage)
    total.requests += 1
    total.prompt += promptTokens
    total.cached += usage.cachedTokens
    total.usd += host.pricing === null ? 0 : Number(costOf(host.pricing, usage, at).total) / 1e12

    const turn = messages.length / 2
    if (turn >= talk.turns) due.splice(due.indexOf(next), 1)
    else {
      talk.messages.push({ role: "assistant", content: textOf(`${talk.name} answer ${turn}`, workload.answer) })
      talk.messages.push({ role: "user", content: textOf(`${talk.name} message ${turn}`, workload.message) })
      next.at += workload.pause * 1000 * Math.exp(normal(draw))
    }
  }
  return { usd: total.usd, requests: total.requests, cachedShare: total.cached / total.prompt }

  function served(host: Host, talk: Talk, promptTokens: number, completionTokens: number, at: number): Usage {
    const cache = caches.get(host.provider)
    const offer = market[host.provider]
    if (cache === undefined || offer?.cacheRead === undefined) return { ...noUsage, promptTokens, completionTokens }
    const cachedTokens = cache.read([talk.name, talk.instructions], at, luck)
    cache.write(talk.name, promptTokens, at)
    cache.write(talk.instructions, workload.instructions.tokens, at)
    const cacheWriteTokens = offer.cacheWrite === undefined ? 0 : promptTokens - cachedTokens
    return { ...noUsage, promptTokens, completionTokens, cachedTokens, cacheWriteTokens }
  }
}

const eightHours = 8 * 3600 * 1000

/** Conversations that begin at any time of eight hours. */
const talksOf = (workload: Workload, draw: () => number): Array<{ readonly talk: Talk; at: number }> => {
  const start = new ManualClock().unsafeCurrentTimeMillis()
  return Array.from({ length: workload.conversations }, (_, number) => {
    const name = `conversation ${number}`
    const { kinds, tokens } = workload.instructions
    const instructions = `instructions ${Math.floor(draw() * kinds)}`
    const turns = workload.turns === 1 ? 1 : Math.ceil(Math.log(1 - draw()) / Math.log(1 - 1 / workload.turns))
    const messages: Array<Message> = [
      { role: "system", content: textOf(instructions, tokens) },
      { role: "user", content: textOf(name, workload.firstMessage) },
    ]
    return { talk: { name, instructions, turns: Math.max(1, turns), messages }, at: start + draw() * eightHours }
  })
}

const earliest = <A extends { readonly at: number }>(all: ReadonlyArray<A>): A | undefined => {
  let first = all[0]
  for (const one of all) if (first !== undefined && one.at < first.at) first = one
  return first
}
