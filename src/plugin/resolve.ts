/**
 * Lends the house's own `headgate`, `headgate/plugin` and `effect/*` to configurations and plugins that lie where no
 * `node_modules` is: a folder with a configuration file is enough. What is lent are our very instances, so a `HostFailed` of a plugin is one of ours.
 * Bun offers no narrower way (architecture, plugin contract): once lent, modules are lent in the whole process.
 */

const house = import.meta.dir

const canResolve = (folder: string): boolean => {
  try {
    Bun.resolveSync("headgate/plugin", folder)
    Bun.resolveSync("effect/Schema", folder)
    return true
  } catch {
    return false
  }
}

let lent: Promise<void> | undefined

/** Settles once everything in `folders` can import what a configuration or a plugin may. Lends nothing where all of them can already. */
export const lendModules = async (folders: ReadonlyArray<string>): Promise<void> => {
  if (folders.every(canResolve)) return
  lent ??= lend()
  await lent
}

const lend = async (): Promise<void> => {
  const { default: effect } = await import("effect/package.json")
  // Public modules have capitals; what else is listed there is not for others.
  const modules = Object.keys(effect.exports).filter((name) => name === "." || /^\.\/[A-Z]\w*$/.test(name))
  await Bun.plugin({
    name: "headgate",
    setup: (build) => {
      for (const name of ["headgate", "headgate/plugin", ...modules.map((module) => `effect${module.slice(1)}`)]) {
        // By its path: by its name it would be this very entry again.
        const path = Bun.resolveSync(name, house)
        build.module(name, async () => ({ loader: "object", exports: await import(path) }))
      }
    },
  })
}
