/** `headgate plugin …` and `plugins.packages`, outside of the repository. docs/plugins.md */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { testPlugin } from "../../src/cli/plugin/pluginTest.ts"
import { discover } from "../../src/plugin/loading/discover.ts"
import { runCommand } from "../support/gateways/commands.ts"

const root = new URL("../../", import.meta.url).pathname
const patience = 1_800_000

let home = ""
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "headgate-cli-"))
})
afterAll(() => rm(home, { recursive: true }))

const run = async (command: ReadonlyArray<string>, cwd: string, env: Readonly<Record<string, string>> = {}) => {
  const child = Bun.spawn([process.execPath, ...command], {
    cwd,
    env: { PATH: process.env["PATH"] ?? "", HOME: tmpdir(), ...env },
    stdout: "pipe",
    stderr: "pipe",
  })
  const [out, err, code] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  return { out, err, code }
}
const headgate = (words: ReadonlyArray<string>, cwd: string, env?: Readonly<Record<string, string>>) =>
  run([join(root, "src/main.ts"), "plugin", ...words], cwd, env)

/** Runs a command that starts no other process, in a process that other tests' commands share. */
const quickly = (...words: ReadonlyArray<string>) =>
  runCommand({ words: ["plugin", ...words], env: { PATH: process.env["PATH"] ?? "", HOME: tmpdir() }, cwd: home })

describe("plugin new and test, in a folder without node_modules", () => {
  test.each([
    ["providers/acme-labs", []],
    ["providers/tide", ["--protocol"]],
    ["strategies/steady", ["--strategy"]],
  ])(
    "%s passes at once, and is not overwritten",
    async (path, flags) => {
      const name = path.split("/").at(-1) ?? ""
      const made = await headgate(["new", name, ...flags], home)
      expect(made).toMatchObject({ code: 0, err: "" })
      expect(made.out).toContain(join(home, "plugins", path, `${name}.test.ts`))
      const tested = await headgate(["test", join("plugins", path)], home)
      expect(tested).toMatchObject({ code: 0 })
      expect(tested.err).toContain(" 0 fail")

      const index = Bun.file(join(home, "plugins", path, "index.ts"))
      await Bun.write(index, `${await index.text()}// mine\n`)
      const again = await quickly("new", name, ...flags)
      expect(again).toMatchObject({ code: 1, out: "" })
      expect(again.err).toContain("is there already")
      expect(await index.text()).toEndWith("// mine\n")
    },
    patience,
  )

  test(
    "a plugin that ends the process does not pass",
    async () => {
      await Bun.write(join(home, "plugins/providers/leaver/index.ts"), "process.exit(0)\n")
      const tested = await headgate(["test", "plugins/providers/leaver"], home)
      await rm(join(home, "plugins/providers/leaver"), { recursive: true })
      expect(tested.code).toBe(1)
      expect(tested.err).toContain("the tests of plugins/providers/leaver fail")
    },
    patience,
  )

  test(
    "a plugin with an endless loop was tested without an end",
    async () => {
      // It sleeps, and leaves the processor to other tests.
      const folder = join(home, "plugins/providers/looping")
      await Bun.write(join(folder, "index.ts"), "for (;;) Bun.sleepSync(50)\n")
      expect(await Effect.runPromise(testPlugin(folder, 2000))).not.toBe(0)
      await rm(folder, { recursive: true })
    },
    patience,
  )

  test(
    "a fault fails, a folder without tests is checked by the kit, and a missing one is said to be missing",
    async () => {
      await quickly("new", "faulty", "--protocol")
      const folder = join(home, "plugins/providers/faulty")
      const request = Bun.file(join(folder, "request.ts"))
      await Bun.write(request, (await request.text()).replace("...{ temperature, ", "...{ "))
      await rm(join(folder, "faulty.test.ts"))
      const tested = await headgate(["test", folder], home)
      expect(tested.code).toBe(1)
      expect(tested.err).toContain("temperature 0.375, sends the same as without it")
      expect(await quickly("test", "nowhere")).toMatchObject({ code: 66 })
      expect((await quickly("new", "--help")).out).toContain("$ headgate plugin new [--protocol]")
      expect(await quickly("new", "No Name")).toMatchObject({ code: 64 })
      expect(await quickly("new", "both", "--protocol", "--strategy")).toMatchObject({ code: 64 })
    },
    patience,
  )
})

test(
  "F14: plugin test in a folder without tests said that the configuration is wrong, where the plugin wants some: it says what to do",
  async () => {
    const folder = join(home, "plugins/providers/regional")
    const source = `
import * as Schema from "effect/Schema"
import { chatHost, chatProtocol, defineProvider, httpError } from "headgate/plugin"
export default defineProvider({
  id: "regional",
  name: "Regional",
  config: Schema.Struct({ region: Schema.String }),
  load: () => ({ protocols: { chat: chatProtocol() }, error: httpError }),
})`
    await Bun.write(join(folder, "index.ts"), source)
    const tested = await headgate(["test", folder], home)
    await rm(folder, { recursive: true })
    expect(tested.code).toBe(1)
    expect(tested.err).toContain(
      "regional has fields of its own that must be configured (region: expected a string, got nothing): without a test that gives `config` to the kit, it is not tested. See docs/plugins.md#kit",
    )
  },
  patience,
)

const packaged = (id: string) => `
import * as Schema from "effect/Schema"
import { chatProtocol, defineProvider, httpError } from "headgate/plugin"
export default defineProvider({
  id: "${id}",
  name: "Some",
  baseUrl: "https://api.acme.example/v1",
  config: Schema.Struct({}),
  load: () => ({ protocols: { chat: chatProtocol() }, error: httpError }),
})`

