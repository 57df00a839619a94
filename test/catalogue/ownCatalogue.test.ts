/** The models that the gateway's own plugins bring: they are read as they are written, and cost what their sources say. */
import { describe, expect, test } from "bun:test"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { byProvider } from "../../src/catalogue/byModel.ts"
import { problemsIn, readCatalogue, writtenCatalogue, writtenList } from "../../src/catalogue/catalogueFile.ts"
import { decodeModels, mergeModels, servedBy } from "../../src/catalogue/models.ts"
import { quickReader } from "../../src/catalogue/quickReader.ts"
import { HostEntry, ModelEntry } from "../../src/catalogue/schema.ts"
import type { Host, Model } from "../../src/domain/hosts/Host.ts"
import { isJsonObject, type JsonObject } from "../../src/domain/json/json.ts"
import { formatUsd } from "../../src/domain/price/money.ts"
import { priceFields, priceNames } from "../../src/domain/price/price.ts"
import { ownPluginsFolder } from "../support/hosts/ownPlugins.ts"

const folder = join(ownPluginsFolder(), "providers")
const sources = join(import.meta.dir, "../../../shared/catalog/models.json")

/** By slug: the entries as they are in the files. */
const lists = new Map<string, ReadonlyArray<JsonObject>>(
  readdirSync(folder)
    .filter((slug) => existsSync(join(folder, slug, "models.json")))
    .map((slug) => [slug, JSON.parse(readFileSync(join(folder, slug, "models.json"), "utf8"))]),
)

/** Models that came out after the source catalogue was made; see docs/catalogue.md. */
const later: ReadonlySet<string> = new Set([
  ...["openai/gpt-6.1-terra", "openai/gpt-6.2-astra", "openai/gpt-6.2-astra-law", "openai/gpt-6.2-sol"],
  ...["openai/gpt-daybreak-blue-latest", "openai/gpt-daybreak-red-latest"],
  ...["anthropic/claude-fable-5.2", "anthropic/claude-mythos-5", "anthropic/claude-mythos-5.1"],
  ...["anthropic/claude-mythos-5.2", "anthropic/claude-mythos-preview"],
])

const facts = { privacy: { mayTrain: true, retainsPrompts: true }, local: false }
const decoded = Array.from(lists, ([slug, list]) =>
  decodeModels(servedBy(list, slug), new Map([[slug, { ...facts, name: slug }]])),
)
const models = new Map<string, Model>(mergeModels(decoded.map((each) => each.models)).map((model) => [model.id, model]))
const hostAt = (id: string, tag: string): Host | undefined => models.get(id)?.hosts.find((host) => host.tag === tag)

test("all of them are accepted, and written a line each", () => {
  expect(decoded.flatMap(({ problems }) => problems)).toEqual([])
  for (const [slug, list] of lists) {
    expect(readFileSync(join(folder, slug, "models.json"), "utf8")).toBe(writtenList(list))
  }
})

// Agreed on by two or more price lists in 2026-08; USD per million tokens.
test.each([
  ["openai/gpt-5-mini", "openai", 0.25, 2],
  ["openai/gpt-5.5", "openai", 5, 30],
  ["openai/gpt-4o-mini", "openai", 0.15, 0.6],
  ["openai/text-embedding-3-small", "openai", 0.02, 0],
  ["openai/gpt-4.1", "azure", 2, 8],
  ["anthropic/claude-sonnet-4.5", "anthropic", 3, 15],
  ["anthropic/claude-opus-4.8", "anthropic", 5, 25],
  ["anthropic/claude-haiku-4.5", "bedrock", 1, 5],
  ["google/gemini-2.5-pro", "google-ai-studio", 1.25, 10],
  ["google/gemini-2.5-flash", "google-vertex", 0.3, 2.5],
  ["meta-llama/llama-3.3-70b-instruct", "groq", 0.59, 0.79],
  ["openai/gpt-oss-120b", "groq", 0.15, 0.6],
  ["meta-llama/llama-3.3-70b-instruct", "together", 0.88, 0.88],
  ["deepseek/deepseek-v4-pro", "deepinfra", 1.3, 2.6],
  ["mistralai/mistral-large-2512", "mistral", 0.5, 1.5],
  ["cohere/command-a", "cohere", 2.5, 10],
  ["x-ai/grok-4.3", "xai", 1.25, 2.5],
  ["moonshotai/kimi-k2.6", "moonshotai", 0.95, 4],
  ["z-ai/glm-5.1", "z-ai", 1.4, 4.4],
  ["perplexity/sonar-pro", "perplexity", 3, 15],
])("%s at %s costs %f and %f", (id, tag, prompt, completion) => {
  // Its plugin may not be there yet.
  if (!lists.has(tag)) return
  const pricing = hostAt(id, tag)?.pricing
  const perMillion = (price: bigint | undefined) => Number(price) / 1e6
  expect([perMillion(pricing?.prompt), perMillion(pricing?.completion)]).toEqual([prompt, completion])
})

