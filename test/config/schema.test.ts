/** What editors know of the configuration: JSON Schema, hover texts, and the page. All of it is made of the Schema. */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { readFileSync } from "node:fs"
import { resolve } from "node:path"
import Ajv from "ajv"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Schema from "effect/Schema"
import ts from "typescript-5.9"
import { madeFiles, schemaText } from "../../scripts/configSchema.ts"
import type { GatewayConfigInput, ProviderInput } from "../../src/config/configInput.ts"
import type { ProviderFields } from "../../src/config/fields/providerFields.ts"
import type { GatewayConfig } from "../../src/config/GatewayConfig.ts"
import { decodeConfig } from "../../src/config/loadConfig.ts"
import { isJsonObject, type JsonObject } from "../../src/domain/json/json.ts"

// The first question to the compiler takes four seconds of processor time, which are half a minute on a busy machine.
setDefaultTimeout(1_800_000)

/** All members there, at any depth, so that one that is missing on a side is seen. */
type Whole<T> = T extends string | number | boolean | null | undefined
  ? T
  : T extends ReadonlyArray<infer Item>
    ? ReadonlyArray<Whole<Item>>
    : { [Member in keyof T]-?: Whole<T[Member]> }

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false

// The providers are compared for themselves: their Schema takes any member, for their plugins.
type Compared<T> = Whole<Omit<T, "providers" | "plugins">>
const isSame: Same<Compared<GatewayConfigInput>, Compared<Schema.Schema.Encoded<typeof GatewayConfig>>> = true
type Own = { [Member in keyof ProviderInput as string extends Member ? never : Member]: ProviderInput[Member] }
const isSameProvider: Same<Whole<Own>, Whole<Schema.Schema.Encoded<typeof ProviderFields>>> = true

test("the types that editors show are those that the Schema takes", () => {
  expect([isSame, isSameProvider]).toEqual([true, true])
})

const schema = JSON.parse(schemaText()) as JsonObject
const validate = new Ajv({ strict: false }).compile(schema)

test.each(madeFiles)("$file is what bun scripts/configSchema.ts makes of the Schema", ({ file, text }) => {
  expect(readFileSync(resolve(import.meta.dir, "../..", file), "utf8")).toBe(text())
})

describe("config.schema.json", () => {
  test("describes every member", () => {
    const bare: Array<string> = []
    const look = (value: unknown, path: string): void => {
      if (!isJsonObject(value)) return
      for (const [name, inner] of Object.entries(value)) {
        if (name === "properties" && isJsonObject(inner)) {
          for (const [member, described] of Object.entries(inner)) {
            if (isJsonObject(described) && described["description"] === undefined) bare.push(`${path}.${member}`)
            look(described, `${path}.${member}`)
          }
        } else if (Array.isArray(inner)) for (const one of inner) look(one, path)
        else look(inner, path)
      }
    }
    look(schema, "")
    expect(bare).toEqual([])
  })

  test("has the defaults of the Schema", async () => {
    const inner = (value: unknown): JsonObject => (isJsonObject(value) ? value : {})
    const defaults = (object: JsonObject): unknown =>
      Object.fromEntries(
        Object.entries(inner(object["properties"])).flatMap(([name, member]) => {
          const { default: fallback, properties } = inner(member)
          if (fallback !== undefined) return [[name, fallback]]
          return properties === undefined ? [] : [[name, defaults(inner(member))]]
        }),
      )
    const written = defaults(schema)
    expect(written).toMatchObject({ server: { port: 8787 }, limits: { breaker: { open_s: 30 } }, durability: "full" })
    expect(await Effect.runPromise(decodeConfig(written))).toEqual(await Effect.runPromise(decodeConfig({})))
  })

  test("accepts what the gateway accepts, and finds what is misspelt", () => {
    expect(validate({})).toBe(true)
    const config = {
      $schema: "./config.schema.json",
      server: { port: 1 },
      providers: { acme: { api_key: { env: "KEY" }, api_keys: [{ key: "k", limit: "5" }], of_the_plugin: [1] } },
      models: [
        {
          id: "a/b",
          hosts: [{ provider: "acme", quantization: "fp8", pricing: { prompt: "0.1", completion: 0, overrides: [] } }],
        },
      ],
      routing: { hedge: { enabled: "on_request" }, strategies: { weighted: { weight: 3 } } },
      aliases: { best: "a/b" },
    }
    expect([validate(config), validate.errors]).toEqual([true, null])
    for (const wrong of [
      { sever: {} },
      { server: { prot: 1 } },
      { durability: "none" },
      { routing: { hedge: { enabled: "no" } } },
      { models: [{ hosts: [] }] },
      { models: [{ id: "a/b", hosts: [{ provider: "acme", price: {} }] }] },
      { providers: { acme: { api_keys: [] } } },
    ])
      expect(validate(wrong)).toBe(false)
  })

  test.each<[unknown, boolean]>([
    [{ server: { open_metrics: false, trusted_proxies: [] }, privacy: { log_content: false } }, true],
    [{ server: { metrics: { open: false } } }, true],
    [{ server: { trusted_proxies: ["10.0.0.0/8", "::1"], forwarded_header: "forwarded" } }, true],
    [{ server: { trusted_proxies: 2 } }, true],
    [{ server: { trusted_proxies: "10.0.0.0/8" } }, false],
    [{ limits: { ttfb_ms: null, attempt_ms_by_model: { "a/b": 5 }, breaker: {} } }, true],
    [{ providers: { acme: { api_key: "k", network: null, of_the_plugin: {} } } }, true],
    [{ providers: { acme: { api_keys: [{ key: "k", limit: 5, limit_reset: "weekly" }] } } }, true],
    [{ limits: null }, false],
    [{ server: { metrics: true } }, false],
    [{ routing: { strategies: { weighted: 3 } } }, false],
    [{ aliases: { best: ["a/b"] } }, false],
    [{ providers: { acme: { api_keys: [{ weight: 1 }] } } }, false],
    [{ providers: { acme: { api_key: { env: "A", of: "b" } } } }, false],
    [{ providers: { acme: { privacy: { may_trian: true } } } }, false],
    [{ plugins: { folders: [1] } }, false],
    [[], false],
  ])("and the gateway judge alike: %j", async (config, isRight) => {
    const read = await Effect.runPromise(Effect.either(decodeConfig(config)))
    expect([validate(config), Either.isRight(read)]).toEqual([isRight, isRight])
  })
})

