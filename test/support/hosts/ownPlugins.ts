/**
 * A folder with links to the plugins of this project. A plugin that somebody puts into `plugins` is not among them, so that no
 * test of the project depends on it.
 */
import { mkdirSync, readdirSync, rmSync, symlinkSync } from "node:fs"
import { join } from "node:path"

const root = new URL("../../../", import.meta.url).pathname

/** Paths like `providers/echo`. In a copy without a history every folder counts. */
export const ownPluginPaths = (): ReadonlyArray<string> => {
  const { success, stdout } = Bun.spawnSync(["git", "ls-files", "plugins/*/*/index.ts"], { cwd: root })
  const tracked = success
    ? stdout
        .toString()
        .split("\n")
        .filter((line) => line !== "")
    : []
  if (tracked.length > 0) return tracked.map((file) => file.split("/").slice(1, 3).join("/"))
  return ["providers", "strategies"].flatMap((kind) =>
    readdirSync(join(root, "plugins", kind)).map((name) => `${kind}/${name}`),
  )
}

const linked = (): string => {
  // In the repository, where plugins find what they import.
  const folder = join(root, "node_modules", `.headgate-own-plugins-${process.pid}`)
  rmSync(folder, { recursive: true, force: true })
  for (const kind of ["providers", "strategies"]) mkdirSync(join(folder, kind), { recursive: true })
  for (const path of ownPluginPaths()) symlinkSync(join(root, "plugins", path), join(folder, path))
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

let folder: string | undefined

export const ownPluginsFolder = (): string => {
  folder ??= linked()
  return folder
}
