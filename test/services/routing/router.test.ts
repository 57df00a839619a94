/** Plans: which hosts are tried for a request, in which order, and why the others are left out. */
import { describe, expect, test } from "bun:test"
import type * as Context from "effect/Context"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import { defineStrategy } from "headgate/plugin"
import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import type { Host } from "../../../src/domain/hosts/Host.ts"
import type { HostHealth } from "../../../src/services/hosts/HostHealth.ts"
import { Permit } from "../../../src/services/hosts/Permit.ts"
import { plannerFor } from "../../support/gateways/planner.ts"

const image = { type: "image_url", image_url: { url: "https://a.test/cat.png" } }
const audio = { type: "input_audio", input_audio: { data: "AA==", format: "wav" } }
const saying = (...content: ReadonlyArray<unknown>) => ({ messages: [{ role: "user", content }] })
const priced = (prompt: string, more: Record<string, unknown> = {}) => ({
  pricing: { prompt, completion: "0.000002", ...more },
})

/** Leaves the hosts as they are, so that what moves them is the preference. */
const asConfigured = defineStrategy({
  id: "as-configured",
  config: Schema.Struct({}),
  load: () => (candidates) => candidates,
})

describe("a model that is wanted by two names", () => {
  const planner = plannerFor([{ id: "acme/small", hosts: [{ provider: "a", supported_parameters: ["reasoning"] }] }])

  test.each([
    [["acme/small:thinking", "acme/small"], true],
    [["acme/small", "acme/small:thinking"], undefined],
  ])("%p: its host is called as the first of them says", async (models, thinks) => {
    const plan = Either.getOrThrow((await planner).plan({ model: undefined, models }))
    const [host] = plan.attempts
    expect(plan.attempts).toHaveLength(1)
    expect(host && plan.adjustments?.get(host)?.thinks).toBe(thinks)
  })
})

