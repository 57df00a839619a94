/**
 * A process for ownCatalogue.test.ts: resolves the configuration of a gateway with the project's plugins, and prints which files of
 * theirs were read for it.
 */
import { join, relative } from "node:path"
import * as Effect from "effect/Effect"
import { readConfig } from "../../../src/config/loadConfig.ts"
import { resolveConfig } from "../../../src/config/resolveConfig.ts"
import { discover } from "../../../src/plugin/loading/discover.ts"

const providers = join(import.meta.dir, "../../../plugins/providers")
const read = new Set<string>()

await Bun.plugin({
  name: "files that are read",
  setup: (build) => {
    build.onLoad({ filter: /plugins\/providers\/.*\.ts$/ }, async ({ path }) => {
      read.add(relative(providers, path))
      return { contents: await readText(path), loader: "ts" }
    })
  },
})

const readText = (path: string) => open(path).text()
const open = Bun.file
// A plugin reads its models itself.
Object.assign(Bun, {
  file: (path: string | URL, ...more: ReadonlyArray<BlobPropertyBag>) => {
    const name = path instanceof URL ? path.pathname : path
    if (name.startsWith(providers) && name.endsWith(".json")) read.add(relative(providers, name))
    return open(name, ...more)
  },
})

const found = await Effect.runPromise(discover([join(providers, "..")]))
const reading = await Effect.runPromise(readConfig({ discovery: { local: false } }))
const { resolved } = await Effect.runPromise(resolveConfig(found, reading))
process.stdout.write(
  JSON.stringify({
    files: [...read].filter((path) => !path.endsWith("/index.ts")),
    models: resolved.models.map(({ id, hosts }) => [id, hosts.map(({ tag }) => tag)]),
  }),
)
