/** The package as others get it: packed, in an app outside of this repository, run by Bun and read by two TypeScripts. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { makePackedApp, type PackedApp } from "../support/packedApp.ts"

const compilers = ["typescript", "typescript-5.9"]

let app: PackedApp

beforeAll(async () => {
  app = await makePackedApp(["bun-types", ...compilers])
  for (const file of ["app.ts", "gateway.ts"]) await app.write(file, readFileSync(join(import.meta.dir, file), "utf8"))
}, 120_000)
afterAll(() => rm(app.folder, { recursive: true, force: true }))

describe("the tarball", () => {
  test("has sources, types, plugins and examples, and no tests of plugins", () => {
    expect(app.packed).toContain("src/index.ts")
    expect(app.packed).toContain("dist/src/index.d.ts")
    expect(app.packed).toContain("dist/plugins/providers/openai/index.d.ts")
    expect(app.packed).toContain("plugins/providers/openai/models.json")
    expect(app.packed).toContain("examples/embed.ts")
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

const common = { target: "ESNext", module: "Preserve", moduleResolution: "bundler", strict: true, noEmit: true }
const settings = {
  "the DOM's types and none of Bun's": { lib: ["ESNext", "DOM"], types: [] },
  "noImplicitReturns and exactOptionalPropertyTypes": {
    lib: ["ESNext"],
    types: ["bun-types"],
    noImplicitReturns: true,
    exactOptionalPropertyTypes: true,
  },
  "strict alone": { types: ["bun-types"] },
}

describe("the types", () => {
  const cases = Object.entries(settings).flatMap(([name, options], at) =>
    compilers.map((compiler) => [compiler, name, at, options] as const),
  )
  test.each(cases)("%s, %s", async (compiler, _name, at, options) => {
    // TypeScript 5.9 takes four times as long for all of Effect's own declarations.
    const compilerOptions = { ...common, ...options, skipLibCheck: compiler !== "typescript" }
    const file = `tsconfig.${compiler}.${at}.json`
    const include = options.types.length === 0 ? ["gateway.ts"] : ["*.ts"]
    await app.write(file, JSON.stringify({ compilerOptions, include }))
    const { stdout } = await app.run(
      process.execPath,
      `node_modules/${compiler}/bin/tsc`,
      "--project",
      file,
      "--pretty",
      "false",
    )
    expect(stdout).toBe("")
  })
})
