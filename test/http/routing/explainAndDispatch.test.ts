/**
 * What an explanation says is what a dispatch does: for any configuration, statistics, request and seed, hosts that fail one
 * after another are tried exactly in the order of `attempts`, and a request that is ended earlier has tried a prefix of it.
 */
import { expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import { randomSequence } from "../../../src/domain/structures/randomSequence.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { Upstream } from "../../../src/upstream/Upstream.ts"
import { explainedBy } from "../../support/clients/explained.ts"
import { ManualClock } from "../../support/clocks/manualClock.ts"
import { gatewayWithoutSocket } from "../../support/gateways/gateway.ts"
import { good, status } from "../../support/gateways/routed.ts"

const slugs = ["p1", "p2", "p3", "p4", "p5"]
const ids = ["acme/one", "acme/two", "acme/three"]

const anyPrice = FastCheck.constantFrom("0", "0.000001", "0.000002", "0.000003", "0.00001")

const anyHost = FastCheck.record(
  {
    pricing: FastCheck.record({
      prompt: anyPrice,
      completion: anyPrice,
      input_cache_read: FastCheck.constant("0.0000001"),
    }),
    variant: FastCheck.constantFrom(null, null, null, null, "eu", "flex", "priority"),
    quantization: FastCheck.constantFrom("fp8" as const, "fp16" as const),
    supported_parameters: FastCheck.subarray(["temperature", "tools", "seed"]),
    max_completion_tokens: FastCheck.constantFrom(10, 4096),
    context_length: FastCheck.constantFrom(100, 8192, 8192, 8192, 8192, 8192),
  },
  { requiredKeys: ["quantization", "variant"] },
)

/** Hosts of each model, in the order of the configuration. */
const anyModels = FastCheck.tuple(
  ...ids.map((id) =>
    FastCheck.tuple(
      FastCheck.shuffledSubarray(slugs, { minLength: 1 }),
      FastCheck.array(anyHost, { minLength: 5 }),
    ).map(([providers, facts]) => ({
      id,
      context_length: 8192,
      hosts: providers.map((provider, at) => {
        const variant = facts[at]?.variant ?? null
        return { ...facts[at], provider, model: `${id} ${provider}${variant === null ? "" : `/${variant}`}` }
      }),
    })),
  ),
)

const someSlugs = FastCheck.shuffledSubarray(slugs, { minLength: 1 })

const strategies = ["balanced", "price", "throughput", "latency", "exacto", "cheapest-warm"]

const anyPreferences = FastCheck.record(
  {
    sort: FastCheck.oneof(
      FastCheck.constantFrom(...strategies),
      FastCheck.constantFrom(...strategies).map((by) => ({ by, partition: "none" })),
    ),
    preferred_max_latency: FastCheck.constantFrom(0.5, { p50: 1, p90: 2 }),
    preferred_min_throughput: FastCheck.constantFrom(3, { p75: 1 }),
    order: FastCheck.oneof(FastCheck.constant([]), FastCheck.constant([]), someSlugs),
    only: FastCheck.shuffledSubarray(slugs, { minLength: 3 }),
    ignore: FastCheck.shuffledSubarray(slugs, { maxLength: 1 }),
    allow_fallbacks: FastCheck.boolean(),
    quantizations: FastCheck.constant(["fp8", "fp16"]),
    max_price: FastCheck.record({ prompt: FastCheck.constantFrom("2.5", 20) }),
    require_parameters: FastCheck.constantFrom(false, false, false, true),
  },
  { requiredKeys: [] },
)

/** Long enough to be cached. */
const question = "x".repeat(6000)

const names = ids.flatMap((id) => [
  id,
  id,
  ...["nitro", "floor", "exacto", "extended"].map((variant) => `${id}:${variant}`),
])

const anyRequest = FastCheck.record(
  {
    models: FastCheck.shuffledSubarray(names, { minLength: 1, maxLength: 5 }),
    provider: anyPreferences,
    messages: FastCheck.constantFrom("hi", "x".repeat(600), question).map((content) => [{ role: "user", content }]),
    session_id: FastCheck.constant("a session"),
    service_tier: FastCheck.constantFrom("flex", "priority", "default"),
    stream: FastCheck.boolean(),
    temperature: FastCheck.constant(0.5),
    max_tokens: FastCheck.constantFrom(5, 100),
  },
  { requiredKeys: ["models", "messages", "stream", "session_id"] },
)

type Fault = "500" | "rate limit" | "unreachable" | "no answer of the protocol"
const anyFault = FastCheck.constantFrom<Fault>("500", "rate limit", "unreachable", "no answer of the protocol")

const failing = (fault: Fault, request: Request): Response | Promise<Response> => {
  switch (fault) {
    case "500":
      return status(500)({}, request, 1)
    case "rate limit":
      return status(429)({}, request, 1)
    case "unreachable":
      return Promise.reject(new Error("no connection"))
    case "no answer of the protocol":
      return Response.json([])
  }
}

/** Earlier requests to one host each, which make its statistics and its cooldown. */
const anyPast = FastCheck.array(
  FastCheck.record({
    model: FastCheck.nat({ max: ids.length - 1 }),
    host: FastCheck.nat({ max: slugs.length - 1 }),
    fault: FastCheck.option(anyFault, { freq: 1 }),
    tookMs: FastCheck.integer({ min: 0, max: 3000 }),
  }),
  { maxLength: 12, size: "max" },
)

/** How many hosts fail, and what then happens: the next one answers, or it never does and the deadline ends the request. */
const anyFate = FastCheck.record({
  faults: FastCheck.array(anyFault, { minLength: 15, maxLength: 15 }),
  failures: FastCheck.oneof(FastCheck.nat({ max: 3 }), FastCheck.nat({ max: 15 })),
  next: FastCheck.constantFrom("answers", "stalls"),
})

const budgets = FastCheck.constantFrom(null, null, 40_000_000_000n, 400_000_000_000n)

test(
  "explained attempts are the attempts that are made",
  () =>
    FastCheck.assert(
      FastCheck.asyncProperty(
        FastCheck.record({
          models: anyModels,
          strategy: FastCheck.constantFrom(...strategies),
          past: anyPast,
          request: anyRequest,
          fate: anyFate,
          limit: budgets,
          start: FastCheck.integer({ min: 0, max: 2 ** 32 - 1 }),
        }),
        async ({ models, strategy, past, request, fate, limit, start }) => {
          const clock = new ManualClock()
          const tried: Array<string> = []
          let answer: (request: Request) => Response | Promise<Response> = () => new Response()
          const gateway = await gatewayWithoutSocket({
            config: {
              providers: Object.fromEntries(
                slugs.map((slug, at) => [
                  slug,
                  {
                    plugin: "openai-compatible",
                    base_url: `http://127.0.0.1:${at + 1}/v1`,
                    network: "private",
                    api_key: "k",
                  },
                ]),
              ),
              models,
              routing: { strategy },
              limits: { ttfb_ms: 0, deadline_ms: 60_000 },
            },
            upstream: Upstream.layerFrom(async (call) => {
              const { model } = (await call.clone().json()) as { readonly model: string }
              tried.push(model)
              return answer(call)
            }),
            setting: Layer.merge(Layer.setClock(clock), Layer.setRandom(Random.fixed([start / 2 ** 32]))),
          })
          try {
            const key = await gateway.newKey({ limit })
            const headers = { authorization: `Bearer ${key}` }
            const seeds = randomSequence(start)
            const nextSeed = () => Math.floor(seeds() * 2 ** 32)
            for (const { model: which, host: place, fault, tookMs } of past) {
              const { id: model = "", hosts = [] } = models[which] ?? {}
              const pinned = hosts[place % hosts.length]?.model.slice(model.length + 1) ?? ""
              answer = async (call) => {
                clock.advance(tookMs)
                return fault === null ? good()({}, call, 1) : failing(fault, call)
              }
              const asked = {
                model,
                messages: [{ role: "user", content: question }],
                session_id: "a session",
                max_tokens: 10,
              }
              await (await gateway.chat(asked, { headers: { ...headers, "x-gw-host": pinned } })).text()
              nextSeed()
            }

            const seed = nextSeed()
            const explained = await explainedBy(gateway, request, `?seed=${seed}`, headers)
            const planned = explained.attempts.map(({ model, host }) => `${model} ${host}`)

            tried.length = 0
            const stalled = Promise.withResolvers<void>()
            answer = (call) => {
              const at = tried.length - 1
              const fault = fate.faults[at]
              if (at < fate.failures && fault !== undefined) return failing(fault, call)
              if (fate.next === "answers") return good()(request, call, 1)
              stalled.resolve()
              return new Promise((_, reject) =>
                call.signal.addEventListener("abort", () => reject(new Error("aborted"))),
              )
            }
            const answering = gateway.chat(request, { headers }).then(async (response) => {
              await response.text()
              return response
            })
            const isStalled = await Promise.race([stalled.promise.then(() => true), answering.then(() => false)])
            let isOver = false
            void answering.then(() => {
              isOver = true
            })
            for (let second = 0; isStalled && second < 70; second++) {
              clock.advance(1000)
              await new Promise((resolve) => setImmediate(resolve))
            }
            const response = await answering
            expect(isOver).toBe(true)

            expect(tried).toEqual(planned.slice(0, fate.failures + 1))
            if (explained.error !== undefined) expect(response.status).toBe(explained.error.code)
            if (planned.length > fate.failures && fate.next === "answers") {
              expect(response.status).toBe(200)
              const [row] = await gateway.run(Effect.flatMap(Storage, (storage) => storage.ledger.rows(keyId(key), 1)))
              expect([row?.strategy, row?.seed]).toEqual([explained.strategy, seed])
            }
          } finally {
            await gateway.stop()
          }
        },
      ),
      { numRuns: 40 },
    ),
  1_800_000,
)
