/**
 * The files of the guide, which `bun run build` in `site/` makes out of the Markdown of `docs/`. There are some hundred, so each is read
 * when it is first asked for. Without a build there is the Markdown itself.
 */
import { readdir, readFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import * as Context from "effect/Context"
import { readOnce } from "./readOnce.ts"

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

const contentTypes: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  md: "text/markdown; charset=utf-8",
  txt: "text/plain; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  json: "application/json",
  svg: "image/svg+xml",
  png: "image/png",
  webp: "image/webp",
  wasm: "application/wasm",
}

export interface GuideFile {
  readonly contentType: string
  /** SHA-256 of the content. */
  readonly hash: string
  readonly content: Uint8Array
}

/** The guide as it was built, below one address. */
export class BuiltGuide {
  /** Hashes of its inline scripts, as a `Content-Security-Policy` has them. */
  readonly scripts: ReadonlyArray<string>
  private readonly folder: string
  private readonly base: string
  private readonly names: ReadonlySet<string>
  private readonly read = new Map<string, () => Promise<GuideFile | undefined>>()

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

  /** The file of a path below the address: "" and what ends with a slash are pages. `undefined`: there is none. */
  async find(path: string): Promise<GuideFile | undefined> {
    const name = path === "" || path.endsWith("/") ? `${path}index.html` : path
    if (!this.names.has(name)) return undefined
    let read = this.read.get(name)
    if (read === undefined) {
      read = readOnce(() => this.readOne(name))
      this.read.set(name, read)
    }
    return read()
  }

  /** Whether there is a page of that path once a slash is added. */
  hasPage(path: string): boolean {
    return this.names.has(`${path}/index.html`)
  }

  private async readOne(name: string): Promise<GuideFile> {
    const original = await readFile(`${this.folder}${name}`)
    const isMoved = this.base !== builtFor && /\.(?:html|md|txt|js)$/.test(name)
    const content = isMoved ? Buffer.from(original.toString("utf8").replaceAll(builtFor, this.base)) : original
    const contentType = contentTypes[name.split(".").at(-1) ?? ""] ?? "application/octet-stream"
    return { contentType, content, hash: new Bun.CryptoHasher("sha256").update(content).digest("base64url") }
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
  const names = [...(await namesIn(folder))].filter((name) => /^[\w-]+\.md$/.test(name)).toSorted()
  return new Map(names.map((name) => [name, () => readFile(`${folder}${name}`)]))
}
