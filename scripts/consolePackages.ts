/**
 * Installs the packages that the console is built with, in the versions of `bun.lock`, beside a production install, which leaves them out
 * with all other packages of development. For the image (Dockerfile): a whole install is 700 MB, this is 2.
 *
 *     bun scripts/consolePackages.ts
 */
import { cp, mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { consolePackages } from "./console.ts"

const root = fileURLToPath(new URL("../", import.meta.url))

const { devDependencies } = (await Bun.file(`${root}package.json`).json()) as {
  readonly devDependencies: Readonly<Record<string, string>>
}
const folder = await mkdtemp(join(tmpdir(), "headgate-console-"))
const dependencies = Object.fromEntries(consolePackages.map((name) => [name, devDependencies[name]]))
await Bun.write(`${folder}/package.json`, JSON.stringify({ name: "headgate", dependencies }))
// From it come versions and checksums of what these packages depend on, too.
await cp(`${root}bun.lock`, `${folder}/bun.lock`)
const { exitCode } = Bun.spawnSync([process.execPath, "install", "--ignore-scripts", "--silent"], {
  cwd: folder,
  stdio: ["ignore", "inherit", "inherit"],
})
if (exitCode !== 0) process.exit(exitCode)
await cp(`${folder}/node_modules`, `${root}node_modules`, { recursive: true, verbatimSymlinks: true })
await rm(folder, { recursive: true, force: true })