// Codex 0.171 has the first one built in. OpenAI's and Anthropic's pages, as others quote them (docs/catalogue.md).
test.each([
  ["gpt-6.2-sol", "openai/gpt-6.2-sol", 2, 10, 0.1],
  ["gpt-6.2-astra", "openai/gpt-6.2-astra", 8, 40, 0.4],
  ["gpt-6.2-astra-law", "openai/gpt-6.2-astra-law", null, null, null],
  ["gpt-6.1-terra", "openai/gpt-6.1-terra", 1, 5, 0.05],
  ["gpt-daybreak-blue-latest", "openai/gpt-daybreak-blue-latest", null, null, null],
  ["gpt-daybreak-red-latest", "openai/gpt-daybreak-red-latest", null, null, null],
  ["claude-fable-5-2", "anthropic/claude-fable-5.2", null, null, null],
  ["claude-mythos-5", "anthropic/claude-mythos-5", 10, 50, 1],
  ["claude-mythos-5-1", "anthropic/claude-mythos-5.1", 10, 50, 0.25],
  ["claude-mythos-5-2", "anthropic/claude-mythos-5.2", null, null, null],
  ["claude-mythos-preview", "anthropic/claude-mythos-preview", null, null, null],
])("the new name %s is %s, with its vendor's prices where they are known", (name, id, prompt, completion, read) => {
  const host = hostAt(id, id.startsWith("openai/") ? "openai" : "anthropic")
  const perMillion = (price: bigint | null | undefined) => (price == null ? null : Number(price) / 1e6)
  const { pricing } = host ?? {}
  expect(host?.upstreamModel).toBe(name)
  expect([pricing?.prompt, pricing?.completion, pricing?.inputCacheRead].map(perMillion)).toEqual([
    prompt,
    completion,
    read,
  ])
})

describe.skipIf(!existsSync(sources))("against the catalogue that they were made from", () => {
  const read = (): JsonObject => JSON.parse(existsSync(sources) ? readFileSync(sources, "utf8") : "{}")
  const objects = (value: unknown): ReadonlyArray<JsonObject> =>
    Array.isArray(value) ? value.filter(isJsonObject) : []
  const served = objects(read()["models"]).flatMap((model) =>
    objects(model["hosts"])
      .filter(({ provider, status }) => status !== "retired" && lists.has(String(provider)))
      .filter((host) => (host["context_length"] ?? model["context_length"]) != null)
      .map((host) => ({ model, host, own: hostAt(String(model["id"]), String(host["tag"])) })),
  )

  test("every model and host is there but what is retired, and what has no length of context", () => {
    expect(served.filter(({ own }) => own === undefined)).toEqual([])
    const tiers = [...models.values()].flatMap(({ hosts }) =>
      hosts.filter(({ tag }) => /\/(?:flex|priority)$/.test(tag)),
    )
    const known = [...models.values()].filter(({ id }) => !later.has(id))
    expect(known.flatMap(({ hosts }) => hosts).length - tiers.length).toBe(served.length)
    expect(new Set(tiers.map(({ provider }) => provider))).toEqual(new Set(["openai"]))
  })

  test("every price is the same, digit for digit, and there is no other", () => {
    for (const { model, host, own } of served) {
      const { overrides = [], ...prices } = isJsonObject(host["pricing"]) ? host["pricing"] : {}
      const known = host["price_status"] === "unpriced" ? null : prices
      const where = `${model["id"]} ${host["tag"]}`
      expect([where, own?.pricing == null ? null : writtenPrices(own.pricing)]).toEqual([where, known])
      if (known === null) continue
      const changes = own?.pricing?.overrides.map(
        ({ prices: changed, minPromptTokens, utcStart, utcEnd, utcDays }) => ({
          ...(minPromptTokens === 0 ? {} : { min_prompt_tokens: minPromptTokens }),
          ...(utcStart === undefined ? {} : { utc_start: utcStart, utc_end: utcEnd, utc_days: utcDays }),
          ...writtenPrices({ ...changed }, false),
        }),
      )
      const { scheduled_pricing: later } = host
      expect([where, changes]).toEqual([
        where,
        [...objects(overrides), ...(isJsonObject(later) ? [scheduled(later)] : [])],
      ])
    }
  })

  const scheduled = ({ effective: _, ...prices }: JsonObject) => prices

  test("limits and names are the same", () => {
    for (const { model, host, own } of served) {
      const length = host["context_length"] ?? model["context_length"]
      expect<unknown>([own?.upstreamModel, own?.contextLength, own?.maxCompletionTokens, own?.maxPromptTokens]).toEqual(
        [host["upstream_model_id"], length, host["max_completion_tokens"] ?? length, host["max_prompt_tokens"] ?? null],
      )
    }
  })

  test("a refresh from it changes nothing", () => {
    const again = byProvider(read())
    for (const [slug, list] of lists) {
      const known = list.filter(({ id }) => !later.has(String(id)))
      expect<unknown>([slug, again.get(slug)]).toEqual([slug, known])
    }
  })
})

