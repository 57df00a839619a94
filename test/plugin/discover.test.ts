/** Plugins that cannot be used are reported with their path and cause, and the rest load. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import * as TestContext from "effect/TestContext"
import { HostFailed } from "headgate/plugin"
import { discover } from "../../src/plugin/loading/discover.ts"

const repository = new URL("../../", import.meta.url).pathname

/** A folder outside the repository, with our packages linked into it as a package manager would do. */
let home = ""

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "headgate-plugins-"))
  await mkdir(join(home, "node_modules"))
  await symlink(join(repository, "node_modules/effect"), join(home, "node_modules/effect"))
  await symlink(repository.slice(0, -1), join(home, "node_modules/headgate"))
})
afterAll(() => rm(home, { recursive: true }))

const providerSource = (id: string) => `
import * as Schema from "effect/Schema"
import { chatProtocol, defineProvider, HostFailed } from "headgate/plugin"
export default defineProvider({
  id: "${id}",
  name: "Some",
  config: Schema.Struct({ region: Schema.optional(Schema.String) }),
  load: () => ({ protocols: { chat: chatProtocol() }, error: () => new HostFailed({ reason: "overloaded" }) }),
})`

const strategySource = (id: string) => `
import * as Schema from "effect/Schema"
import { defineStrategy } from "headgate/plugin"
export default defineStrategy({ id: "${id}", config: Schema.Struct({}), load: () => (candidates) => candidates })`

/** A folder of plugins: sources by the path of the plugin's own folder. */
const folderWith = async (within: string, sources: Readonly<Record<string, string>>, entry = "index.ts") => {
  const folder = await mkdtemp(join(within, "plugins-"))
  for (const [path, source] of Object.entries(sources)) await Bun.write(join(folder, path, entry), source)
  return folder
}

const found = async (...folders: ReadonlyArray<string>) => {
  const { plugins, invalid } = await Effect.runPromise(discover(folders))
  return { plugins: plugins.map(({ kind, id }) => `${kind} ${id}`), invalid, loaded: plugins }
}

const good = { "providers/acme": providerSource("acme"), "strategies/first": strategySource("first") }

test("plugins outside the repository, with their own node_modules, work with the gateway's own classes", async () => {
  const { plugins, invalid, loaded } = await found(await folderWith(home, good))
  expect({ plugins, invalid }).toEqual({ plugins: ["provider acme", "strategy first"], invalid: [] })
  const [acme] = loaded
  const provider = acme?.kind === "provider" ? await Either.getOrThrow(acme.load({ region: "eu" })) : undefined
  expect(provider?.error(500, new Headers(), "")).toBeInstanceOf(HostFailed)
  expect(acme?.kind === "provider" && Either.isLeft(acme.load({ regoin: "eu" }))).toBe(true)
})

test("code that `load` imports is not loaded before the provider is", async () => {
  const folder = await folderWith(home, {
    "providers/acme": `
import * as Schema from "effect/Schema"
import { defineProvider } from "headgate/plugin"
export default defineProvider({
  id: "acme",
  name: "Acme",
  config: Schema.Struct({}),
  load: async () => (await import("./provider.ts")).provider,
})`,
  })
  await Bun.write(join(folder, "providers/acme/provider.ts"), `export const provider = missing.name`)
  const { plugins, invalid, loaded } = await found(folder)
  expect({ plugins, invalid }).toEqual({ plugins: ["provider acme"], invalid: [] })
  const [acme] = loaded
  const provider = acme?.kind === "provider" ? Either.getOrThrow(acme.load({})) : undefined
  expect(async () => await provider).toThrow("missing")
})

test("the order is by folder, then by name", async () => {
  const first = await folderWith(home, {
    "providers/zeta": providerSource("zeta"),
    "providers/beta": providerSource("beta"),
  })
  const second = await folderWith(home, { "providers/alpha": providerSource("alpha") })
  expect((await found(first, second)).plugins).toEqual(["provider beta", "provider zeta", "provider alpha"])
})

