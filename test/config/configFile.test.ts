/** Files of a configuration: TypeScript with plugins in it, JSON, and files that cannot be read. */
import { afterAll, describe, expect, test } from "bun:test"
import { join, resolve } from "node:path"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { discoverPlugins } from "../../src/config/discoverPlugins.ts"
import { loadConfigIn } from "../../src/config/loadConfig.ts"
import { resolveConfig } from "../../src/config/resolveConfig.ts"
import { canary, configFolders, json, port } from "./configFolders.ts"

const { loaded, lines, outcome, remove } = configFolders()
afterAll(remove)

describe("plugins in the file", () => {
  const pluginFile = resolve(import.meta.dir, "../../src/plugin.ts")
  const provider = (more = "") => `
    import * as Schema from "effect/Schema"
    import { chatProtocol, defineProvider, httpError } from ${JSON.stringify(pluginFile)}
    export const ours = defineProvider({
      id: "ours", name: "Ours", baseUrl: "https://api.ours.example/v1", config: Schema.Struct({}),
      load: () => ({ protocols: { chat: chatProtocol() }, error: httpError }),
    })
    export default { plugins: { folders: [], inline: [${more === "" ? "ours" : more}] }, providers: { ours: {} },
      models: [{ id: "a/b", context_length: 1, hosts: [{ provider: "ours" }] }] }`

  const discovered = async (source: string) => {
    const { result } = await outcome({ files: { "headgate.config.ts": source } })
    return result
  }

  test("are found like those of folders, and come first", async () => {
    const { directory } = await outcome({
      files: {
        "headgate.config.ts": provider("ours, { ...ours, name: 'Twice' }, { ...ours, id: 'old', contract: 0 }"),
      },
    })
    const reading = await Effect.runPromise(loadConfigIn(directory))
    const { plugins: found, invalid, origins } = await Effect.runPromise(discoverPlugins(reading))
    expect(found.map((plugin) => [plugin.id, origins.get(plugin)?.path])).toEqual([["ours", "plugins.inline[0]"]])
    expect(invalid.map(({ message }) => message)).toEqual([
      "plugin plugins.inline[1]: duplicate: plugins.inline[0] has its id",
      expect.stringContaining("plugin plugins.inline[2]: shape: made for contract 0"),
    ])
    const { resolved } = await Effect.runPromise(resolveConfig({ plugins: found, invalid }, reading))
    expect(resolved.providers.get("ours")?.callable).toBe(true)
  })

  test("may have any text in them", async () => {
    const source = provider(`{ ...ours, about: "\\\${NAME}" }`)
    const { directory } = await outcome({ files: { "headgate.config.ts": source } })
    expect((await Effect.runPromise(loadConfigIn(directory))).problems).toEqual([])
  })

  test("must be plugins", async () => {
    const result = await discovered(provider("{ id: 'ours' }"))
    expect(Either.isLeft(result) && result.left.message).toBe(
      "config error: plugins.inline[0]: expected a plugin made by defineProvider or defineStrategy, got object",
    )
  })
})

describe("a file of JSON", () => {
  const commented = `{
  // The port of the office.
  "server": {
    "port": 70000, /* too high */
    "hostnme": "::1",
  },
  "models": [
    { "hosts": [] },
  ],
}`

  test("may have comments and commas at the end, and problems say where they stand", async () => {
    const { directory, result } = await outcome({ files: { "headgate.config.json": commented } })
    const at = (place: string) => `(${join(directory, "headgate.config.json")}:${place})`
    expect(Either.isLeft(result) && result.left.message.split("\n")).toEqual([
      `config error: server.hostnme: unknown field, did you mean "hostname"? ${at("5:5")}`,
      `config error: server.port: expected ${port}, got 70000 ${at("4:5")}`,
      `config error: models[0].id: expected a model id <author>/<slug>, got nothing ${at("8:5")}`,
    ])
    const files = { "headgate.config.json": '\uFEFF{ "server": { "port": 7, }, } // fine' }
    expect((await loaded({ files })).config.server.port).toBe(7)
  })

  test("may name its schema", async () => {
    expect(await lines({ files: json({ $schema: "./node_modules/headgate/config.schema.json" }) })).toEqual([])
  })

  test.each([
    ['{ "server": { "port" 1 } }', 'an error at line 1, column 22: { "server": { "…" 1 } }'],
    [`{\n  "api_key": "${canary}" "b": 1\n}`, 'an error at line 2, column 59: "api_key": "…" "b": 1'],
    [`{ "api_key": "${canary} }`, 'an error at line 1, column 14: { "api_key": "…"'],
  ])("%s", async (text, expected) => {
    const [line = ""] = await lines({ files: { "headgate.config.json": text } })
    expect(line).toContain(`expected JSON, got ${expected}`)
    expect(line).not.toContain(canary.slice(3, 12))
  })
})

describe("a file that cannot be read", () => {
  test("is missed when it was asked for", async () => {
    expect(await lines({ env: { HEADGATE_CONFIG: "gone.json", HEADGATE_PORT: "x" } })).toEqual([
      "config error: HEADGATE_CONFIG: expected the path of a file, but there is no gone.json",
      `config error: HEADGATE_PORT: expected ${port}, got string "x"`,
    ])
  })

  test("is not chosen between two", async () => {
    expect(await lines({ files: { ...json({}), "headgate.config.ts": "export default {}" } })).toEqual([
      "config error: .: expected one configuration file, got headgate.config.ts and headgate.config.json",
    ])
  })

  test.each([
    ["bad.json", "{", "expected JSON, got text that ends too early at line 1, column 2: {"],
    ["word.json", `{\n  "api_key": ${canary} }`, 'expected JSON, got an error at line 2, column 14: "api_key": … }'],
    ["empty.json", "", "expected JSON, got text that ends too early at line 1, column 1"],
    [
      "syntax.ts",
      `export default { a: "${canary}"\n "b" }`,
      "expected a file that parses, got an error at line 2, column 2",
    ],
    [
      "identifier.ts",
      `export default { a: ${canary}}`,
      "expected a file that parses, got an error at line 1, column 31",
    ],
    ["throws.ts", "throw new RangeError('no disk')", "expected a file that loads, got RangeError: no disk"],
    ["throwsText.ts", `throw "${canary}"`, "expected a file that loads, got a throw of no Error"],
    [
      "throwsSecret.ts",
      `throw new Error("bad key ${canary} here")`,
      "expected a file that loads, got Error: bad key … here",
    ],
    [
      "calls.ts",
      `const x = {}\nexport default x.f({ api_key: "${canary}" })`,
      "expected a file that loads, got TypeError: x.f is not a function.",
    ],
    [
      "imports.ts",
      `import x from "nowhere-at-all"\nexport default x`,
      /^expected a file that loads, got ResolveMessage: Cannot find package 'nowhere-at-all'/,
    ],
    ["nothing.ts", "export const config = {}", "expected a default export made by defineConfig, got nothing"],
    ["list.ts", "export default [1]", "expected a default export made by defineConfig, got list"],
    ["config.yaml", "a: 1", "expected a file that ends in .ts, .js, .json or .jsonc"],
  ])("%s", async (file, text, expected) => {
    const [line = "", ...more] = await lines({ files: { [file]: text }, env: { HEADGATE_CONFIG: file } })
    expect(more).toEqual([])
    expect(line).toStartWith(`config error: ${file}: `)
    const message = line.slice(`config error: ${file}: `.length)
    if (typeof expected === "string") expect(message).toBe(expected)
    else expect(message).toMatch(expected)
    expect(line).not.toContain(canary)
  })
})
