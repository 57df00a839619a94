/**
 * Makes the bundle of the program in `bundle`: `src/main.ts` runs it in place of the sources, from which a start takes twice as
 * long (docs/decisions/0038-the-bundle.md).
 * Run by `bun install` in a clone, and by `bun pm pack`. Does nothing when the bundle is that of these sources.
 *
 *     bun scripts/bundle.ts
 */
import { mkdir, rename, rm } from "node:fs/promises"
import { relative } from "node:path"
import { fileURLToPath } from "node:url"
import { bundleOf, stateOf } from "../src/app/bundle.ts"
import { effectModules } from "../src/plugin/loading/resolve.ts"
import { buildConsole } from "./console.ts"

const root = new URL("../", import.meta.url)
const pathOf = (name: string) => fileURLToPath(new URL(name, root))

/** Threads have bundles of their own. */
const entries = { program: "src/cli/program.ts", sqliteThread: "src/sql/sqlite/sqliteThread.ts" }

const files = async (pattern: string): Promise<ReadonlyArray<string>> =>
  (await Array.fromAsync(new Bun.Glob(pattern).scan(fileURLToPath(root)))).toSorted()

/** The text for `src/process/inBundle.ts`. */
const tables = async (): Promise<string> => {
  const modules = ["headgate", "headgate/plugin", "headgate/plugin/generate-content", ...(await effectModules())]
  const plugins = (await files("plugins/{providers,strategies}/*/index.ts")).map((file) => `../../${file}`)
  return `
    export const isBundled = true
    export const modules = new Map([${modules.map((name) => `["${name}", () => import("${name}")]`)}])
    const path = (file) => Bun.fileURLToPath(new URL(file, import.meta.url))
    export const plugins = new Map([${plugins.map((file) => `[path("${file}"), () => import("${file}")]`)}])
  `
}

/** A source names other files by URLs that start at its own, and a thread by the file of its sources. */
const withUrls = (text: string, file: string): string => {
  const threads = Object.entries(entries).map(
    ([name, path]) => [`./${path.split("/").at(-1)}`, `./${name}.js`] as const,
  )
  const bundled = threads.reduce(
    (each, [source, bundle]) =>
      each.replaceAll(`new URL("${source}", import.meta.url)`, `new URL("${bundle}", bundleUrl)`),
    text,
  )
  return bundled
    .replaceAll("import.meta.url", `new URL("../${file}", bundleUrl).href`)
    .replaceAll("import.meta.dir", `Bun.fileURLToPath(new URL("../${file}/..", bundleUrl))`)
}

/** Where the bundle is made, before it takes its place. */
const temporary = pathOf(`bundle.${process.pid}`)

/** The texts of Swagger UI, which only the page of the API's reference needs: in a bundle, all text is in memory from the start. */
const swaggerTexts = async (path: string): Promise<string> => {
  const { css, javascript } = await import(path)
  await Bun.write(`${temporary}/swagger.json`, JSON.stringify({ css, javascript }))
  return `
    import { readFileSync } from "node:fs"
    export const { css, javascript } = JSON.parse(readFileSync(new URL("swagger.json", bundleUrl), "utf8"))
  `
}

const sources: Bun.BunPlugin = {
  name: "sources",
  setup: (build) => {
    build.onLoad({ filter: /\/(src|plugins)\/.*\.ts$/ }, async ({ path }) => {
      const file = relative(fileURLToPath(root), path)
      const text = file === "src/process/inBundle.ts" ? await tables() : await Bun.file(path).text()
      return { contents: withUrls(text, file), loader: "ts" }
    })
    build.onLoad({ filter: /\/httpApiSwagger\.js$/ }, async ({ path }) => ({
      contents: await swaggerTexts(path),
      loader: "js",
    }))
    // Property tests are not for a gateway that serves.
    build.onResolve({ filter: /^fast-check$/ }, () => ({ path: "fast-check", namespace: "left-out" }))
    build.onLoad({ filter: /.*/, namespace: "left-out" }, () => ({ contents: "", loader: "js" }))
  },
}

const build = async (): Promise<void> => {
  const state = stateOf(root)
  await mkdir(temporary, { recursive: true })
  for (const [name, entry] of Object.entries(entries)) {
    await Bun.build({
      entrypoints: [pathOf(entry)],
      outdir: temporary,
      naming: `${name}.js`,
      target: "bun",
      format: "cjs",
      bytecode: true,
      minify: { syntax: true },
      banner: `var bundleUrl = require("node:url").pathToFileURL(__filename).href;`,
      plugins: [sources],
    })
  }
  await Bun.write(`${temporary}/sources.json`, state)
  await rm(pathOf("bundle"), { recursive: true, force: true })
  await rename(temporary, pathOf("bundle"))
}

if (bundleOf(root) === undefined) await build()
await buildConsole()
