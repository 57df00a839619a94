/**
 * Lets configurations and plugins import `headgate`, `headgate/plugin` and `effect/*` where no `node_modules` is: a folder
 * with a configuration file is enough. They get the instances of this process, so a `HostFailed` of a plugin is one of ours.
 * Bun offers no narrower way: once registered, the modules are registered for the whole process.
 */

const ownFolder = import.meta.dir

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

/** Settles once everything in `folders` can import what a configuration or a plugin may. Does nothing where all of them can already. */
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
      for (const name of ["headgate", "headgate/plugin", ...modules.map((module) => `effect${module.slice(1)}`)]) {
        // By its path: by its name it would be this very entry again.
        const path = Bun.resolveSync(name, ownFolder)
        build.module(name, async () => ({ loader: "object", exports: await import(path) }))
      }
    },
  })
}