test("a plugin may be JavaScript", async () => {
  const folder = await folderWith(home, { "providers/acme": providerSource("acme") }, "index.js")
  expect((await found(folder)).plugins).toEqual(["provider acme"])
})

test("a missing folder, a file among the plugins and an empty group are no faults", async () => {
  const folder = await folderWith(home, good)
  await Bun.write(join(folder, "providers", "README.md"), "# Ours")
  await mkdir(join(folder, "empty", "providers"), { recursive: true })
  const { plugins, invalid } = await found(join(home, "nowhere"), join(folder, "empty"), folder)
  expect({ plugins, invalid }).toEqual({ plugins: ["provider acme", "strategy first"], invalid: [] })
})

describe("one that is broken is reported, and the rest load", () => {
  test.each([
    ["a syntax error", "export default {", "import", /./],
    ["a throw while it is imported", 'throw new Error("no licence\\nin line two")', "import", /^no licence$/],
    ["a rejection while it is imported", 'await Promise.reject("a mere text")', "import", /^a mere text$/],
    ["a module that is not there", 'import "./missing.ts"', "import", /missing/],
    ["no default export", "export const plugin = 1", "shape", /not made by defineProvider or defineStrategy/],
    [
      "a default export of its own make",
      "export default { id: 'broken', load: 7, kind: 'provider' }",
      "shape",
      /not made by/,
    ],
    ["null", "export default null", "shape", /not made by/],
    [
      "another contract",
      `import good from "../acme/index.ts"\nexport default { ...good, id: "broken", contract: 99 }`,
      "shape",
      /made for contract 99, this gateway has 3: it needs a newer gateway$/,
    ],
    ["an id that is not its folder's name", providerSource("other"), "shape", /"other" is not the name of its folder/],
    ["a strategy among the providers", strategySource("broken"), "shape", /strategy stands among/],
  ] as const)("%s", async (_, source, phase, reason) => {
    const folder = await folderWith(home, { ...good, "providers/broken": source })
    const { plugins, invalid } = await found(folder)
    expect(plugins).toEqual(["provider acme", "strategy first"])
    expect(invalid.map(({ plugin, phase: at }) => [plugin, at])).toEqual([[join(folder, "providers/broken"), phase]])
    expect(invalid[0]?.reason).toMatch(reason)
    expect(invalid[0]?.message).toBe(`plugin ${join(folder, "providers/broken")}: ${phase}: ${invalid[0]?.reason}`)
    expect(invalid[0]?.message).not.toContain("\n")
  })

  test("a folder without an index.ts", async () => {
    const folder = await folderWith(home, good)
    await mkdir(join(folder, "strategies", "empty"))
    const { plugins, invalid } = await found(folder)
    expect(plugins).toEqual(["provider acme", "strategy first"])
    expect(invalid).toMatchObject([{ plugin: join(folder, "strategies/empty"), phase: "find", reason: "no index.ts" }])
  })

  test("a broken link: it used to stop the start", async () => {
    const folder = await folderWith(home, good)
    await symlink(join(folder, "gone"), join(folder, "providers", "linked"))
    const { plugins, invalid } = await found(folder)
    expect(plugins).toEqual(["provider acme", "strategy first"])
    expect(invalid).toMatchObject([{ plugin: join(folder, "providers/linked"), phase: "find" }])
  })

  test("an id that is taken: the second is named, and who has it", async () => {
    const first = await folderWith(home, good)
    const second = await folderWith(home, { ...good, "providers/another": providerSource("another") })
    const { plugins, invalid, loaded } = await found(first, second)
    expect(plugins).toEqual(["provider acme", "strategy first", "provider another"])
    expect(loaded[0]).toBe((await found(first)).loaded[0])
    expect(invalid.map(({ message }) => message)).toEqual([
      `plugin ${join(second, "providers/acme")}: duplicate: ${join(first, "providers/acme")} has its id`,
      `plugin ${join(second, "strategies/first")}: duplicate: ${join(first, "strategies/first")} has its id`,
    ])
  })

  test("a provider and a strategy may share an id", async () => {
    const folder = await folderWith(home, {
      "providers/same": providerSource("same"),
      "strategies/same": strategySource("same"),
    })
    expect((await found(folder)).plugins).toEqual(["provider same", "strategy same"])
  })

  test("an import that never ends is abandoned after 5 seconds", async () => {
    const folder = await folderWith(home, {
      ...good,
      "providers/stuck": "await new Promise(() => {})\nexport default 1",
    })
    const started: Array<string | null> = []
    const turn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
    const program = Effect.gen(function* () {
      const searching = yield* Effect.fork(discover([folder], (path) => started.push(path)))
      // The timers of the plugins before it were cleared once they had loaded.
      while (!started.some((path) => path?.endsWith("stuck")) || Chunk.size(yield* TestClock.sleeps()) < 1) yield* turn
      yield* TestClock.adjust("5 seconds")
      return yield* Fiber.join(searching)
    })
    const { plugins, invalid } = await Effect.runPromise(Effect.provide(program, TestContext.TestContext))
    expect(plugins.map(({ id }) => id)).toEqual(["acme", "first"])
    expect(invalid).toMatchObject([
      { plugin: join(folder, "providers/stuck"), phase: "import", reason: "not loaded after 5 seconds" },
    ])
  })

  test("each is logged before it is imported, since one that blocks could not be logged afterwards", async () => {
    const folder = await folderWith(home, { ...good, "providers/zeta": providerSource("zeta") })
    const seen: Array<unknown> = []
    Object.assign(globalThis, { seen })
    for (const path of ["providers/acme", "providers/zeta", "strategies/first"]) {
      const source = await Bun.file(join(folder, path, "index.ts")).text()
      await Bun.write(join(folder, path, "index.ts"), `globalThis.seen.push("runs")\n${source}`)
    }
    await Effect.runPromise(discover([folder], (path) => seen.push(path)))
    const names = ["providers/acme", "providers/zeta", "strategies/first"].map((path) => join(folder, path))
    expect(seen).toEqual([...names.flatMap((name) => [name, "runs"]), null])
  })
})

