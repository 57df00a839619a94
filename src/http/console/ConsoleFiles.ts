/**
 * The files of the console, which are built apart from the gateway. They are read when one is first asked for, and
 * stay in memory. What is not among them cannot be asked for, whatever the path.
 */
import { type Dirent, existsSync } from "node:fs"
import { readdir, readFile } from "node:fs/promises"
import { join, relative, sep } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { brotliCompress, constants, gzip } from "node:zlib"
import * as Context from "effect/Context"
import { contentTypeOf, type StaticFile, staticFile, withLinksBelow } from "./StaticFile.ts"

/** Where they are. */
export class ConsoleFolder extends Context.Reference<ConsoleFolder>()("headgate/ConsoleFolder", {
  defaultValue: (): string => fileURLToPath(new URL("../../../bundle/console/", import.meta.url)),
}) {}

/** How a file is compressed, as `Content-Encoding` names it. The first one that the browser takes is sent. */
const encodings = ["br", "gzip"] as const

type Encoding = (typeof encodings)[number]

const suffixes: Readonly<Record<Encoding, string>> = { br: ".br", gzip: ".gz" }

export interface ConsoleFile extends StaticFile {
  /** Where that is smaller. */
  readonly compressed: ReadonlyMap<Encoding, Uint8Array>
}

/** By paths below `/console/`, a file of `assets` for example. */
export type ConsoleFiles = ReadonlyMap<string, ConsoleFile>

/** The page itself. */
export const indexName = "index.html"

const isText = (contentType: string): boolean => !/^(?:image\/png|font\/)/.test(contentType)

/** All files of the folder; `undefined`: it has no page. `base`: where they will be; the page names its files as below `/console/`. */
export const readConsole = async (folder: string, base: string): Promise<ConsoleFiles | undefined> => {
  if (!existsSync(join(folder, indexName))) return undefined
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const names = entries.filter((entry) => entry.isFile()).map((entry) => nameOf(folder, entry))
  const known = new Set(names)
  const files = names.flatMap((name) => {
    const contentType = contentTypeOf(name)
    return contentType === undefined ? [] : [readOne({ folder, name, contentType, base, known })]
  })
  return new Map(await Promise.all(files))
}

const nameOf = (folder: string, { parentPath, name }: Dirent): string =>
  relative(folder, join(parentPath, name)).split(sep).join("/")

interface Wanted {
  readonly folder: string
  readonly name: string
  readonly contentType: string
  readonly base: string
  /** Names of all files. */
  readonly known: ReadonlySet<string>
}

const readOne = async ({ folder, name, contentType, base, known }: Wanted): Promise<[string, ConsoleFile]> => {
  const original = await readFile(join(folder, name))
  const isMoved = name === indexName && base !== "/console/"
  const content = isMoved ? withLinksBelow(original, '="/console/', `="${base}`) : original
  const compressed = new Map<Encoding, Uint8Array>()
  for (const encoding of encodings) {
    const beside = `${name}${suffixes[encoding]}`
    const isThere = !isMoved && known.has(beside)
    if (!isThere && !isText(contentType)) continue
    const smaller = isThere ? await readFile(join(folder, beside)) : await compress[encoding](content)
    if (smaller.length < content.length) compressed.set(encoding, smaller)
  }
  return [name, { ...staticFile(contentType, content), compressed }]
}

const withBrotli = promisify<Uint8Array, object, Buffer>(brotliCompress)
const withGzip = promisify<Uint8Array, object, Buffer>(gzip)

/** In other threads. A quality that takes milliseconds, since the files that are built have theirs beside them. */
const compress: Readonly<Record<Encoding, (content: Uint8Array) => Promise<Uint8Array>>> = {
  br: (content) => withBrotli(content, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  gzip: (content) => withGzip(content, {}),
}

/** The encoding to answer with; `undefined`: none. `accepted`: the header `Accept-Encoding`. */
export const encodingFor = ({ compressed }: ConsoleFile, accepted: string | undefined): Encoding | undefined => {
  const names = (accepted ?? "")
    .split(",")
    .map((part) => part.split(";"))
    .filter(([, quality = ""]) => !/^\s*q=0(?:\.0*)?\s*$/i.test(quality))
    .map(([name = ""]) => name.trim().toLowerCase())
  return encodings.find((encoding) => compressed.has(encoding) && names.includes(encoding))
}
