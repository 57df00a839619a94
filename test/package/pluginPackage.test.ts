/**
 * A plugin as a package, from nothing to an answer: `headgate plugin new --package`, installed beside the packed gateway, tested, packed, and
 * installed from that file into the folder of a gateway. docs/plugins.md
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { cp, mkdir, mkdtemp, readdir, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { version } from "../../package.json"
import { contractVersion } from "../../src/plugin/Provider.ts"
import { installFiles, type PackedFile, succeeded } from "../support/gateways/installed.ts"
import { packGateway, ran } from "../support/gateways/packedApp.ts"
import { scriptedHost, wholeAnswer } from "../support/hosts/host.ts"

const root = resolve(import.meta.dir, "../..")
const example = join(root, "examples/plugin-package")
const managementKey = "sk-of-the-operator-0123456789abcdef"

let home = ""
let plugin = ""
let gateway = ""
const packedGateway = (path: string, manifest: unknown): PackedFile => ({ path, manifest })

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "headgate-package-"))
  plugin = join(home, "headgate-acme")
  gateway = join(home, "gateway")
  await mkdir(join(home, "packed"))
  await packGateway(join(home, "packed/headgate.tgz"))
}, 1_800_000)
afterAll(() => rm(home, { recursive: true, force: true }), 60_000)

/** What `headgate plugin list` says in this folder of the package headgate-acme. */
const listed = async (folder: string): Promise<ReadonlyArray<unknown>> => {
  const command = ["env", "ACME_API_KEY=a-key", "node_modules/.bin/headgate", "plugin", "list", "--json"]
  const plugins: ReadonlyArray<{ readonly from: string }> = JSON.parse((await succeeded(command, folder)).stdout)
  return plugins.filter(({ from }) => from === "headgate-acme")
}

const manifestOf = async (folder: string) => {
  const { dependencies, peerDependencies, bin } = await Bun.file(join(folder, "package.json")).json()
  return { dependencies, peerDependencies, bin }
}

describe("headgate plugin new --package", () => {
  test("writes a repository that is installed, checked, tested, and packed, with no checkout beside it", async () => {
    const made = await succeeded(
      [process.execPath, join(root, "src/main.ts"), "plugin", "new", "acme", "--package"],
      home,
    )
    expect(made.stdout.split("\n")).toContain(join(plugin, ".github/workflows/test.yml"))
    expect(await Bun.file(join(plugin, "package.json")).json()).toMatchObject({
      name: "headgate-acme",
      headgate: { contract: contractVersion },
      peerDependencies: { headgate: `^${version}` },
    })
    await Bun.write(join(plugin, "vendor/headgate.tgz"), Bun.file(join(home, "packed/headgate.tgz")))
    await installFiles(plugin, { headgate: packedGateway("vendor/headgate.tgz", await manifestOf(root)) })

    expect(await succeeded([process.execPath, "run", "check"], plugin)).toMatchObject({ code: 0 })
    expect((await succeeded([process.execPath, "test", "--timeout=1800000"], plugin)).stderr).toContain(" 0 fail")
    expect(await listed(plugin)).toMatchObject([
      { id: "acme", state: "on", contract: contractVersion, source: "package" },
    ])
    await succeeded([process.execPath, "pm", "pack", "--quiet"], plugin)
    const packed = await succeeded(["tar", "tzf", "headgate-acme-0.1.0.tgz"], plugin)
    expect(packed.stdout.trim().split("\n").toSorted()).toEqual(
      ["README.md", "index.ts", "package.json"].map((file) => `package/${file}`),
    )
  }, 1_800_000)

  test.each(["--protocol", "--strategy"])("%s makes a package too, and nothing is overwritten", async (flag) => {
    const words = ["plugin", "new", `tide${flag.slice(1)}`, "--package", flag]
    const program = [process.execPath, join(root, "src/main.ts"), ...words]
    await succeeded(program, home)
    expect(await readdir(join(home, `headgate-tide${flag.slice(1)}`))).toContain("package.json")
    expect(await ran(program, home)).toMatchObject({ code: 1, stderr: expect.stringContaining("is there already") })
  })
})