describe("F13: was said in other words than what it was, or not at all", () => {
  test("a file in the place of a folder was ignored without a word", async () => {
    const folder = await folderWith(home, good)
    await Bun.write(join(folder, "providers/bad.ts"), providerSource("bad"))
    await Bun.write(join(folder, "providers/bad.test.ts"), "")
    await Bun.write(join(folder, "strategies/near.js"), "")
    const { plugins, invalid } = await found(folder)
    expect(plugins).toEqual(["provider acme", "strategy first"])
    expect(invalid.map(({ message }) => message)).toEqual([
      `plugin ${join(folder, "providers/bad.ts")}: find: a file, where each plugin has a folder: move it to bad/index.ts`,
      `plugin ${join(folder, "strategies/near.js")}: find: a file, where each plugin has a folder: move it to near/index.js`,
    ])
  })

  test("code that does not compile: its place, the fault and the line, of this file and of one that it imports", async () => {
    const folder = await folderWith(home, {
      "providers/torn": "const a = {\n  b: 1\n  c: 2,\n}\nexport default a b\n",
      "providers/within": 'export { default } from "./more.ts"\n',
    })
    await Bun.write(join(folder, "providers/within/more.ts"), "\n\nexport default {")
    const { invalid } = await found(folder)
    expect(invalid.map(({ phase, reason }) => `${phase}: ${reason}`)).toEqual([
      expect.stringMatching(/^import: index\.ts:3:3: Expected "}" but found "c": c: 2, \(and \d more\)$/),
      "import: more.ts:3:16: Expected identifier but found end of file: export default {",
    ])
  })

  test("a plugin that changes the language ended the start elsewhere: it is off, what it changed is put back, the rest loads", async () => {
    const folder = await folderWith(home, {
      ...good,
      "providers/adding": `Object.prototype.shown = () => 1\n${providerSource("adding")}`,
      "providers/patching": `Array.prototype.map = () => { throw new Error("mine") }\n${providerSource("patching")}`,
      "providers/polyfill": `Object.defineProperty(Array.prototype, "later", { value: () => 1 })\n${providerSource("polyfill")}`,
      "providers/throwing": `JSON.parse = () => 1\nglobalThis.fetch = 7\nthrow new Error("no licence")`,
    })
    const { map } = Array.prototype
    const { parse } = JSON
    const { fetch } = globalThis
    const { plugins, invalid } = await found(folder)
    expect([Array.prototype.map === map, JSON.parse === parse, globalThis.fetch === fetch]).toEqual([true, true, true])
    expect("shown" in {}).toBe(false)
    expect(plugins).toEqual(["provider acme", "provider polyfill", "strategy first"])
    expect(invalid.map(({ reason }) => reason)).toEqual([
      "it changes Object.prototype.shown, which everything in the process uses",
      "it changes Array.prototype.map, which everything in the process uses",
      "it changes JSON.parse, globalThis.fetch, which everything in the process uses",
    ])
    Reflect.deleteProperty(Array.prototype, "later")
  })

  describe("one with the id of a plugin of the gateway's own", () => {
    const discovered = async (override: ReadonlyArray<string>, order: "first" | "last" = "first") => {
      const own = await folderWith(home, {
        "providers/echo": providerSource("echo"),
        "strategies/price": strategySource("price"),
      })
      const theirs = await folderWith(home, {
        "providers/echo": providerSource("echo"),
        "providers/acme": providerSource("acme"),
      })
      const folders = order === "first" ? [theirs, own] : [own, theirs]
      const result = await Effect.runPromise(
        discover(folders, undefined, undefined, undefined, { folder: own, override }),
      )
      const from = result.plugins.map((plugin) => {
        const { kind = "", overrides = false } = result.origins.get(plugin) ?? {}
        return [plugin.id, kind, overrides]
      })
      return { from, invalid: result.invalid.map(({ message }) => message), theirs }
    }

    test.each(["first", "last"] as const)("is off, and the sentence says what to do, found %s", async (order) => {
      const { from, invalid, theirs } = await discovered([], order)
      expect(from.toSorted()).toEqual([
        ["acme", "folder", false],
        ["echo", "gateway", false],
        ["price", "gateway", false],
      ])
      expect(invalid).toEqual([
        `plugin ${join(theirs, "providers/echo")}: duplicate: the gateway has a provider echo of its own: give yours another id, or add "echo" to plugins.override`,
      ])
    })

    test.each(["first", "last"] as const)(
      "takes its place where plugins.override has its id, found %s",
      async (order) => {
        const { from, invalid } = await discovered(["echo"], order)
        expect(from.toSorted()).toEqual([
          ["acme", "folder", false],
          ["echo", "folder", true],
          ["price", "gateway", false],
        ])
        expect(invalid).toEqual([])
      },
    )
  })
})

test("plugins without node_modules work with the gateway's own modules, wherever the gateway was started", async () => {
  const bare = await mkdtemp(join(tmpdir(), "headgate-bare-"))
  try {
    await folderWith(bare, good)
    const child = Bun.spawn([process.execPath, join(repository, "test/plugin/discoverHere.ts")], {
      cwd: bare,
      stdout: "pipe",
      stderr: "pipe",
    })
    const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()])
    expect(err).toBe("")
    expect(JSON.parse(out)).toEqual({
      plugins: ["acme", "first", "echo"],
      invalid: [],
      ownHostFailed: true,
      ownSchema: true,
    })
  } finally {
    await rm(bare, { recursive: true })
  }
})
