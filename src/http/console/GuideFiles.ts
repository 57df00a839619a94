/**
 * The files of the guide, which `bun run build` in `site/` makes out of the Markdown of `docs/`. There are some hundred, so each is read
 * when it is first asked for. Without a build there is the Markdown itself.
 */
import { readdir, readFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import * as Context from "effect/Context"
import { readOnce } from "./readOnce.ts"
import { contentTypeOf, type StaticFile, staticFile, withLinksBelow } from "./StaticFile.ts"

export interface GuideFolders {
  readonly guide: string
  readonly markdown: string
}

/** Where they are. */
export class GuideFolder extends Context.Reference<GuideFolder>()("headgate/GuideFolder", {
  defaultValue: (): GuideFolders => ({
    guide: fileURLToPath(new URL("../../../guide/", import.meta.url)),
    markdown: fileURLToPath(new URL("../../../docs/", import.meta.url)),
  }),
}) {}

/** Where the links of the built pages lead. */
const builtFor = "/docs/guide/"

/** The guide as it was built, below one address. */
export class BuiltGuide {
  /** Hashes of its inline scripts, as a `Content-Security-Policy` has them. */
  readonly scripts: ReadonlyArray<string>
  private readonly folder: string
  private readonly base: string
  private readonly names: ReadonlySet<string>
  private readonly read = new Map<string, () => Promise<StaticFile | undefined>>()

  private constructor(folder: string, base: string, names: ReadonlySet<string>, scripts: ReadonlyArray<string>) {
    this.folder = folder
    this.base = base
    this.names = names
    this.scripts = scripts
  }

  /** `base`: the address of the guide, with a slash at its end. `undefined`: it is not built. */
  static async open(folder: string, base: string): Promise<BuiltGuide | undefined> {
    const names = await namesIn(folder)
    // The build writes it last.
    if (!names.has("scripts.json")) return undefined
    const scripts: unknown = await Bun.file(`${folder}scripts.json`).json()
    return new BuiltGuide(folder, base, names, Array.isArray(scripts) ? scripts.map(String) : [])
  }

  /** The file of a path below the address: "" and what ends with a slash are pages. `undefined`: there is none, also for a page without its slash. */
  async find(path: string): Promise<StaticFile | undefined> {
    const name = path === "" || path.endsWith("/") ? `${path}index.html` : path
    if (!this.names.has(name)) return undefined
    let read = this.read.get(name)
    if (read === undefined) {
      read = readOnce(() => this.readOne(name))
      this.read.set(name, read)
    }
    return read()
  }

  /** Whether the path lacks nothing but a slash at its end to be that of a page. */
  hasPage(path: string): boolean {
    return this.names.has(`${path}/index.html`)
  }

  private async readOne(name: string): Promise<StaticFile> {
    const original = await readFile(`${this.folder}${name}`)
    const isMoved = this.base !== builtFor && /\.(?:html|md|txt|js)$/.test(name)
    const content = isMoved ? withLinksBelow(original, builtFor, this.base) : original
    return staticFile(contentTypeOf(name) ?? "application/octet-stream", content)
  }
}

/** Names below a folder, with slashes; none where it is not there. */
const namesIn = async (folder: string): Promise<ReadonlySet<string>> => {
  try {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true })
    return new Set(
      entries
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) =>
          `${parentPath}/${name}`.replaceAll("\\", "/").slice(folder.length).replace(/^\/+/, ""),
        ),
    )
  } catch {
    return new Set()
  }
}

/** The pages of `docs/` by their names, for a guide that is not built. */
export const markdownPages = async (folder: string): Promise<ReadonlyMap<string, () => Promise<Uint8Array>>> => {
  const names = [...(await namesIn(folder))].filter((name) => /^(reference\/)?[\w-]+\.md$/.test(name)).toSorted()
  return new Map(names.map((name) => [name, () => readFile(`${folder}${name}`)]))
}
