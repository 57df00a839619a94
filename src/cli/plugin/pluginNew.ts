/**
 * Writes a new plugin with its test and recorded cases, which pass at once: into `plugins` of the working directory, or as a package with a folder
 * of its own.
 */
import { mkdir, readdir, stat } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import * as Effect from "effect/Effect"
import { ownPluginFolder } from "../../config/GatewayConfig.ts"
import { contractVersion } from "../../plugin/Provider.ts"
import { plugins as ownPlugins } from "../../process/inBundle.ts"
import { version } from "../../process/version.ts"
import { CommandFailed, exitCodes, wrongUse } from "../CommandFailed.ts"
import { plain } from "../output.ts"

export type Template = "host" | "protocol" | "strategy"

const templates = fileURLToPath(new URL("templates", import.meta.url))

const namePattern = /^[a-z0-9]+(-[a-z0-9]+)*$/

/** What to know of a name that a plugin of the gateway's own has; `undefined`: none has it. */
export const takenByOwn = (name: string, template: Template): Effect.Effect<string | undefined> =>
  Effect.promise(async () => {
    const kind = template === "strategy" ? "strategy" : "provider"
    const group = kind === "strategy" ? "strategies" : "providers"
    const own = join(ownPluginFolder, group, name)
    const isTaken = ownPlugins.has(join(own, "index.ts")) || (await stat(own).catch(() => undefined)) !== undefined
    if (!isTaken || own === resolve("plugins", group, name)) return undefined
    return `the gateway has a ${kind} ${name} of its own: yours is off until plugins.override has "${name}"`
  })

/** The paths of the files that were written. `asPackage`: into `headgate-<name>` of the working directory. */
export const newPlugin = (
  name: string,
  template: Template,
  asPackage: boolean,
): Effect.Effect<ReadonlyArray<string>, CommandFailed> =>
  Effect.gen(function* () {
    if (!namePattern.test(name) || name.length > 64) {
      return yield* wrongUse(`expected a name in kebab-case such as acme or acme-labs, got "${plain(name)}"`)
    }
    const folder = asPackage
      ? resolve(`headgate-${name}`)
      : resolve("plugins", template === "strategy" ? "strategies" : "providers", name)
    const isTaken = yield* Effect.promise(() =>
      stat(folder).then(
        () => true,
        () => false,
      ),
    )
    if (isTaken) {
      return yield* new CommandFailed({ code: exitCodes.failed, message: plain(`${folder} is there already`) })
    }
    return yield* Effect.promise(async () => [
      ...(asPackage ? await copied(join(templates, "package"), folder, name) : []),
      ...(await copied(join(templates, template), folder, name)),
    ])
  })

const copied = async (from: string, folder: string, name: string): Promise<ReadonlyArray<string>> => {
  const entries = await readdir(from, { recursive: true, withFileTypes: true })
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(from.length + 1))
    .toSorted()
  const written: Array<string> = []
  for (const file of files) {
    // A package manager takes files with a dot for its own, so that the templates have none.
    const path = join(folder, named(file, name).replace(/^(?=git(hub\/|ignore$))/, "."))
    await mkdir(dirname(path), { recursive: true })
    await Bun.write(path, named(await Bun.file(join(from, file)).text(), name))
    written.push(path)
  }
  return written
}

/** The text with the name of the new plugin in place of the template's, in each of its spellings. */
const named = (text: string, name: string): string =>
  text
    .replaceAll("VENDOR_NAME", variableName(name))
    .replaceAll("Vendor Name", displayName(name))
    .replaceAll("vendor-name", name)
    .replaceAll("HEADGATE_VERSION", version)
    .replaceAll('"CONTRACT_VERSION"', String(contractVersion))

/** The name of an environment variable cannot begin with a digit. */
const variableName = (name: string): string =>
  name
    .replaceAll("-", "_")
    .toUpperCase()
    .replace(/^(?=\d)/, "V")

const displayName = (name: string): string =>
  name
    .split("-")
    .map((word) => word.slice(0, 1).toUpperCase() + word.slice(1))
    .join(" ")
