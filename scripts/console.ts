/**
 * Makes the console in `bundle/console`: `index.html`, and in `assets` what it loads, named by hashes of the contents, each with `.br` and
 * `.gz` beside it (docs/decisions/0087-the-console.md). `scripts/bundle.ts` builds it too. Does nothing when the console is that of these
 * sources. Where its packages are not installed, as after `bun start`, the bundle is made without it, since a gateway runs without it, and
 * this command says what to do.
 *
 *     bun scripts/console.ts
 */
import { existsSync } from "node:fs"
import { mkdir, readdir, rename, rm } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { brotliCompressSync, constants, gzipSync } from "node:zlib"
import { filesOf } from "../src/app/bundle.ts"

const root = new URL("../", import.meta.url)
const pathOf = (name: string) => fileURLToPath(new URL(name, root))

/** Files and folders that the console depends on. */
const sources = ["console", "src/domain/price", "bun.lock", "scripts/console.ts"]

/** What it is built with, of the packages of development. */
export const consolePackages = ["preact", "@preact/signals", "uplot"]

/** Whether the console's sources and packages are there. */
export const canBuild = (): boolean => {
  try {
    for (const name of consolePackages) Bun.resolveSync(name, pathOf("console"))
    return existsSync(pathOf("console/index.html"))
  } catch {
    return false
  }
}

const compress = async (path: string): Promise<void> => {
  const bytes = await Bun.file(path).bytes()
  const options = { params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } }
  await Bun.write(`${path}.br`, brotliCompressSync(bytes, options))
  await Bun.write(`${path}.gz`, gzipSync(bytes, { level: 9 }))
}

const build = async (state: string): Promise<void> => {
  const temporary = pathOf(`bundle.console.${process.pid}`)
  await mkdir(temporary, { recursive: true })
  await Bun.build({
    entrypoints: [pathOf("console/index.html")],
    outdir: temporary,
    target: "browser",
    format: "esm",
    splitting: true,
    minify: true,
    define: { "process.env.NODE_ENV": '"production"' },
    naming: { entry: "[name].[ext]", chunk: "assets/[name]-[hash].[ext]", asset: "assets/[name]-[hash].[ext]" },
  })
  // Every view's address answers with this page, so what it loads has to be named from the root. Scripts name each other by where they are.
  const page = `${temporary}/index.html`
  await Bun.write(page, (await Bun.file(page).text()).replaceAll('"./assets/', '"/console/assets/'))
  await compress(page)
  for (const name of await readdir(`${temporary}/assets`)) await compress(`${temporary}/assets/${name}`)
  await Bun.write(pathOf("bundle/console-sources.json"), state)
  await rm(pathOf("bundle/console"), { recursive: true, force: true })
  try {
    await rename(temporary, pathOf("bundle/console"))
  } catch (cause) {
    // Another process that has built the same was quicker.
    await rm(temporary, { recursive: true, force: true })
    if (!existsSync(pathOf("bundle/console/index.html"))) throw cause
  }
}

/** Builds the console where it can be built and is not there yet. */
export const buildConsole = async (): Promise<void> => {
  if (!canBuild()) return
  const state = filesOf(root, sources)
  const made = Bun.file(pathOf("bundle/console-sources.json"))
  const isThere =
    existsSync(pathOf("bundle/console/index.html")) && (await made.exists()) && (await made.text()) === state
  if (!isThere) await build(state)
}

if (import.meta.main) {
  if (canBuild()) await buildConsole()
  else {
    process.stderr.write("The packages of the console are not installed. First run: bun scripts/consolePackages.ts\n")
    process.exitCode = 1
  }
}