/** Prices by their wire names. `sparse`: without those that are free because they are absent. */
const writtenPrices = (prices: object, sparse = true): JsonObject =>
  Object.fromEntries(
    priceNames.flatMap((name) => {
      const price: unknown = Reflect.get(prices, name)
      const { wire, otherwise } = priceFields[name]
      return typeof price !== "bigint" || (sparse && price === 0n && otherwise === "free")
        ? []
        : [[wire, formatUsd(price)]]
    }),
  )

describe("what is read by the quick way", () => {
  const quickHost = quickReader(HostEntry)
  const quickModel = quickReader(ModelEntry)
  const strictly = { errors: "all", onExcessProperty: "error" } as const
  const schemas = {
    host: ParseResult.decodeUnknownEither(HostEntry, strictly),
    model: ParseResult.decodeUnknownEither(ModelEntry, strictly),
  }
  const hosts = Array.from(lists).flatMap(([slug, list]) =>
    servedBy(list, slug).flatMap((entry) => (isJsonObject(entry) ? [entry["hosts"]].flat() : [])),
  )
  const entries = [...lists.values()].flat()

  test("is what the schemas read", () => {
    for (const host of hosts) {
      expect<unknown>(schemas.host(host)).toEqual(Either.fromNullable(quickHost(host), () => null))
    }
    for (const model of entries)
      expect<unknown>(schemas.model(model)).toEqual(Either.fromNullable(quickModel(model), () => null))
  })

  const anything = FastCheck.oneof(
    FastCheck.constantFrom<unknown>(undefined, null, "", "x", "0.5", -1, 0, 1, 1.5, 2 ** 40, true, [], [""], ["a"], {}),
    FastCheck.jsonValue({ maxDepth: 2 }),
  )
  /** An entry with one member replaced, at any depth. */
  const damaged = (entry: unknown): FastCheck.Arbitrary<unknown> => {
    if (typeof entry !== "object" || entry === null) return anything
    const names = [...Object.keys(entry), "other"]
    return FastCheck.oneof(
      anything,
      FastCheck.constantFrom(...names).chain((name) =>
        damaged(Reflect.get(entry, name)).map((value) =>
          Array.isArray(entry) ? [...entry.slice(1), value] : { ...entry, [name]: value },
        ),
      ),
    )
  }
  const hours = { starts: "2027-01-01", utc_start: 100, utc_end: 2300, utc_days: ["monday"] }
  const override = { ...hours, min_prompt_tokens: 5, prompt: "1" }
  const full = {
    ...{
      provider: "acme",
      variant: "eu",
      model: "m",
      quantization: "fp8",
      context_length: 9,
      max_completion_tokens: 8,
    },
    ...{ supports_tool_choice: { none: true, auto: true, required: true, function: true }, input_modalities: ["text"] },
    pricing: { prompt: "0.1", completion: 1, web_search: "1", discount: "0.25", overrides: [override] },
    expiration_date: "2027-01-31",
    native_tools: { web_search: { type: "web_search_20250305" } },
    supports_diarization: true,
  }

  test("is every member that they read", () => {
    expect<unknown>(schemas.host(full)).toEqual(Either.fromNullable(quickHost(full), () => null))
  })

  test.each<[Schema.Schema.AnyNoContext, object]>([
    [Schema.Struct({ a: Schema.DateFromSelf }), { a: new Date(0) }],
    [Schema.Struct({ a: Schema.Tuple(Schema.String) }), { a: ["x"] }],
    [Schema.Struct({ a: Schema.Trim }), { a: 1 }],
  ])("%# is not a form that the reader knows, or is wrong: it is left to the schema", (schema, value) => {
    expect(quickReader(schema)(value)).toBeUndefined()
  })

  test("is never more than they read", () => {
    FastCheck.assert(
      FastCheck.property(damaged(full), (host) => {
        const quick = quickHost(host)
        if (quick !== undefined) expect(schemas.host(host)).toEqual(Either.right(quick))
      }),
      { numRuns: 2000 },
    )
    const [first = {}] = entries.filter((entry) => "reasoning" in entry)
    FastCheck.assert(
      FastCheck.property(damaged({ ...first, hosts: [] }), (model) => {
        const quick = quickModel(model)
        if (quick !== undefined) expect(schemas.model(model)).toEqual(Either.right(quick))
      }),
      { numRuns: 2000 },
    )
  })
})

