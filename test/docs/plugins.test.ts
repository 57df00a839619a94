/**
 * The code of docs/plugins.md is what `headgate plugin new` writes, whose tests run in `src/cli/plugin/templates` and, outside of the
 * repository, in `test/cli/plugin.test.ts`. After a change that is meant, `HEADGATE_WRITE_DOCS=1 bun test
 * test/docs/plugins.test.ts` writes it into the page.
 */
import { describe, expect, test } from "bun:test"
import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { decodeConfig } from "../../src/config/loadConfig.ts"

const root = join(import.meta.dir, "../..")
const path = join(root, "docs/plugins.md")

const kinds = [
  ["acme", "Acme", "host"],
  ["tide", "Tide", "protocol"],
  ["steady", "Steady", "strategy"],
] as const

/** Plugins that fetch tokens and sign, which are tested in `test/testing/mutants.test.ts`, by their folders in `test/testing`. */
const tested = new Map([
  ["token-like", "tokenLike"],
  ["signed-like", "signedLike"],
])

/** The file of a template under the name that the page gives it. */
const written = (file: string): string | undefined => {
  const [folder, ...rest] = file.split("/")
  const ofTest = tested.get(folder ?? "")
  if (ofTest !== undefined) return readFileSync(join(root, "test/testing", ofTest, ...rest), "utf8")
  const kind = kinds.find(([name]) => name === folder)
  if (kind === undefined) return undefined
  const [name, shown, template] = kind
  const source = rest.join("/").replace(`${name}.test.ts`, "vendor-name.test.ts")
  return readFileSync(join(root, "src/cli/plugin/templates", template, source), "utf8")
    .replaceAll("VENDOR_NAME", name.toUpperCase())
    .replaceAll("Vendor Name", shown)
    .replaceAll("vendor-name", name)
}

const block = /^```(ts|json) (\S+)\n([\s\S]*?)^```$/gm

if (process.env["HEADGATE_WRITE_DOCS"] === "1") {
  const page = readFileSync(path, "utf8").replace(block, (whole, language: string, file: string) => {
    const source = written(file)
    return source === undefined ? whole : `\`\`\`${language} ${file}\n${source}\`\`\``
  })
  writeFileSync(path, page)
}

const page = readFileSync(path, "utf8")
const blocks = [...page.matchAll(block)].map(([, , file = "", text = ""]) => [file, text] as const)

describe("docs/plugins.md", () => {
  test("names the file of every block of code", () => {
    expect(page.match(/^```(ts|json)/gm)?.length).toBe(blocks.length)
    expect(blocks.length).toBeGreaterThan(9)
  })

  test.each(blocks)("%s is what a template has, or is read", async (file, text) => {
    const source = written(file)
    if (source !== undefined) expect(text).toBe(source)
    else if (file === "headgate.config.json") await Effect.runPromise(decodeConfig(JSON.parse(text)))
    else if (file === "tsconfig.json") expect(JSON.parse(text)).toMatchObject({ compilerOptions: { noEmit: true } })
    else expect(JSON.parse(text)).toMatchObject({ peerDependencies: { headgate: expect.any(String) } })
  })
})