describe("a preference", () => {
  const planner = plannerFor(
    [
      {
        id: "acme/small",
        architecture: { input_modalities: ["text", "image"], output_modalities: ["text", "image"] },
        distillable: true,
        hosts: [
          {
            provider: "a",
            ...priced("0.000001"),
            quantization: "mxfp8",
            supported_parameters: ["temperature", "tools"],
          },
          { provider: "b", ...priced("0.000002", { discount: 0.75 }), quantization: "fp8", max_completion_tokens: 100 },
          {
            provider: "b",
            variant: "eu",
            ...priced("0.000003", { overrides: [{ min_prompt_tokens: 1000, prompt: "0.0000005" }] }),
            quantization: "nvfp4",
            input_modalities: ["text"],
            output_modalities: ["text"],
          },
          { provider: "c", ...priced("0.000004", { audio: "0.00001", request: "0.01" }), max_prompt_tokens: 50 },
          { provider: "d", context_length: 100_000 },
        ],
      },
      { id: "acme/big", distillable: false, hosts: [{ provider: "a" }] },
    ],
    {
      strategy: "as-configured",
      plugins: [asConfigured],
      privacy: {
        a: { may_train: false, retains_prompts: false },
        b: { may_train: false, retains_prompts: true },
        c: { may_train: true, retains_prompts: false },
      },
    },
  )

  const long = { messages: [{ role: "user", content: "x".repeat(16_000) }] }

  test.each<readonly [string, Record<string, unknown>, ReadonlyArray<string>]>([
    ["none", {}, ["a", "b", "b/eu", "c", "d"]],
    ["order", { provider: { order: ["d", "b"] } }, ["d", "b", "b/eu", "a", "c"]],
    ["order by full tag", { provider: { order: ["b/eu"] } }, ["b/eu", "a", "b", "c", "d"]],
    ["order in other words", { provider: { order: ["B/EU", "D"], allow_fallbacks: false } }, ["b/eu", "d"]],
    ["order beats sort", { provider: { order: ["d"], sort: "price" } }, ["d", "a", "b", "b/eu", "c"]],
    ["only", { provider: { only: ["b"] } }, ["b", "b/eu"]],
    ["only twice", { provider: { only: ["b", "b/eu", "nobody"] } }, ["b", "b/eu"]],
    ["ignore", { provider: { ignore: ["b/eu", "D"] } }, ["a", "b", "c"]],
    ["only and ignore", { provider: { only: ["b", "c"], ignore: ["b/eu"] } }, ["b", "c"]],
    ["no fallbacks", { provider: { allow_fallbacks: false } }, ["a"]],
    ["no fallbacks and only", { provider: { allow_fallbacks: false, only: ["b"] } }, ["b"]],
    ["data_collection", { provider: { data_collection: "deny" } }, ["a", "b", "b/eu"]],
    ["data_collection that is allowed", { provider: { data_collection: "allow" } }, ["a", "b", "b/eu", "c", "d"]],
    ["zdr", { provider: { zdr: true } }, ["a"]],
    ["distillable", { provider: { enforce_distillable_text: true } }, ["a", "b", "b/eu", "c", "d"]],
    ["quantizations", { provider: { quantizations: ["fp8"] } }, ["a", "b"]],
    ["quantizations of one kind", { provider: { quantizations: ["mxfp8", "fp4"] } }, ["a", "b/eu"]],
    ["unknown quantizations", { provider: { quantizations: ["unknown"] } }, ["c", "d"]],
    ["a ceiling, reached with the discount", { provider: { max_price: { prompt: 0.5 } } }, ["b"]],
    ["a ceiling below it", { provider: { max_price: { prompt: "0.999999" } } }, ["b"]],
    ["a ceiling for a short prompt", { provider: { max_price: { prompt: 1 } } }, ["a", "b"]],
    ["a ceiling for a long prompt", { ...long, provider: { max_price: { prompt: 1 } } }, ["a", "b", "b/eu"]],
    ["a ceiling for the output, with the discount", { provider: { max_price: { completion: "0.5" } } }, ["b"]],
    ["a ceiling for audio, else the prompt's price", { provider: { max_price: { audio: 0.000002 } } }, ["a", "b"]],
    ["a ceiling for a request", { provider: { max_price: { request: "0.009" } } }, ["a", "b", "b/eu"]],
    ["max_tokens", { max_tokens: 200 }, ["a", "b/eu", "c", "d"]],
    ["max_tokens and the context", { max_tokens: 8192 }, ["d"]],
    ["max_tokens that none can write", { max_tokens: 200_000 }, ["a", "b", "b/eu", "c", "d"]],
    ["the bound of the prompt", { messages: [{ role: "user", content: "x".repeat(1000) }] }, ["a", "b", "b/eu", "d"]],
    ["images", saying(image), ["a", "b", "c", "d"]],
    ["output that is an image", { modalities: ["text", "image"] }, ["a", "b", "c", "d"]],
    ["output that is text", { modalities: ["text"] }, ["a", "b", "b/eu", "c", "d"]],
    ["require_parameters", { temperature: 1, provider: { require_parameters: true } }, ["a"]],
    ["parameters that are not required", { temperature: 1, seed: 1 }, ["a", "b", "b/eu", "c", "d"]],
    ["a parameter that is better supported", { verbosity: "low" }, ["b", "b/eu", "c", "d"]],
    [
      "a parameter that unlisted hosts support better, where only listed ones may be called: no host was left",
      { verbosity: "low", provider: { order: ["a"], allow_fallbacks: false } },
      ["a"],
    ],
    [
      "a parameter that one of two listed hosts supports better",
      { verbosity: "low", provider: { order: ["a", "d"], allow_fallbacks: false } },
      ["d"],
    ],
    [
      "much at once",
      { provider: { data_collection: "deny", ignore: ["a"], quantizations: ["fp8", "fp4"], order: ["b/eu"] } },
      ["b/eu", "b"],
    ],
  ])("%s", async (_name, body, expected) => {
    expect((await planner).tags(body)).toEqual(expected)
  })

  test.each<readonly [string, Record<string, unknown>]>([
    ["enforce_distillable_text", { model: "acme/big", provider: { enforce_distillable_text: true } }],
    ["max_price", { provider: { max_price: { prompt: 0.49 } } }],
    ["input_modalities", saying(audio)],
    ["output_modalities", { modalities: ["audio"] }],
  ])("%s that leaves no host", async (by, body) => {
    const failure = Either.getOrThrow(Either.flip((await planner).plan(body)))
    expect(failure._tag === "NoHostMatches" && failure.excluded.at(-1)?.by).toBe(by)
  })
})