describe("a catalogue as a file", () => {
  test("is read as it was written", () => {
    expect(readCatalogue(JSON.parse(writtenCatalogue(lists)))).toEqual(Either.right(lists))
    expect(problemsIn(lists)).toEqual([])
  })

  test.each<[unknown, string]>([
    [[], "expected an object, got list"],
    [{ format: 2, providers: {} }, "expected 1"],
    [{ format: 1, providers: [] }, "providers"],
    [{ format: 1, providers: { "Bad slug": [] } }, "Bad slug"],
    [{ format: 1, providers: { acme: {} } }, "providers.acme"],
  ])("%j is none", (raw, says) => {
    const read = readCatalogue(raw)
    const problems = Either.isLeft(read) ? read.left.map(({ path, message }) => `${path}: ${message}`) : []
    expect(problems.join()).toContain(says)
  })
})

describe("a start", () => {
  /** Looks like a key of a vendor: a shorter one would be warned of. */
  const key = "key-of-the-tests"
  const started = async (env: Readonly<Record<string, string>>) => {
    const child = Bun.spawn([process.execPath, join(import.meta.dir, "../support/hosts/loadedPlugins.ts")], {
      env: { PATH: process.env["PATH"] ?? "", ...env },
      stderr: "inherit",
    })
    const { files, models: listed }: Started = JSON.parse(await new Response(child.stdout).text())
    return { files, listed: new Map(listed) }
  }
  interface Started {
    readonly files: ReadonlyArray<string>
    readonly models: ReadonlyArray<[id: string, tags: ReadonlyArray<string>]>
  }

  test("reads the models and the code of providers with a key, and of no other", async () => {
    const { files, listed } = await started({ GEMINI_API_KEY: key })
    // The deviations of a host that is data are part of its index.
    const own = /^(?:echo|google-ai-studio)\/|^mistral\/payload\.ts$/
    expect(files.filter((path) => !own.test(path))).toEqual([])
    expect(files).toContain("google-ai-studio/models.json")
    expect(files).toContain("google-ai-studio/provider.ts")
    expect(listed.get("google/gemini-2.5-pro")).toEqual(["google-ai-studio"])
    expect(listed.has("openai/gpt-5-mini")).toBe(false)
  }, 1_800_000)

  test("gives a model as many hosts as there are keys", async () => {
    const { listed } = await started({ GROQ_API_KEY: key, TOGETHER_API_KEY: key, DEEPINFRA_API_KEY: key })
    expect(listed.get("meta-llama/llama-3.3-70b-instruct")?.toSorted()).toEqual(["deepinfra", "groq", "together"])
  }, 1_800_000)
})
