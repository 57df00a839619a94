/** Decoding of `provider`, how a caller wants to be routed. */
import { describe, expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import { noPreferences } from "../../../src/domain/request/Preferences.ts"
import { noNeeds } from "../../../src/domain/request/request.ts"
import { accepted, decode, issuesOf, provider } from "./decoding.ts"

describe("preferences", () => {
  const preferencesOf = (value: unknown) => accepted(decode(provider(value))).routing.preferences

  test("every member", () => {
    expect(
      preferencesOf({
        order: ["a", "b/eu"],
        only: ["A"],
        ignore: ["c"],
        sort: { by: "latency", partition: "none" },
        allow_fallbacks: false,
        data_collection: "deny",
        zdr: true,
        quantizations: ["fp8", "unknown"],
        max_price: { prompt: "0.15", completion: 2, request: "0.01", image: 0, audio: 1 },
        require_parameters: true,
        preferred_min_throughput: { p50: 10, p90: 1.5 },
        preferred_max_latency: 2,
        enforce_distillable_text: true,
        hedge: true,
      }),
    ).toEqual({
      order: ["a", "b/eu"],
      only: ["A"],
      ignore: ["c"],
      sort: "latency",
      partition: "none",
      allowFallbacks: false,
      denyDataCollection: true,
      zeroDataRetention: true,
      quantizations: ["fp8", "unknown"],
      maxPrice: { prompt: 150_000n, completion: 2_000_000n, request: 10_000_000_000n, image: 0n, audio: 10n ** 12n },
      requireParameters: true,
      distillable: true,
      minThroughput: { p50: 10, p90: 1.5 },
      maxLatencyMs: { p50: 2000 },
      serviceTier: undefined,
      hedge: true,
    })
  })

  test.each([
    ["default", "default"],
    ["flex", "flex"],
    ["priority", "priority"],
    ["fast", "priority"],
    ["auto", undefined],
    ["scale", undefined],
    [null, undefined],
  ] as const)("the service tier %p", (written, serviceTier) => {
    const { preferences } = accepted(decode({ service_tier: written, provider: { zdr: true } })).routing
    expect(preferences).toEqual({ ...noPreferences, zeroDataRetention: true, serviceTier })
  })

  test.each([
    [{ route: "sort" }, "none"],
    [{ route: "fallback" }, "model"],
    [{ route: "sort", provider: { sort: "price" } }, "none"],
    [{ route: "sort", provider: { sort: { partition: "model" } } }, "model"],
  ] as const)("the older name of the partition: %p", (body, partition) => {
    expect(accepted(decode(body)).routing.preferences.partition).toBe(partition)
  })

  test("what is needed of a host besides parameters", () => {
    const { needs } = accepted(
      decode({
        modalities: ["text", "image"],
        tool_choice: { type: "function", function: { name: "f" } },
        messages: [
          {
            role: "user",
            content: [
              { type: "image_url", image_url: { url: "https://a.test/1" } },
              { type: "image_url", image_url: { url: "https://a.test/2" } },
              { type: "input_video", video_url: { url: "https://a.test/3" } },
              { type: "input_audio", input_audio: { data: "AA", format: "wav" } },
              { type: "file", file: { file_data: "data:application/pdf;base64,AA==" } },
              { type: "text", text: "what?" },
            ],
          },
        ],
      }),
    ).routing
    expect(needs).toEqual({ inputs: ["image", "video", "audio", "file"], outputs: ["image"], toolChoice: "function" })
    expect(accepted(decode({ tool_choice: "required" })).routing.needs).toEqual({ ...noNeeds, toolChoice: "required" })
  })

  test.each<readonly [string, unknown, string?]>([
    ["order", "a"],
    ["order", [""], "[0]"],
    ["only", [1], "[0]"],
    ["ignore", Array.from({ length: 65 }, () => "a")],
    ["allow_fallbacks", "no"],
    ["sort", 1],
    ["sort", { by: 1 }, ".by"],
    ["sort", { by: "price", partition: "all" }, ".partition"],
    ["require_parameters", 1],
    ["data_collection", true],
    ["zdr", "true"],
    ["enforce_distillable_text", 1],
    ["quantizations", "fp8"],
    ["quantizations", ["int2"], "[0]"],
    ["max_price", 3],
    ["max_price", { prompt: -1 }, ".prompt"],
    ["max_price", { completion: "1 USD" }, ".completion"],
    ["max_price", { request: [] }, ".request"],
    ["max_price", { image: "-0.1" }, ".image"],
    ["max_price", { audio: {} }, ".audio"],
    ["preferred_min_throughput", "fast"],
    ["preferred_min_throughput", { p75: "9" }, ".p75"],
    ["preferred_max_latency", -1],
    ["preferred_max_latency", { p99: true }, ".p99"],
  ])("a bad value is refused with its path: %s %p", (name, value, more = "") => {
    const [issue] = issuesOf(decode(provider({ [name]: value })))
    expect(issue?.path).toBe(`provider.${name}${more}`)
  })

  test("null and absent are the defaults", () => {
    expect(preferencesOf({})).toEqual(noPreferences)
    const names = [
      "hedge",
      "order",
      "only",
      "ignore",
      "sort",
      "allow_fallbacks",
      "data_collection",
      "zdr",
      "quantizations",
      "require_parameters",
    ]
    expect(preferencesOf(Object.fromEntries(names.map((name) => [name, null])))).toEqual(noPreferences)
    expect(preferencesOf({ zdr: false, data_collection: "allow", sort: "price" })).toEqual({
      ...noPreferences,
      sort: "price",
    })
  })

  test.each<[string | number, bigint]>([
    [0, 0n],
    ["1", 1_000_000n],
    [0.29, 290_000n],
    [0.1 + 0.2, 300_000n],
    ["0.000001", 1n],
    ["0.0000019999", 1n],
    [1e-7, 0n],
    ["1.5e1", 15_000_000n],
    [1e21, 10n ** 27n],
  ])("a ceiling of %p USD per 1M tokens", (prompt, picodollars) => {
    expect(preferencesOf({ max_price: { prompt } }).maxPrice).toEqual({ prompt: picodollars })
  })

  test("a price of whole picodollars is within the ceiling just when it is in decimals", () => {
    const decimals = 9
    FastCheck.assert(
      FastCheck.property(FastCheck.bigInt(0n, 10n ** 12n), FastCheck.bigInt(-3n, 3n), (ceiling, off) => {
        const digits = ceiling.toString().padStart(decimals + 1, "0")
        const { maxPrice } = preferencesOf({
          max_price: { prompt: `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}` },
        })
        const price = ceiling / 1000n + off
        expect(price <= (maxPrice.prompt ?? -1n)).toBe(price * 1000n <= ceiling)
      }),
    )
  })
})