describe("packages", () => {
  const install = async (folder: string, name: string, source: string) => {
    const path = join(folder, "node_modules", name)
    await Bun.write(join(path, "package.json"), JSON.stringify({ name, type: "module", exports: "./index.ts" }))
    await Bun.write(join(path, "index.ts"), source)
  }
  let folder = ""
  beforeAll(async () => {
    folder = await mkdtemp(join(root, "node_modules/.headgate-packages-"))
    await install(folder, "headgate-acme", packaged("acme"))
    await install(
      folder,
      "@some/several",
      `${packaged("one").replace("export default", "const one =")}\nexport default [one, { ...one, id: 'two' }]`,
    )
    await install(folder, "headgate-torn", "export default {")
    await install(folder, "headgate-none", "export default 7")
  })
  afterAll(() => rm(folder, { recursive: true }))

  test.each([
    ["headgate-acme", ["acme"], []],
    ["@some/several", ["one", "two"], []],
    ["headgate-torn", [], [/^plugin headgate-torn: import: /]],
    ["headgate-none", [], [/^plugin headgate-none: shape: the default export is not made by/]],
    ["headgate-missing", [], [/^plugin headgate-missing: find: there is no such package in /]],
  ] as const)("%s of a package is loaded, or is off with one line", async (name, ids, lines) => {
    const { plugins, invalid, origins } = await Effect.runPromise(
      discover([], undefined, { names: [name], from: folder }),
    )
    expect(plugins.map(({ id }) => id)).toEqual([...ids])
    for (const plugin of plugins) expect(origins.get(plugin)).toEqual({ kind: "package", path: name, overrides: false })
    expect(invalid.length).toBe(lines.length)
    for (const [at, line] of lines.entries()) expect(invalid[at]?.message).toMatch(line)
  })

  test(
    "F13: an override is a choice: new says so, list says whose is off and why, and with plugins.override whose is used",
    async () => {
      const place = await mkdtemp(join(home, "override-"))
      const made = await headgate(["new", "openai"], place)
      expect(made).toMatchObject({
        code: 0,
        err: 'headgate: the gateway has a provider openai of its own: yours is off until plugins.override has "openai"\n',
      })
      expect((await headgate(["new", "mine", "--strategy"], place)).err).toBe("")
      const listed = async (config: object) => {
        await Bun.write(
          join(place, "headgate.config.json"),
          JSON.stringify({ ...config, discovery: { environment: true } }),
        )
        const { out, err } = await headgate(["list", "--json"], place, { OPENAI_API_KEY: "a-key" })
        const all: ReadonlyArray<Record<string, unknown>> = JSON.parse(out)
        return { err, of: (id: string) => all.filter((one) => one["id"] === id), all }
      }
      const usual = await listed({})
      expect(usual.of("openai")).toEqual([
        expect.objectContaining({
          ...{ source: "gateway", state: "on", contract: 3, why: "its environment variables are set" },
          serves: { providers: ["openai"], models: expect.any(Number) },
        }),
        expect.objectContaining({
          ...{ source: "folder", kind: "provider", from: join(place, "plugins/providers/openai"), state: "off" },
          why: 'duplicate: the gateway has a provider openai of its own: give yours another id, or add "openai" to plugins.override',
        }),
      ])
      expect(usual.of("mine")).toEqual([
        expect.objectContaining({
          source: "folder",
          kind: "strategy",
          state: "on",
          why: "where provider.sort asks for it",
        }),
      ])
      expect(usual.all.filter(({ source }) => source === "gateway").length).toBeGreaterThan(20)

      const chosen = await listed({ plugins: { override: ["openai", "ecko"] } })
      expect(chosen.of("openai")).toEqual([
        expect.objectContaining({
          ...{ source: "folder", state: "on", serves: { providers: ["openai"], models: 1 } },
          why: "its environment variables are set; in place of the gateway's own",
        }),
      ])
      expect(JSON.parse(chosen.err)).toMatchObject({
        message: `plugins.override: no plugin takes the place of one of the gateway's own with the id "ecko"`,
      })
    },
    patience,
  )

  test(
    "list says what is on, what is off and why, and where it comes from",
    async () => {
      const config = {
        plugins: { folders: [], packages: ["headgate-acme", "headgate-torn"] },
        discovery: { environment: true },
      }
      await Bun.write(join(folder, "headgate.config.json"), JSON.stringify(config))
      const listed = await headgate(["list", "--json"], folder)
      expect(listed).toMatchObject({ code: 0 })
      expect(JSON.parse(listed.out)).toEqual([
        {
          ...{ id: "acme", kind: "provider", source: "package", from: "headgate-acme", contract: 3 },
          ...{ serves: { providers: [], models: 0 }, state: "off", why: "not configured" },
        },
        {
          ...{ id: "headgate-torn", kind: null, source: "package", from: "headgate-torn", contract: null },
          ...{ serves: { providers: [], models: 0 }, state: "off" },
          why: expect.stringContaining("import: "),
        },
      ])
      await Bun.write(
        join(folder, "headgate.config.json"),
        JSON.stringify({ ...config, providers: { ours: { plugin: "acme", api_key: "a-key" } } }),
      )
      const on = await headgate(["list"], folder)
      expect(on.out).toContain("acme\tprovider\ton\t0 models as ours\tconfigured as ours\t3\theadgate-acme\n")
      expect(on.err).not.toContain("plugins.folders")
      await Bun.write(
        join(folder, "headgate.config.json"),
        JSON.stringify({ ...config, plugins: { folders: ["./missing"] } }),
      )
      const missing = await headgate(["list"], folder)
      expect(missing.err).toContain(`plugins.folders: there is no folder ${join(folder, "missing")}`)
    },
    patience,
  )
})