describe("preferred speeds", () => {
  const started = async () => {
    const made = await plannerFor([
      {
        id: "acme/small",
        hosts: [
          { provider: "a", ...priced("0.000001") },
          { provider: "b", ...priced("0.000002") },
        ],
      },
      { id: "acme/big", hosts: [{ provider: "c", ...priced("0.000001") }] },
    ])
    const [a, b] = made.hosts
    if (a === undefined || b === undefined) throw new Error("no hosts")
    // Half of a's answers are slow. b is fast but for one of twenty.
    for (let at = 0; at < 20; at++) {
      made.stats.record(a, { ok: true, latencyMs: at % 2 === 0 ? 500 : 3000, tokensPerSecond: at % 2 === 0 ? 50 : 5 })
      made.stats.record(b, { ok: true, latencyMs: at === 0 ? 9000 : 400, tokensPerSecond: at === 0 ? 1 : 40 })
    }
    return made
  }

  test.each<readonly [string, Record<string, unknown>, ReadonlyArray<string>]>([
    ["are met by both medians", { preferred_max_latency: 0.55, preferred_min_throughput: 4.5 }, ["a", "b"]],
    ["put the slower host behind", { preferred_max_latency: 0.45 }, ["b", "a"]],
    ["by percentile", { preferred_max_latency: { p50: 1, p90: 1 } }, ["b", "a"]],
    ["by several, of which one is missed by all", { preferred_max_latency: { p90: 1, p99: 1 } }, ["a", "b"]],
    ["that 90 % of the requests reached", { preferred_min_throughput: { p90: 20 } }, ["b", "a"]],
    ["that half of them reached", { preferred_min_throughput: 41 }, ["a", "b"]],
    ["come after an order", { preferred_max_latency: 0.45, order: ["a", "b"] }, ["b", "a"]],
    ["choose the only host without fallbacks", { preferred_max_latency: 0.45, allow_fallbacks: false }, ["b"]],
  ])("%s", async (_name, provider, expected) => {
    expect((await started()).tags({ provider })).toEqual(expected)
  })

  test("are those of the last five minutes, and a host without figures passes", async () => {
    const made = await started()
    const provider = { preferred_max_latency: 0.45 }
    made.clock.advance(299_000)
    expect(made.tags({ provider })).toEqual(["b", "a"])
    made.clock.advance(2000)
    expect(made.tags({ provider })).toEqual(["a", "b"])
  })

  test("let a fallback model overtake", async () => {
    const made = await started()
    const provider = { preferred_max_latency: 0.3 }
    expect(made.tags({ models: ["acme/big"], provider })).toEqual(["c", "a", "b"])
  })
})