describe("examples/plugin-package", () => {
  const steady = () => join(home, "steady")

  test("is what the command writes, with a page of its own", async () => {
    const program = [process.execPath, join(root, "src/main.ts"), "plugin", "new", "steady", "--package", "--strategy"]
    await succeeded(program, home)
    for (const file of ["index.ts", "steady.test.ts", "tsconfig.json", "headgate.config.json"]) {
      const written = await Bun.file(join(home, "headgate-steady", file)).text()
      expect(await Bun.file(join(example, file)).text()).toBe(written)
    }
    const written = await Bun.file(join(home, "headgate-steady/package.json")).json()
    const { description } = await Bun.file(join(example, "package.json")).json()
    expect(await Bun.file(join(example, "package.json")).json()).toEqual({ ...written, description })
  })

  test("is checked, tested and packed where the gateway is installed", async () => {
    await cp(example, steady(), { recursive: true })
    await Bun.write(join(steady(), "vendor/headgate.tgz"), Bun.file(join(home, "packed/headgate.tgz")))
    await installFiles(steady(), { headgate: packedGateway("vendor/headgate.tgz", await manifestOf(root)) })
    await succeeded([process.execPath, "run", "check"], steady())
    expect((await succeeded([process.execPath, "test", "--timeout=1800000"], steady())).stderr).toContain(" 0 fail")
    await succeeded([process.execPath, "pm", "pack", "--quiet"], steady())
  }, 1_800_000)
})

describe("the packed plugins in a gateway's folder", () => {
  const host = scriptedHost(() => wholeAnswer("Hello from Acme."))
  afterAll(() => host.stop())

  beforeAll(async () => {
    const dependencies = {
      headgate: "file:../packed/headgate.tgz",
      "headgate-acme": "file:../headgate-acme/headgate-acme-0.1.0.tgz",
      "headgate-steady": "file:../steady/headgate-steady-0.1.0.tgz",
      effect: "^3.22.4",
      "@effect/platform": "^0.97.2",
    }
    await Bun.write(join(gateway, "package.json"), JSON.stringify({ name: "gateway", dependencies }))
    await Bun.write(
      join(gateway, "headgate.config.json"),
      JSON.stringify({
        plugins: { packages: ["headgate-acme", "headgate-steady"], required: ["acme"] },
        routing: { strategy: "steady" },
        providers: { acme: { base_url: host.url, network: "private", api_key: "a-key" } },
      }),
    )
    await installFiles(gateway, {
      headgate: packedGateway("../packed/headgate.tgz", await manifestOf(root)),
      "headgate-acme": packedGateway("../headgate-acme/headgate-acme-0.1.0.tgz", await manifestOf(plugin)),
      "headgate-steady": packedGateway("../steady/headgate-steady-0.1.0.tgz", await manifestOf(example)),
    })
  }, 1_800_000)

  test("serves a request", async () => {
    const child = Bun.spawn(["node_modules/.bin/headgate"], {
      cwd: gateway,
      env: {
        PATH: process.env["PATH"] ?? "",
        HOME: home,
        HEADGATE_PORT: "0",
        HEADGATE_MANAGEMENT_KEY: managementKey,
        HEADGATE_STORAGE: "memory:",
      },
      stdout: "pipe",
      stderr: "inherit",
    })
    try {
      let said = ""
      const decoder = new TextDecoder()
      for await (const bytes of child.stdout) {
        said += decoder.decode(bytes, { stream: true })
        if (/listens at \S+\s/.test(said)) break
      }
      const url = /listens at (\S+)/.exec(said)?.[1]
      const post = async (path: string, key: string, body: object) => {
        const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" }
        const answer = await fetch(`${url}${path}`, { method: "POST", headers, body: JSON.stringify(body) })
        return JSON.parse(await answer.text())
      }
      const { key } = await post("/keys", managementKey, { name: "test" })
      const ask = { messages: [{ role: "user", content: "Hello?" }] }
      const answer = await post("/chat/completions", key, { ...ask, model: "acme/small" })
      expect(answer.choices?.[0].message.content).toBe("Hello from Acme.")
      expect(
        (await post("/chat/completions", key, { ...ask, model: "headgate/echo" })).choices?.[0].message.content,
      ).toBe("Hello?")
      const explained = await post("/route/explain", key, { ...ask, model: "headgate/echo" })
      expect(explained.data.strategy).toBe("steady")
    } finally {
      child.kill("SIGTERM")
    }
    expect(await child.exited).toBe(0)
  }, 1_800_000)

  test.each([
    [
      1,
      "made for contract 1, this gateway has 3: since 2 a provider gives `protocols` in place of `operations`, `transport` in place of `answer`, ",
    ],
    [
      contractVersion + 1,
      `made for contract ${contractVersion + 1}, this gateway has ${contractVersion}: it needs a newer gateway`,
    ],
    ["two", "headgate.contract of its package.json is not a version of the contract, such as 3"],
  ])("made for contract %p it is off, and says what changed", async (contract, reason) => {
    const file = join(gateway, "node_modules/headgate-acme/package.json")
    const manifest = await Bun.file(file).json()
    // Removed first: the file may be the one of Bun's cache.
    await rm(file)
    await Bun.write(file, JSON.stringify({ ...manifest, headgate: { contract } }))
    expect(await listed(gateway)).toMatchObject([
      { state: "off", source: "package", why: expect.stringContaining(`shape: ${reason}`) },
    ])
  })
})
