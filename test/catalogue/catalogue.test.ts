import { describe, expect, test } from "bun:test"
import * as fc from "effect/FastCheck"
import { decodeModels, mergeModels, servedBy } from "../../src/catalogue/models.ts"
import { formatUsd } from "../../src/domain/price/money.ts"

const facts = { name: "Acme", privacy: { mayTrain: false, retainsPrompts: true }, local: false }
const providers = new Map([
  ["acme", facts],
  ["beta", { ...facts, name: "Beta", local: true }],
])

const decoded = (...entries: ReadonlyArray<unknown>) => {
  const { models, problems } = decodeModels(entries, providers)
  expect(problems).toEqual([])
  return models
}

const pricingOf = (pricing: unknown) =>
  decoded({ id: "a/b", context_length: 1, hosts: [{ provider: "acme", pricing }] })[0]?.hosts[0]?.pricing

describe("a model", () => {
  test("takes from its provider, and its host from it, what is not said", () => {
    const [model] = decoded({
      id: "acme/small:free",
      context_length: 8192,
      hosts: [{ provider: "acme" }, { provider: "beta", variant: "eu", context_length: 4096 }],
    })
    expect(model).toMatchObject({ name: "acme/small:free", description: "", created: 0, contextLength: 8192 })
    expect(model?.architecture).toEqual({
      tokenizer: "Other",
      instructType: null,
      inputModalities: ["text"],
      outputModalities: ["text"],
    })
    const all = { none: true, auto: true, required: true, function: true }
    const common = {
      model: "acme/small:free",
      upstreamModel: "small:free",
      efforts: [],
      listed: {
        ...{ expirationDate: null, nativeTools: {}, voiceCloning: false, multipleAudioReferences: false },
        ...{ imageReference: false, diarization: false },
      },
      tags: [],
      quantization: "unknown",
      pricing: null,
      maxPromptTokens: null,
      supportedParameters: [],
      supportsToolChoice: all,
      supportsImplicitCaching: false,
      billsAfterAbort: false,
      inputModalities: [],
      outputModalities: [],
      privacy: facts.privacy,
    }
    expect<unknown>(model?.hosts).toEqual([
      {
        ...common,
        tag: "acme",
        provider: "acme",
        providerName: "Acme",
        contextLength: 8192,
        maxCompletionTokens: 8192,
        local: false,
      },
      {
        ...common,
        tag: "beta/eu",
        provider: "beta",
        providerName: "Beta",
        contextLength: 4096,
        maxCompletionTokens: 4096,
        local: true,
      },
    ])
  })

  test("has the context length of its largest host where it says none", () => {
    const hosts = [
      { provider: "acme", context_length: 100 },
      { provider: "beta", context_length: 300 },
    ]
    expect(decoded({ id: "a/b", hosts })[0]?.contextLength).toBe(300)
  })

  test("cannot choose tools where its host is known to have none", () => {
    const [model] = decoded({
      id: "a/b",
      context_length: 1,
      hosts: [{ provider: "acme", supported_parameters: ["seed"] }],
    })
    expect(model?.hosts[0]?.supportsToolChoice).toEqual({ none: false, auto: false, required: false, function: false })
  })

  test.each(["a/\u001b[31mred", "a/b\u0007", "a/\u202eb"])("has no characters that cannot be seen: %j", (id) => {
    expect(decodeModels([{ id, context_length: 1, hosts: [{ provider: "acme" }] }], providers)).toMatchObject({
      models: [],
      problems: [{ path: "models[0].id" }],
    })
  })

  test("loses its bad hosts, and no other model loses anything", () => {
    const { models, problems } = decodeModels(
      [
        { id: "a/b", context_length: 1, hosts: [{ provider: "acme", quantization: "fp7" }, { provider: "beta" }] },
        { id: "a" },
        { id: "a/c", context_length: 1 },
      ],
      providers,
      ["plugin acme", "models"],
    )
    expect(models.map((model) => [String(model.id), ...model.hosts.map((host) => String(host.tag))])).toEqual([
      ["a/b", "beta"],
      ["a/c"],
    ])
    expect(problems.map(({ path }) => path)).toEqual([
      '["plugin acme"].models[0].hosts[0].quantization',
      '["plugin acme"].models[1].id',
    ])
  })
})

