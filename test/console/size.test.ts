/** What a browser loads for the first view, and that nothing in it needs what the page's policy refuses. */
import { beforeAll, expect, test } from "bun:test"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { join, resolve } from "node:path"
import { buildConsole, canBuild } from "../../scripts/console.ts"

const folder = resolve(import.meta.dir, "../../bundle/console")
const assets = join(folder, "assets")

beforeAll(buildConsole)

/** A gateway is tested without the console's packages, too: then there is nothing to look at. */
const isBuildable = canBuild()

/** Files that a script imports at once, with it. */
const withImports = (name: string): ReadonlyArray<string> => {
  const found = new Set<string>()
  const visit = (file: string): void => {
    if (found.has(file)) return
    found.add(file)
    const text = readFileSync(join(assets, file), "utf8")
    for (const [, other = ""] of text.matchAll(/(?:from|import)"\.\/([^"]+)"/g)) visit(other)
  }
  visit(name)
  return [...found]
}

const named = (start: string): string =>
  readdirSync(assets).find((name) => name.startsWith(start) && name.endsWith(".js")) ?? ""

test.skipIf(!isBuildable)(
  "page, style, mark, script and the first view with its charts are at most 60 KB, compressed as every browser takes it",
  () => {
    const page = readFileSync(join(folder, "index.html"), "utf8")
    const first = Array.from(page.matchAll(/\/console\/assets\/([^"]+)/g), ([, name = ""]) => name)
    const [script = ""] = first.filter((name) => name.endsWith(".js"))
    const plot = Array.from(
      withImports(named("Overview")).flatMap((name) => [
        ...readFileSync(join(assets, name), "utf8").matchAll(/import\("\.\/([^"]+)"\)/g),
      ]),
      ([, name = ""]) => name,
    )
    const names = new Set([
      ...first,
      ...withImports(script),
      ...withImports(named("Overview")),
      ...plot.filter((name) => /plot/i.test(name)),
    ])
    const total = [join(folder, "index.html"), ...[...names].map((name) => join(assets, name))].reduce(
      (sum, path) => sum + statSync(`${path}.br`).size,
      0,
    )
    expect(total).toBeGreaterThan(20_000)
    expect(total).toBeLessThanOrEqual(60_000)
  },
)

test.skipIf(!isBuildable)("the page has neither inline script nor inline style, and names only its own files", () => {
  const page = readFileSync(join(folder, "index.html"), "utf8")
  expect(page).not.toMatch(/<style|style="|<script(?![^>]*\bsrc=)|\son\w+=/)
  expect(
    Array.from(page.matchAll(/(?:src|href)="([^"]+)"/g), ([, path]) => path).filter(
      (path) => !path?.startsWith("/console/assets/"),
    ),
  ).toEqual([])
})

test.skipIf(!isBuildable)("every file has a hash in its name and its compressed forms beside it", () => {
  const names = readdirSync(assets)
  const plain = names.filter((name) => !/\.(br|gz)$/.test(name))
  expect(plain.filter((name) => !/-[a-z0-9]{8}\.(js|css|svg)$/.test(name))).toEqual([])
  expect(plain.filter((name) => !names.includes(`${name}.br`) || !names.includes(`${name}.gz`))).toEqual([])
})