describe("in an editor", () => {
  const file = resolve(import.meta.dir, "hovered.ts")
  const source = `
    import { defineConfig } from "../../src/config/GatewayConfig.ts"
    export default defineConfig({
      server: { port: 1, drain_s: 2 },
      limits: { breaker: { open_s: 3 } },
      providers: { acme: { base_url: "https://a.example/v1", api_keys: [{ key: { env: "A" }, limit_reset: "daily" }] } },
      models: [{ id: "a/b", context_length: 1, hosts: [{ provider: "acme", pricing: { prompt: "0", completion: "0" } }] }],
    })`
  const host: ts.LanguageServiceHost = {
    getScriptFileNames: () => [file],
    getScriptVersion: () => "1",
    getScriptSnapshot: (name) => {
      const text = name === file ? source : ts.sys.readFile(name)
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text)
    },
    getCurrentDirectory: () => import.meta.dir,
    getCompilationSettings: () => ({
      strict: true,
      module: ts.ModuleKind.Preserve,
      moduleResolution: ts.ModuleResolutionKind.Bundler,
      target: ts.ScriptTarget.ESNext,
      allowImportingTsExtensions: true,
      noEmit: true,
    }),
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: (name) => name === file || ts.sys.fileExists(name),
    readFile: ts.sys.readFile,
    directoryExists: ts.sys.directoryExists,
    getDirectories: ts.sys.getDirectories,
  }
  const service = ts.createLanguageService(host)

  test.each([
    ["port", "TCP port, 0 to 65535", "8787"],
    ["drain_s", "Seconds that running requests get to end", "30"],
    ["open_s", "Seconds that it stays open the first time", "30"],
    ["base_url", "https, unless `network` is", undefined],
    ["limit_reset", "When the limit begins anew, at 00:00 UTC", "null"],
    ["context_length", "Tokens. Default: the largest of its hosts", undefined],
    ["pricing", "Default: unknown, which is not the same as free", undefined],
    ["prompt", "Per token of the prompt", undefined],
  ])("hovering over %s shows what it means", (member, text, fallback) => {
    const info = service.getQuickInfoAtPosition(file, source.indexOf(`${member}:`))
    expect(ts.displayPartsToString(info?.documentation ?? [])).toContain(text)
    const shown = info?.tags?.find(({ name }) => name === "default")?.text
    expect(shown === undefined ? undefined : ts.displayPartsToString(shown)).toBe(fallback)
  })
})
