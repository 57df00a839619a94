/**
 * Writes what Node and bundlers get in place of the package's modules: a module that says that Bun is needed. It has the names of all
 * their exports, since otherwise Node would say that a name is missing before it runs anything: `bun scripts/needsBun.ts`, at each build.
 */
import { mkdirSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { engines } from "../package.json"

const entries = ["index", "client", "plugin", "plugin/generateContent", "testing"]
const modules = await Promise.all(entries.map((entry): Promise<object> => import(`../src/${entry}.ts`)))
const names = [...new Set(modules.flatMap((module) => Object.keys(module)))]
  .filter((name) => name !== "default")
  .toSorted()

const sentence = `headgate runs on Bun (${engines.bun}), and this is another runtime: start the app with "bun" in place of "node". See docs/embedding.md.`
const text = `throw new Error(${JSON.stringify(sentence)})
export const ${names.map((name) => `${name} = undefined`).join(",\n  ")}
export default undefined
`
mkdirSync(fileURLToPath(new URL("../dist", import.meta.url)), { recursive: true })
writeFileSync(fileURLToPath(new URL("../dist/needsBun.js", import.meta.url)), text)
