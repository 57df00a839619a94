/** The package as others get it: packed, in an app outside of this repository, run by Bun and read by two TypeScripts. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { rm } from "node:fs/promises"
import { basename, join } from "node:path"
import { version } from "../../package.json"
import { makePackedApp, type PackedApp, ran } from "../support/gateways/packedApp.ts"

const compilers = ["typescript", "typescript-5.9"]

const page = readFileSync(join(import.meta.dir, "../../docs/embedding.md"), "utf8")
const blocks = (language: string) =>
  new Map(
    [...page.matchAll(new RegExp(`^\`\`\`${language} (\\S+)\\n([\\s\\S]*?)^\`\`\`$`, "gm"))].map(
      ([, file = "", text = ""]) => [file, text] as const,
    ),
  )
const sources = blocks("ts")
const outputs = blocks("text")
const curl = page.match(/^curl .*$/m)?.[0] ?? ""

let app: PackedApp

beforeAll(async () => {
  app = await makePackedApp(["bun-types", "hono", "openai", ...compilers])
  for (const file of ["app.ts", "gateway.ts"]) await app.write(file, readFileSync(join(import.meta.dir, file), "utf8"))
  // Any free port, for tests at the same time.
  for (const [file, text] of sources) await app.write(`page/${file}`, text.replace("port: 3000", "port: 0"))
}, 1_800_000)
afterAll(() => rm(app.folder, { recursive: true, force: true }))

describe("the tarball", () => {
  test("has sources, types, plugins and examples, and no tests of plugins", () => {
    expect(app.packed).toContain("src/index.ts")
    expect(app.packed).toContain("dist/src/index.d.ts")
    expect(app.packed).toContain("dist/plugins/providers/openai/index.d.ts")
    expect(app.packed).toContain("plugins/providers/openai/models.json")
    expect(app.packed).toContain("examples/effect-app/index.ts")
    expect(app.packed).toContain("bundle/program.js")
    expect(app.packed).not.toContain("bundle/sources.json")
    expect(app.packed.filter((path) => /^(plugins|test|bench)\/.*\.test\.ts$/.test(path))).toEqual([])
  })

  test("answers a chat call in an app of its own, with the app's Effect and one plugin contract", async () => {
    const { code, stdout, stderr } = await app.run(process.execPath, "app.ts")
    expect(stderr).toBe("")
    expect(code).toBe(0)
    const said = JSON.parse(stdout)
    expect(said).toMatchObject({ status: 200, reason: "account" })
    expect(said.body.choices[0].message.content).toBe("one two")
    expect(said.body.usage.cost).toBe(0.000006)
    expect(said.checks).toBeGreaterThan(3)
    expect(new Set(said.effects).size).toBe(1)
    expect(new Set(said.contracts)).toEqual(new Set([join(app.folder, "node_modules/headgate/src/plugin.ts")]))
  })
})

describe("F15: under Node, which said that there is no main defined", () => {
  const node = Bun.which("node")
  test.skipIf(node === null)(
    "every import says that Bun is needed, whatever it names",
    async () => {
      const imports = [
        'import { Gateway, KeyStore } from "headgate"',
        'import { GatewayClient } from "headgate/client"',
        'import { defineProvider } from "headgate/plugin"',
        'import { providerChecks } from "headgate/testing"',
        'import echo from "headgate/providers/echo"',
        'await import("headgate/strategies/price")',
      ]
      for (const [at, line] of imports.entries()) {
        await app.write(`node${at}.mjs`, line)
        const { code, stderr } = await app.run(node ?? "node", `node${at}.mjs`)
        expect(code).toBe(1)
        expect(stderr).toContain(
          'headgate runs on Bun (>=1.4.5), and this is another runtime: start the app with "bun"',
        )
      }
    },
    1_800_000,
  )
})

test("the program of the package runs", async () => {
  const { code, stdout } = await app.run(process.execPath, "node_modules/headgate/src/main.ts", "--version")
  expect(code).toBe(0)
  expect(stdout).toContain(version)
})

const common = { target: "ESNext", module: "Preserve", moduleResolution: "bundler", strict: true, noEmit: true }
const settings = {
  "the DOM's types and none of Bun's": {
    options: { lib: ["ESNext", "DOM"], types: [] },
    include: ["gateway.ts"],
  },
  // With the files of docs/embedding.md. The declarations of @effect/platform-bun, which one uses, name types of an older Bun.
  "noImplicitReturns and exactOptionalPropertyTypes": {
    options: { types: ["bun-types"], noImplicitReturns: true, exactOptionalPropertyTypes: true, skipLibCheck: true },
    include: ["*.ts", "page/*.ts"],
  },
  "strict alone": { options: { types: ["bun-types"] }, include: ["*.ts"] },
}

/** What a compiler says of each setting. One process compiles them all, and reads the declarations that they share once. */
const compile = async (compiler: string): Promise<ReadonlyMap<string, string>> => {
  const fileOf = (at: number) => `tsconfig.${compiler}.${at}.json`
  const files: Array<string> = []
  for (const { options, include } of Object.values(settings)) {
    // TypeScript 5.9 takes four times as long for all of Effect's own declarations.
    const compilerOptions = { ...common, skipLibCheck: compiler !== "typescript", ...options }
    const file = fileOf(files.length)
    await app.write(file, JSON.stringify({ compilerOptions, include }))
    files.push(file)
  }
  // On two cores with other tests: threads that check the same declarations each, and the slowest tier of JavaScriptCore's
  // compilers, take half of the processor time.
  const bun = ["env", "BUN_JSC_useFTLJIT=0", process.execPath]
  const flags = compiler === "typescript" ? ["--singleThreaded"] : []
  const tsc = [...bun, `node_modules/${compiler}/bin/tsc`, "--build", "--verbose", "--pretty", "false", ...flags]
  const { stdout } = await app.run(...tsc, ...files)
  const saidOf = new Map(
    stdout
      .split(/^.* - Building project '/m)
      .slice(1)
      .map((part) => {
        const [, file = "", said = ""] = /^(.*)'\.\.\.\n([\s\S]*)/.exec(part) ?? []
        return [basename(file), said.replace(/^.* - Project '.*$/gm, "").trim()] as const
      }),
  )
  return new Map(
    Object.keys(settings).flatMap((name, at) => {
      const said = saidOf.get(fileOf(at))
      return said === undefined ? [] : [[name, said] as const]
    }),
  )
}

describe("the types", () => {
  const cases = Object.keys(settings).flatMap((name) => compilers.map((compiler) => [compiler, name] as const))
  const said = new Map<string, ReadonlyMap<string, string>>()
  beforeAll(async () => {
    for (const compiler of compilers) said.set(compiler, await compile(compiler))
  }, 1_800_000)
  test.each(cases)("%s, %s", (compiler, name) => {
    expect(said.get(compiler)?.get(name)).toBe("")
  })
})

describe("the packed package", () => {
  test("has what a plugin in an app needs: its tests run with `bun test`, and the program writes and tests plugins", async () => {
    const program = [process.execPath, "node_modules/headgate/src/main.ts", "plugin"]
    expect(await app.run(...program, "new", "tide", "--protocol")).toMatchObject({ code: 0, stderr: "" })
    const tested = await ran(
      [process.execPath, "test", "--timeout=1800000"],
      join(app.folder, "plugins/providers/tide"),
    )
    expect(tested.stderr).toContain(" 0 fail")
    expect(tested.code).toBe(0)
    const listed = await app.run("env", "TIDE_API_KEY=a-key", ...program, "list")
    expect(listed.stdout).toContain("tide\tprovider\ton\t1 model as tide\tits environment variables are set\t3\t")
  }, 1_800_000)
})

describe("docs/embedding.md", () => {
  const managementKey = "sk-of-the-operator-0123456789abcdef"

  /** Runs an app of the page until `use` has ended, and stops it by `signal`. */
  const serving = async (
    file: string,
    use: (url: string) => Promise<void>,
    signal: "SIGINT" | "SIGTERM" = "SIGTERM",
  ) => {
    const child = Bun.spawn([process.execPath, file], {
      cwd: join(app.folder, "page"),
      env: { ...process.env, HEADGATE_MANAGEMENT_KEY: managementKey },
      stdout: "pipe",
      stderr: "inherit",
    })
    try {
      let said = ""
      const decoder = new TextDecoder()
      for await (const bytes of child.stdout) {
        said += decoder.decode(bytes)
        if (/:\d+.*\n/.test(said)) break
      }
      const port = /http:\/\/\S*?:(\d+)/.exec(said)?.[1]
      await use(`http://localhost:${port}`)
    } finally {
      child.kill(signal)
    }
    return child.exited
  }
  /** What the page's own command prints, for an app at `base`. */
  const asked = async (base: string) =>
    JSON.parse((await app.run("sh", "-c", `${curl.replace("http://localhost:3000", base)} --silent`)).stdout)

  test("has a file for every block of code", () => {
    const files = [
      "app.ts",
      "inline.ts",
      "hono.ts",
      "effect.ts",
      "meter.ts",
      "bills.ts",
      "manage.ts",
      "inProcess.ts",
      "money.ts",
    ]
    expect([...sources.keys()]).toEqual(files)
    expect(sources.get("meter.ts")).toBe(
      readFileSync(join(import.meta.dir, "../../examples/services/meter.ts"), "utf8"),
    )
  })

  test.each(["SIGINT", "SIGTERM"] as const)("app.ts answers the page's command, and ends at %s", async (signal) => {
    const answers = async (url: string) => {
      expect((await asked(url)).choices[0].message.content).toBe("Hello, app!")
    }
    expect(await serving("app.ts", answers, signal)).toBe(0)
  })

  test("effect.ts answers below its prefix, beside the app's page", async () => {
    await serving("effect.ts", async (url) => {
      expect(await (await fetch(url)).text()).toBe("our own page")
      expect((await asked(`${url}/llm`)).choices[0].message.content).toBe("Hello, app!")
    })
  })

  test("bills.ts, in an app, has a line for each answer", async () => {
    await app.write(
      "page/billed.ts",
      `import * as HttpLayerRouter from "@effect/platform/HttpLayerRouter"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Gateway, KeyId, KeyStore, memoryStorage, Upstream } from "headgate"
import echo from "headgate/providers/echo"
import { Bills } from "./bills.ts"

const App = Layer.mergeAll(Gateway.routes, Bills).pipe(
  Layer.provide(Gateway.services({ plugins: [echo] })),
  Layer.provide([KeyStore.layerFrom(() => Effect.succeed({ id: KeyId.make("ann") })), Upstream.layer, memoryStorage]),
  Layer.provide(HttpLayerRouter.layer),
)
const { handler, dispose } = HttpLayerRouter.toWebHandler(App, { disableLogger: true })
const response = await handler(
  new Request("http://app/api/v1/chat/completions", {
    method: "POST",
    headers: { authorization: "Bearer any", "content-type": "application/json" },
    body: JSON.stringify({ model: "headgate/echo", messages: [{ role: "user", content: "one two three" }] }),
  }),
)
await response.text()
await dispose()
`,
    )
    const { stdout } = await app.run(process.execPath, "page/billed.ts")
    expect(stdout).toBe("ann: 0.000009 USD for POST /api/v1/chat/completions\n")
  })

  test("inline.ts calls a server of this machine", async () => {
    const message = { role: "assistant", content: "Hello, Ann!" }
    using server = Bun.serve({
      port: 0,
      fetch: () =>
        Response.json({
          id: "of-acme",
          object: "chat.completion",
          choices: [{ index: 0, finish_reason: "stop", message }],
          usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 },
        }),
    })
    const text = sources.get("inline.ts") ?? ""
    await app.write("page/called.ts", text.replace("127.0.0.1:9000", `127.0.0.1:${server.port}`))
    expect(await app.run(process.execPath, "page/called.ts")).toMatchObject({ code: 0, stdout: "Hello, Ann!\n" })
  })

  test("hono.ts answers the page's command below its prefix, beside the app's page", async () => {
    const code = await serving("hono.ts", async (url) => {
      expect(await (await fetch(url)).text()).toBe("our own page")
      expect((await asked(`${url}/llm`)).choices[0].message.content).toBe("Hello, app!")
    })
    expect(code).toBe(0)
  })

  test("manage.ts manages the same app with a management key, and prints what the page says", async () => {
    const managed = (sources.get("hono.ts") ?? "")
      .replace(/authenticate: .*/, 'managementKey: process.env["HEADGATE_MANAGEMENT_KEY"] ?? "",')
      .replace("sqlite:data/llm.db", "memory:")
      .replace("port: 3000", "port: 0")
    await app.write("page/managed.ts", managed)
    await serving("managed.ts", async (url) => {
      const env = { ...process.env, GATEWAY_URL: `${url}/llm`, HEADGATE_MANAGEMENT_KEY: managementKey }
      const { stdout } = Bun.spawnSync([process.execPath, "page/manage.ts"], {
        cwd: app.folder,
        env,
        stderr: "inherit",
      })
      expect(stdout.toString()).toBe(outputs.get("manage.ts") ?? "")
    })
  })

  test.each(["money.ts", "inProcess.ts"])("%s prints what the page says", async (file) => {
    expect((await app.run(process.execPath, `page/${file}`)).stdout).toBe(outputs.get(file) ?? "")
  })
})
