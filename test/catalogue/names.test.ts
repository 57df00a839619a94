/** The names that callers may use for a model: those of the whole catalogue, and what counts where two models have one. docs/catalogue.md */
import { beforeAll, describe, expect, test } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { authorsProviders } from "../../src/catalogue/byModel.ts"
import { decodeModels, mergeModels, servedBy } from "../../src/catalogue/models.ts"
import { type ModelNames, modelNames, resolveName } from "../../src/catalogue/names.ts"
import type { Model } from "../../src/domain/hosts/Host.ts"
import { type JsonObject, objectsIn } from "../../src/domain/json/json.ts"
import type { ProviderPlugin } from "../../src/plugin/Provider.ts"
import { ownPlugins } from "../support/gateways/gateway.ts"
import { ownPluginsFolder } from "../support/hosts/ownPlugins.ts"

const sources = join(import.meta.dir, "../../../shared/catalog/models.json")
const noAliases: ReadonlyMap<string, string> = new Map()
const privacy = { mayTrain: true, retainsPrompts: true }

const authorsOf = ({ id, authors = [id] }: ProviderPlugin): ReadonlyArray<string> => authors

const authorOf = (id: string): string => id.slice(0, id.indexOf("/"))

/** The catalogue as each plugin brings it. */
let lists: ReadonlyArray<{ readonly plugin: ProviderPlugin; readonly models: ReadonlyArray<Model> }>
let names: ModelNames

beforeAll(async () => {
  lists = (await Effect.runPromise(ownPlugins)).flatMap((plugin) => {
    const file = join(ownPluginsFolder(), "providers", plugin.id, "models.json")
    if (plugin.kind !== "provider" || !existsSync(file)) return []
    const facts = { name: plugin.name, privacy, local: false, authors: authorsOf(plugin) }
    const entries = servedBy(JSON.parse(readFileSync(file, "utf8")), plugin.id)
    return [{ plugin, models: decodeModels(entries, new Map([[plugin.id, facts]])).models }]
  })
  names = modelNames(mergeModels(lists.map(({ models }) => models)), noAliases)
})

const meant = (name: string, among = names): string => {
  const resolved = resolveName(name, among)
  return Either.isRight(resolved) ? resolved.right.model.id : "unknown"
}

describe("in the whole catalogue", () => {
  test.each([
    ["claude-sonnet-4-5", "anthropic/claude-sonnet-4.5"],
    ["claude-sonnet-4-5-20250929", "anthropic/claude-sonnet-4.5"],
    ["anthropic/claude-sonnet-4-5", "anthropic/claude-sonnet-4.5"],
    ["claude-haiku-4-5", "anthropic/claude-haiku-4.5"],
    ["claude-haiku-4-5-20251001", "anthropic/claude-haiku-4.5"],
    ["claude-opus-4-6", "anthropic/claude-opus-4.6"],
    ["claude-opus-4-8", "anthropic/claude-opus-4.8"],
    ["claude-3-haiku-20240307", "anthropic/claude-3-haiku"],
    ["gpt-5.5-2026-04-23", "openai/gpt-5.5"],
    ["gpt-5-chat-latest", "openai/gpt-5-chat"],
    ["gemini-2.0-flash", "google/gemini-2.0-flash-001"],
    ["mistral-large-latest", "mistralai/mistral-large-2512"],
    ["grok-4.20-0309-reasoning", "x-ai/grok-4.20"],
    ["amazon.nova-lite-v1:0", "amazon/nova-lite-v1"],
    ["nvidia/nemotron-3-nano-30b-a3b", "nvidia/nemotron-3-nano-30b-a3b"],
  ])("%s is %s", (name, id) => {
    expect(meant(name)).toBe(id)
  })

  test("every name by which a host of its author calls a model means that model, and none is ambiguous", () => {
    const called = lists.flatMap(({ plugin, models }) =>
      models
        .filter(({ id }) => authorsOf(plugin).includes(authorOf(id)))
        .flatMap(({ id, aliases = [], hosts }) =>
          [...hosts.map(({ upstreamModel }) => upstreamModel), ...aliases].map((name) => [name, id] as const),
        ),
    )
    expect(called.length).toBeGreaterThan(400)
    expect(called.filter(([name, id]) => meant(name) !== id)).toEqual([])
  })

  test("every author that has a provider here has it as its own", () => {
    const authors = new Set(lists.flatMap(({ models }) => models.map(({ id }) => authorOf(id))))
    const own = new Set(lists.flatMap(({ plugin }) => authorsOf(plugin)))
    // Their weights are served by others alone.
    expect([...authors].filter((author) => !own.has(author)).toSorted()).toEqual([
      ...["abacusai", "aisingapore", "baai", "baichuan", "baidu", "bytedance-seed", "deepcogito", "essentialai"],
      ...["gryphe", "ibm-granite", "inclusionai", "intfloat", "kwaipilot", "liquid", "meta-llama", "nousresearch"],
      ...["prime-intellect", "sao10k", "sarvamai", "stepfun", "thenlper", "upstage", "writer", "xiaomi"],
    ])
  })

  test("the lists were made with the authors that the plugins name", () => {
    const named = lists.flatMap(({ plugin: { id, authors = [] } }) => authors.map((author) => [author, id] as const))
    const made = Object.entries(authorsProviders).flatMap(([author, ids]) => ids.map((id) => [author, id] as const))
    expect(named.toSorted()).toEqual(made.toSorted())
  })

  test("a gateway without the author's key knows the author's names", () => {
    const only = (id: string) => modelNames(lists.find(({ plugin }) => plugin.id === id)?.models ?? [], noAliases)
    for (const provider of ["bedrock", "google-vertex", "azure"]) {
      expect(meant("claude-sonnet-4-5-20250929", only(provider))).toBe("anthropic/claude-sonnet-4.5")
      expect(meant("claude-haiku-4-5", only(provider))).toBe("anthropic/claude-haiku-4.5")
    }
  })

  test.skipIf(!existsSync(sources))(
    "no name of an author's host is lost, but a date of which there are several",
    () => {
      const { models }: JsonObject = JSON.parse(readFileSync(sources, "utf8"))
      const lost = objectsIn(models).flatMap(({ id, hosts }) => {
        const author = authorOf(String(id))
        const known = [...names.values()].some(({ model }) => model.id === id)
        return objectsIn(hosts)
          .filter(({ provider }) => (authorsProviders[author] ?? [author]).includes(String(provider)))
          .flatMap(({ upstream_model_id: own, aliases }) =>
            [own, ...(Array.isArray(aliases) ? aliases : [])].map(String),
          )
          .filter((name) => known && meant(name) !== id)
      })
      const undated = lost.map((name) => name.replace(/-\d{4}-?\d{2}-?\d{2}$/, ""))
      // Each date is a version of its own: whoever asks for one must not be given another.
      expect(lost.filter((name, at) => name === undated[at])).toEqual([])
      for (const name of new Set(undated)) expect(undated.filter((other) => other === name).length).toBeGreaterThan(1)
      expect(lost).toContain("qwen-plus-2025-07-14")
    },
  )
})

