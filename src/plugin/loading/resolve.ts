/**
 * Lets configurations, plugins and their tests import `headgate`, `headgate/plugin`, its protocols, `headgate/testing` and
 * `effect/*` without a `node_modules` folder.
 * They get the instances of this process, so a plugin's `HostFailed` is the gateway's class. Bun registers modules for
 * the whole process only.
 */
import { isBundled, type Load, modules } from "../../process/inBundle.ts"

const ownFolder = import.meta.dir

/** What plugins may import of the gateway. */
const ownModules = ["headgate/plugin", "headgate/plugin/generate-content", "headgate/testing"]

const canResolve = (folder: string): boolean => {
  try {
    Bun.resolveSync("headgate/plugin", folder)
    Bun.resolveSync("effect/Schema", folder)
    return true
  } catch {
    return false
  }
}

let registered: Promise<void> | undefined

/** Makes these modules importable from `folders`. Does nothing where they are already. */
export const registerModules = async (folders: ReadonlyArray<string>): Promise<void> => {
  // Those that resolve there are of other instances than those of a bundle.
  if (isBundled ? folders.length === 0 : folders.every(canResolve)) return
  registered ??= register()
  await registered
}

const register = async (): Promise<void> => {
  const loads = isBundled ? modules : await modulesOfFiles()
  await Bun.plugin({
    name: "headgate",
    setup: (build) => {
      for (const [name, load] of loads) {
        build.module(name, async () => ({ loader: "object", exports: await load() }))
      }
    },
  })
}

/** The public modules of Effect, such as `effect/Schema`: they have capitals. */
export const effectModules = async (): Promise<ReadonlyArray<string>> => {
  const { default: effect } = await import("effect/package.json")
  const names = Object.keys(effect.exports).filter((name) => name === "." || /^\.\/[A-Z]\w*$/.test(name))
  return names.map((name) => `effect${name.slice(1)}`)
}

const modulesOfFiles = async (): Promise<ReadonlyMap<string, Load>> => {
  const names = ["headgate", ...ownModules, ...(await effectModules())]
  // By its path, because its name would resolve to this registration again.
  const paths = names.map((name) => [name, Bun.resolveSync(name, ownFolder)] as const)
  return new Map(paths.map(([name, path]) => [name, () => import(path)]))
}
