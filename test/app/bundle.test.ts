/** The bundle of the program is run only where it is that of the sources. */
import { afterAll, describe, expect, test } from "bun:test"
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { bundleOf, stateOf } from "../../src/app/bundle.ts"
import { install } from "../support/gateways/process.ts"

const folder = mkdtempSync(join(tmpdir(), "headgate-bundle-"))
afterAll(() => rmSync(folder, { recursive: true }))

/** The smallest package that has a bundle of its sources. */
const packageWithBundle = (name: string) => {
  const root = join(folder, name)
  for (const each of ["src", "plugins", "scripts", "bundle"]) mkdirSync(join(root, each), { recursive: true })
  for (const each of ["src/a.ts", "package.json", "bun.lock", "scripts/bundle.ts", "bundle/program.js"]) {
    writeFileSync(join(root, each), "1")
  }
  const url = pathToFileURL(`${root}/`)
  writeFileSync(join(root, "bundle/sources.json"), stateOf(url))
  return { root, url, bundle: join(root, "bundle/program.js") }
}

describe("the bundle is", () => {
  test("that of the sources when nothing has changed since", () => {
    const { url, bundle } = packageWithBundle("unchanged")
    expect(bundleOf(url)).toBe(bundle)
  })

  test.each(["src/a.ts", "plugins/new.ts", "bun.lock"])("another one after %s was written", (file) => {
    const { root, url } = packageWithBundle(file.replaceAll("/", "-"))
    writeFileSync(join(root, file), "12")
    expect(bundleOf(url)).toBeUndefined()
  })

  test("another one after a source was removed", () => {
    const { root, url } = packageWithBundle("removed")
    rmSync(join(root, "src/a.ts"))
    expect(bundleOf(url)).toBeUndefined()
  })

  test("that of an installed package, which says nothing of sources", () => {
    const { root, url, bundle } = packageWithBundle("installed")
    rmSync(join(root, "bundle/sources.json"))
    rmSync(join(root, "bun.lock"))
    expect(bundleOf(url)).toBe(bundle)
  })

  test("not there in a package that has none", () => {
    const { root, url } = packageWithBundle("none")
    rmSync(join(root, "bundle"), { recursive: true })
    expect(bundleOf(url)).toBeUndefined()
  })
})

test("the program runs from its sources where there is no bundle", async () => {
  const project = join(import.meta.dir, "../..")
  const root = join(folder, "sources")
  mkdirSync(root)
  for (const each of ["src", "plugins", "package.json"])
    cpSync(join(project, each), join(root, each), { recursive: true })
  symlinkSync(join(project, "node_modules"), join(root, "node_modules"))
  const child = Bun.spawn([process.execPath, "src/main.ts", "plugin", "list"], { cwd: root, stderr: "pipe" })
  const lines = (await new Response(child.stdout).text()).split("\n")
  expect([await child.exited, await new Response(child.stderr).text()]).toEqual([0, ""])
  expect(lines.some((line) => line.startsWith("echo"))).toBe(true)
}, 1_800_000)

test("the page of the API's reference is complete, though its text is in a file beside the bundle", async () => {
  const installation = install()
  try {
    const gateway = installation.start({ config: { discovery: { environment: false, local: false } } })
    const page = await fetch(new URL("/docs", await gateway.url()))
    expect(page.status).toBe(200)
    expect(await page.text()).toContain("SwaggerUIBundle")
  } finally {
    await installation.remove()
  }
}, 1_800_000)
