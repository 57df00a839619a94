/**
 * Lets configurations, plugins and their tests import `headgate`, `headgate/plugin`, its protocols, `headgate/testing` and
 * `effect/*` without a `node_modules` folder.
 * They get the instances of this process, so a plugin's `HostFailed` is the gateway's class. Bun registers modules for
 * the whole process only.
 */

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
  if (folders.every(canResolve)) return
  registered ??= register()
  await registered
}

const register = async (): Promise<void> => {
  const { default: effect } = await import("effect/package.json")
  // Public modules have capitals; the others are not for use outside of Effect.
  const modules = Object.keys(effect.exports).filter((name) => name === "." || /^\.\/[A-Z]\w*$/.test(name))
  await Bun.plugin({
    name: "headgate",
    setup: (build) => {
      for (const name of ["headgate", ...ownModules, ...modules.map((module) => `effect${module.slice(1)}`)]) {
        // By its path, because its name would resolve to this registration again.
        const path = Bun.resolveSync(name, ownFolder)
        build.module(name, async () => ({ loader: "object", exports: await import(path) }))
      }
    },
  })
}