describe("where a name could mean two things", () => {
  const facts = { name: "Acme", privacy, local: false }
  const providers = new Map([
    ["acme", { ...facts, authors: ["acme"] }],
    ["reseller", { ...facts, authors: ["reseller"] }],
  ])
  const namesFor = (
    entries: ReadonlyArray<{ id: string; aliases?: ReadonlyArray<string>; called?: string; at?: string }>,
    aliases = noAliases,
  ) =>
    modelNames(
      decodeModels(
        entries.map(({ called, at = "acme", ...entry }) => ({
          ...{ ...entry, context_length: 10 },
          hosts: [{ provider: at, ...(called === undefined ? {} : { model: called }) }],
        })),
        providers,
      ).models,
      aliases,
    )

  test("two models that the author's hosts call alike: the name means neither", () => {
    const among = namesFor([
      { id: "acme/one", called: "same" },
      { id: "acme/two", called: "same" },
    ])
    expect(["same", "acme/same", "acme/one", "two"].map((name) => meant(name, among))).toEqual([
      ...["unknown", "unknown", "acme/one", "acme/two"],
    ])
  })

  test("an id, an alias of the configuration, a bare slug and a written alias go before what a host is sent", () => {
    const among = namesFor(
      [
        { id: "acme/one", called: "two" },
        { id: "acme/two", called: "acme/three" },
        { id: "acme/three", called: "short" },
        { id: "acme/four", called: "fast", aliases: ["quick"] },
        { id: "acme/five", called: "quick" },
        { id: "acme/six" },
      ],
      new Map([["fast", "acme/six"]]),
    )
    expect(["two", "acme/three", "short", "fast", "quick", "five"].map((name) => meant(name, among))).toEqual([
      ...["acme/two", "acme/three", "acme/three", "acme/six", "acme/four", "acme/five"],
    ])
  })

  test("a slug of two models means neither, whatever a host is sent", () => {
    const among = namesFor([
      { id: "acme/same", called: "x" },
      { id: "reseller/same", at: "reseller", called: "y" },
      { id: "acme/other", called: "same" },
    ])
    expect(meant("same", among)).toBe("unknown")
  })

  test("what another's host calls the model is no name of it", () => {
    const among = namesFor([{ id: "acme/one", at: "reseller", called: "acme-one-turbo" }])
    expect(meant("acme-one-turbo", among)).toBe("unknown")
  })

  test("what ends like a variant is no name: the variant's condition would be lost", () => {
    const among = namesFor([{ id: "acme/one", called: "one:free" }])
    const resolved = resolveName("one:free", among)
    expect(Either.getOrThrow(resolved).variants).toEqual(["free"])
  })

  test("Claude Code's mark of a long window is no part of a name, unless a model or an alias has it", () => {
    const models = [
      ...namesFor([
        { id: "acme/one", called: "o" },
        { id: "acme/two[1m]", called: "t" },
      ]).values(),
    ].map(({ model }) => model)
    const among = modelNames([...new Set(models)], new Map([["alias[1m]", "acme/two[1m]"]]))
    for (const name of ["acme/one[1m]", "one[1M]", "one[1m][1m]"])
      expect([name, meant(name, among)]).toEqual([name, "acme/one"])
    for (const name of ["acme/two[1m]", "alias[1m]", "two[1m][1m]"])
      expect([name, meant(name, among)]).toEqual([name, "acme/two[1m]"])
    expect(Either.getOrThrow(resolveName("one:nitro[1m]", among)).variants).toEqual(["nitro"])
    for (const name of ["[1m]", "one[2m]", "one[1m]x", "two"])
      expect([name, meant(name, among)]).toEqual([name, "unknown"])
  })

  test("an unknown name is answered with the id of the model whose host is called nearly so", () => {
    const among = namesFor([
      { id: "acme/completely-different", called: "zweihundert-mini" },
      { id: "acme/small", called: "s" },
    ])
    const resolved = resolveName("zweihundert-minni", among)
    expect(Either.isLeft(resolved) && resolved.left.message).toContain("(near: acme/completely-different)")
  })
})
