/** Which providers the environment turns on, and what it gives those of the configuration. */
import { describe, expect, test } from "bun:test"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { discoverProviders } from "../../src/config/discoverProviders.ts"
import { decodeConfig } from "../../src/config/loadConfig.ts"
import type { JsonObject } from "../../src/domain/json/json.ts"
import { defineProvider, type ProviderDefinition } from "../../src/plugin/Provider.ts"
import { silentProvider } from "../support/hosts/silentProvider.ts"

type Facts = Partial<Omit<ProviderDefinition<object, object>, "config" | "load">>

/** What is on with one plugin `acme`, its key laid open. */
const on = async (facts: Facts, environment: Record<string, string>, config: object = {}) => {
  const plugin = defineProvider({
    id: "acme",
    name: "Acme",
    ...facts,
    config: Schema.Struct({}),
    load: () => silentProvider,
  })
  const { configured, discovered } = await Effect.gen(function* () {
    return yield* discoverProviders(yield* decodeConfig(config), [plugin], "/etc/gate")
  }).pipe(Effect.withConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(environment)))), Effect.runPromise)
  const shown = (settings: (typeof configured)[number]) => ({
    slug: settings.slug,
    key: settings.apiKey && Redacted.value(settings.apiKey),
    own: settings.own,
  })
  return { configured: configured.map(shown), discovered: discovered.map(shown) }
}

const acme = (key: string | null, own: JsonObject = {}) => ({ slug: "acme", key, own })

test("paths of files count from the folder of the file, those of variables from the working directory", async () => {
  const facts = { files: ["credentials"], variables: { more: "MORE" } }
  const own = { credentials: "keys/a.json", region: "keys/a.json" }
  const { configured } = await on(
    facts,
    { MORE: "b.json" },
    { providers: { acme: own, b: { plugin: "acme", credentials: '{"a":1}' } } },
  )
  expect(configured.map((one) => one.own)).toEqual([
    { more: "b.json", credentials: "/etc/gate/keys/a.json", region: "keys/a.json" },
    { more: "b.json", credentials: '{"a":1}' },
  ])
})

describe("a provider is on without configuration", () => {
  test.each<[string, Facts, Record<string, string>, ReturnType<typeof acme> | undefined]>([
    ["with its key variable", { keyVariable: "KEY" }, { KEY: "k" }, acme("k")],
    ["not without it", { keyVariable: "KEY" }, { OTHER: "k" }, undefined],
    ["not where it is empty", { keyVariable: "KEY" }, { KEY: "" }, undefined],
    ["not where it names no variable", {}, { KEY: "k" }, undefined],
    ["with the first of several key variables", { keyVariable: ["A", "B"] }, { A: "a", B: "b" }, acme("a")],
    ["with another of them", { keyVariable: ["A", "B"] }, { A: "", B: "b" }, acme("b")],
    [
      "with its other variables as fields, where they are set",
      { keyVariable: "KEY", variables: { region: "REGION", zone: "ZONE" } },
      { KEY: "k", REGION: "eu" },
      acme("k", { region: "eu" }),
    ],
    [
      "with the first of several variables of a field",
      { keyVariable: "KEY", variables: { region: ["REGION", "DEFAULT_REGION"] } },
      { KEY: "k", DEFAULT_REGION: "us" },
      acme("k", { region: "us" }),
    ],
    ["not with half a set", { keyVariable: "KEY", discoveredBy: [["KEY", "REGION"]] }, { KEY: "k" }, undefined],
    [
      "with a whole set",
      { keyVariable: "KEY", variables: { region: "REGION" }, discoveredBy: [["KEY", "REGION"]] },
      { KEY: "k", REGION: "eu" },
      acme("k", { region: "eu" }),
    ],
    [
      "with another set, without a key",
      { keyVariable: "KEY", variables: { id: "ID" }, discoveredBy: [["KEY"], ["ID", "SECRET"]] },
      { ID: "i", SECRET: "s" },
      acme(null, { id: "i" }),
    ],
    ["not where there is no set", { keyVariable: "KEY", discoveredBy: [] }, { KEY: "k" }, undefined],
    ["always, if it says so", { always: true, variables: { id: "ID" } }, { ID: "i" }, acme(null, { id: "i" })],
  ])("%s", async (_when, facts, environment, expected) => {
    const { discovered } = await on(facts, environment)
    expect(discovered).toEqual(expected === undefined ? [] : [expected])
  })

  test("not where discovery by environment is off, unless it is always on", async () => {
    const off = { discovery: { environment: false } }
    expect((await on({ keyVariable: "KEY" }, { KEY: "k" }, off)).discovered).toEqual([])
    expect((await on({ always: true }, {}, off)).discovered).toHaveLength(1)
  })
})

describe("a provider of the configuration", () => {
  const facts = { keyVariable: "KEY", variables: { region: "REGION" }, discoveredBy: [["KEY", "REGION"]] }

  test("gets key and fields that it does not have from the environment", async () => {
    const { configured, discovered } = await on(facts, { KEY: "k", REGION: "eu" }, { providers: { acme: {} } })
    expect(configured).toEqual([acme("k", { region: "eu" })])
    expect(discovered).toEqual([])
  })

  test("keeps its own key and fields", async () => {
    const providers = { acme: { api_key: "own", region: "us" } }
    const { configured } = await on(facts, { KEY: "k", REGION: "eu" }, { providers })
    expect(configured).toEqual([acme("own", { region: "us" })])
  })

  test("gets them under another name, too, and leaves the discovered one on", async () => {
    const providers = { second: { plugin: "acme", region: "us" } }
    const { configured, discovered } = await on(facts, { KEY: "k", REGION: "eu" }, { providers })
    expect(configured).toEqual([{ slug: "second", key: "k", own: { region: "us" } }])
    expect(discovered).toEqual([acme("k", { region: "eu" })])
  })
})