describe("prices", () => {
  test("are exact to twelve decimals, as text and as number", () => {
    expect(pricingOf({ prompt: "0.000000000001", completion: 2.5e-7 })).toMatchObject({
      prompt: 1n,
      completion: 250_000n,
    })
    expect(pricingOf({ prompt: "0.123456789012", completion: "789.000000000001" })).toMatchObject({
      prompt: 123_456_789_012n,
      completion: 789_000_000_000_001n,
    })
  })

  test.each(["1000.01", "1e300", "9".repeat(400), 40_000])("a price that no ledger can hold is none: %p", (prompt) => {
    const { problems } = decodeModels(
      [{ id: "a/b", context_length: 1, hosts: [{ provider: "acme", pricing: { prompt, completion: 0 } }] }],
      providers,
    )
    expect(problems.map(({ path }) => path)).toEqual(["models[0].hosts[0].pricing.prompt"])
  })

  test("any amount of picodollars comes back as it was written", () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: 0n, max: 10n ** 15n }),
        fc.bigInt({ min: 0n, max: 10n ** 15n }),
        (prompt, completion) => {
          expect(pricingOf({ prompt: formatUsd(prompt), completion: formatUsd(completion) })).toMatchObject({
            prompt,
            completion,
          })
        },
      ),
      { numRuns: 50 },
    )
  })

  test("take every member of a listing", () => {
    const pricing = pricingOf({
      prompt: "0.000001",
      completion: "0.000002",
      request: "0.01",
      image: "0.02",
      audio: "0.000003",
      audio_output: "0.000004",
      image_output: "0.000005",
      image_token: "0.000006",
      web_search: "0.03",
      internal_reasoning: "0.000007",
      input_cache_read: "0.0000001",
      input_cache_read_explicit: "0.00000005",
      input_cache_write: "0.00000125",
      input_cache_write_1h: null,
      input_audio_cache: "0.1",
      discount: 0.25,
      overrides: [
        { min_prompt_tokens: 200000, prompt: "0.00001", input_cache_read: "0" },
        { utc_start: 2200, utc_end: 600, utc_days: ["saturday", "sunday"], completion: 0 },
      ],
    })
    expect(pricing).toEqual({
      prompt: 1_000_000n,
      completion: 2_000_000n,
      request: 10_000_000_000n,
      image: 20_000_000_000n,
      audio: 3_000_000n,
      audioOutput: 4_000_000n,
      imageOutput: 5_000_000n,
      imageToken: 6_000_000n,
      inputAudioCache: 100_000_000_000n,
      webSearch: 30_000_000_000n,
      internalReasoning: 7_000_000n,
      inputCacheReadExplicit: 50_000n,
      inputCacheRead: 100_000n,
      inputCacheWrite: 1_250_000n,
      inputCacheWrite1h: null,
      discountPpm: 250_000n,
      overrides: [
        { minPromptTokens: 200_000, prices: { prompt: 10_000_000n, inputCacheRead: 0n } },
        {
          minPromptTokens: 0,
          utcStart: 2200,
          utcEnd: 600,
          utcDays: ["saturday", "sunday"],
          prices: { completion: 0n },
        },
      ],
    })
  })

  test("are unknown, not zero, where none are given", () => {
    expect(pricingOf(undefined)).toBeNull()
    expect(pricingOf(null)).toBeNull()
  })
})

describe("several sources", () => {
  test("a plugin's entries are served by the provider that brings them", () => {
    const entries = [
      { id: "a/b", context_length: 1 },
      { id: "a/c", context_length: 1, hosts: [{}, { variant: "eu" }] },
      "odd",
    ]
    expect(servedBy(entries, "beta")).toEqual([
      { id: "a/b", context_length: 1, hosts: [{ provider: "beta" }] },
      { id: "a/c", context_length: 1, hosts: [{ provider: "beta" }, { variant: "eu", provider: "beta" }] },
      "odd",
    ])
  })

  test("become one catalogue, the first source before the others", () => {
    const file = decoded({
      id: "a/b",
      name: "Ours",
      context_length: 10,
      hosts: [{ provider: "acme", quantization: "fp8" }],
    })
    const plugin = decoded(
      {
        id: "a/b",
        name: "Theirs",
        context_length: 20,
        hosts: [{ provider: "acme" }, { provider: "acme", variant: "eu" }],
      },
      { id: "a/c", context_length: 20, hosts: [{ provider: "acme" }] },
    )
    const other = decoded(...servedBy([{ id: "a/b", context_length: 30 }], "beta"))
    const merged = mergeModels([file, plugin, other])
    expect(merged.map((model) => [String(model.id), model.name, model.contextLength])).toEqual([
      ["a/b", "Ours", 10],
      ["a/c", "a/c", 20],
    ])
    expect(merged[0]?.hosts.map((host) => [String(host.tag), host.quantization])).toEqual([
      ["acme", "fp8"],
      ["acme/eu", "unknown"],
      ["beta", "unknown"],
    ])
  })
})