describe("any request", () => {
  const names = ["a", "b", "b/flex", "b/priority", "c", "d", "nobody"]
  const some = (values: ReadonlyArray<string>) => FastCheck.subarray([...values])
  const rarely = <A>(arbitrary: FastCheck.Arbitrary<A>) => FastCheck.option(arbitrary, { nil: undefined, freq: 1 })
  const price = FastCheck.constantFrom(0, 0.5, 1, "1.5", 3)
  const threshold = FastCheck.constantFrom(0.1, 1, { p50: 1 }, { p90: 10, p99: 0.5 })
  const preferences = FastCheck.record({
    order: rarely(some(names)),
    only: rarely(some(names)),
    ignore: rarely(some(names)),
    sort: rarely(FastCheck.constantFrom("price", "latency", { by: "price", partition: "none" }, { partition: "none" })),
    allow_fallbacks: rarely(FastCheck.boolean()),
    data_collection: rarely(FastCheck.constantFrom("allow", "deny")),
    zdr: rarely(FastCheck.boolean()),
    enforce_distillable_text: rarely(FastCheck.boolean()),
    quantizations: rarely(some(["fp8", "fp4", "unknown", "bf16"])),
    max_price: rarely(FastCheck.record({ prompt: rarely(price), completion: rarely(price) })),
    require_parameters: rarely(FastCheck.boolean()),
    preferred_min_throughput: rarely(threshold),
    preferred_max_latency: rarely(threshold),
  })
  const models = [
    "acme/small",
    "acme/small:free",
    "acme/small:nitro",
    "acme/small:floor",
    "acme/big",
    "acme/big:extended",
  ]
  const body = FastCheck.record({
    model: FastCheck.constantFrom(...models),
    models: rarely(some(models)),
    provider: rarely(preferences),
    service_tier: rarely(FastCheck.constantFrom("auto", "default", "flex", "priority")),
    tools: rarely(FastCheck.constant([{ type: "function", function: { name: "f" } }])),
    temperature: rarely(FastCheck.constant(1)),
    max_tokens: rarely(FastCheck.constantFrom(1, 500, 5000)),
  })

  test("every host of its models is either tried or left out with a reason, each once; and no host that it excludes is tried", async () => {
    const planner = await plannerFor(
      [
        {
          id: "acme/small",
          hosts: [
            { provider: "a", ...priced("0.000001"), quantization: "fp8", supported_parameters: ["tools"] },
            { provider: "b", ...priced("0.000002"), quantization: "mxfp4", max_completion_tokens: 400 },
            { provider: "b", variant: "flex", ...priced("0.0000005") },
            { provider: "b", variant: "priority", ...priced("0.000004") },
            { provider: "c", pricing: { prompt: "0", completion: "0" } },
            { provider: "d", supported_parameters: ["temperature"] },
          ],
        },
        { id: "acme/big", distillable: true, hosts: [{ provider: "a" }, { provider: "d", context_length: 100 }] },
      ],
      { strategy: "balanced", privacy: { a: { may_train: false, retains_prompts: false }, b: { may_train: false } } },
    )
    const [cooling] = planner.hosts
    if (cooling === undefined) throw new Error("no host")
    const key = ({ model, tag }: { readonly model: string; readonly tag: string }) => `${model} ${tag}`
    FastCheck.assert(
      FastCheck.property(body, FastCheck.nat(), FastCheck.boolean(), (asked, seed, cools) => {
        if (cools) refuse(planner.health, cooling)
        else planner.clock.advance(2000)
        const planned = planner.plan(JSON.parse(JSON.stringify(asked)), seed)
        if (Either.isLeft(planned)) {
          expect(["NoHostMatches", "RoutingExhausted"]).toContain(planned.left._tag)
          return
        }
        const { attempts, excluded } = planned.right
        const wanted = new Set([asked.model, ...(asked.models ?? [])].map((name) => name.split(":")[0]))
        const all = planner.hosts.filter(({ model }) => wanted.has(model)).map(key)
        const left = excluded.map(({ model, host }) => key({ model, tag: host }))
        expect([...attempts.map(key), ...left].toSorted()).toEqual(all.toSorted())
        expect(excluded.every(({ by, reason }) => by !== "" && reason !== "")).toBe(true)
        // The same request and seed give the same plan.
        expect(Either.getOrThrow(planner.plan(JSON.parse(JSON.stringify(asked)), seed)).attempts).toEqual([...attempts])
        const {
          only = [],
          ignore = [],
          zdr,
          quantizations: known = [],
          allow_fallbacks,
          order = [],
        } = asked.provider ?? {}
        for (const { tag, provider, quantization } of attempts) {
          if (only.length > 0) expect(only.some((name) => name === tag || name === provider)).toBe(true)
          expect(ignore.some((name) => name === tag || name === provider)).toBe(false)
          if (zdr === true) expect(provider).toBe("a")
          if (known.length > 0) expect(known.some((name) => quantization.endsWith(name))).toBe(true)
        }
        if (allow_fallbacks === false && order.length === 0)
          expect(new Set(attempts.map(({ model }) => model)).size).toBe(attempts.length)
        if (allow_fallbacks === false && order.length > 0)
          expect(attempts.every(({ tag, provider }) => order.includes(tag) || order.includes(provider))).toBe(true)
      }),
      { numRuns: 3000 },
    )
  })
})

/** One call that the host refuses, after which it cools down for a second. */
const refuse = (health: Context.Tag.Service<HostHealth>, host: Host): void => {
  const permit = health.acquire({ host, maxConcurrent: 1 }, false, "a key")
  if (!(permit instanceof Permit)) return
  permit.failed(new HostFailed({ reason: "rate-limited", retryAfterSeconds: 1 }))
  permit.release()
}
