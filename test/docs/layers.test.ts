/** Imports go downwards only, between folders and between the folders of a folder, and no files import each other in a circle. */
import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { dirname, join, normalize, resolve } from "node:path"
import { Glob } from "bun"

const root = resolve(import.meta.dir, "../..")

/** Of `src`, from the top. What shares a line does not import each other. */
const layers: ReadonlyArray<ReadonlyArray<string>> = [
  ["main.ts", "index.ts", "testing.ts"],
  ["cli"],
  ["testing"],
  ["app", "client.ts"],
  ["http", "sql"],
  ["services", "config"],
  ["plugin.ts", "catalogue"],
  ["plugin", "upstream"],
  ["formats", "process"],
  ["wire"],
  ["domain"],
]

const formats = ["chat", "completions", "messages", "responses", "generateContent", "embeddings", "rerank"]

/** The folders of a folder, from the top. Files beside them are at the bottom. */
const orders: Readonly<Record<string, ReadonlyArray<string>>> = {
  services: [
    "state",
    "alerts",
    "metrics",
    "traces",
    "records",
    "live",
    "routing",
    "dispatch",
    "keys",
    "money",
    "hosts",
    "calls",
    "request",
    "storage",
  ],
  domain: [
    "alerts",
    "money",
    "keys",
    "routing",
    "failures",
    "hosts",
    "request",
    "price",
    "addresses",
    "log",
    "structures",
    "json",
  ],
  // No format imports another: what several share stands beside their folders.
  formats: ["stream", ...formats, "request", "payload"],
  sql: ["postgres", "sqlite", "spool", "repositories", "tables", "files"],
}

/** Packages that the lowest folders must do without. */
const packagesBelow: ReadonlyArray<readonly [folder: string, refused: RegExp]> = [
  ["src/domain/", /^(@effect|node:|bun)/],
  ["src/formats/", /^@effect|^effect\/(?!Either$|Types$)/],
  ["src/wire/", /^@effect/],
]

interface Import {
  readonly from: string
  readonly to: string
}

const files = [...new Glob("{src,plugins}/**/*.ts").scanSync({ cwd: root })]
  .filter((file) => !file.endsWith(".test.ts"))
  .toSorted()

const specifier = /\bfrom "([^"]+)"|\bimport\(?\s*"([^"]+)"/g

const written: ReadonlyArray<Import> = files.flatMap((from) =>
  Array.from(readFileSync(join(root, from), "utf8").matchAll(specifier), ([, named, bare]) => ({
    from,
    to: named ?? bare ?? "",
  })),
)

const imports: ReadonlyArray<Import> = written
  .filter(({ to }) => to.startsWith("."))
  .map(({ from, to }) => ({ from, to: normalize(join(dirname(from), to)) }))

const said = ({ from, to }: Import) => `${from} imports ${to}`

/** Where `file` is below `folder`: the name of the folder or file that follows. */
const partBelow = (folder: string, file: string): string | undefined =>
  file.startsWith(`${folder}/`) ? file.slice(folder.length + 1).split("/")[0] : undefined

test("every file of src has its layer, and every folder of an ordered one its place", () => {
  const unplaced = files.filter((file) => {
    const part = partBelow("src", file)
    return part !== undefined && !layers.flat().includes(part)
  })
  const folders = Object.entries(orders).flatMap(([name, order]) =>
    files.filter((file) => {
      const part = partBelow(`src/${name}`, file)
      return part !== undefined && !part.endsWith(".ts") && !order.includes(part)
    }),
  )
  expect([...unplaced, ...folders]).toEqual([])
})

test("no import goes upwards or sideways", () => {
  const layerOf = (part: string) => layers.findIndex((layer) => layer.includes(part))
  const wrong = imports.filter(({ from, to }) => {
    const [source, target] = [partBelow("src", from), partBelow("src", to)]
    return source !== undefined && target !== undefined && source !== target && layerOf(target) <= layerOf(source)
  })
  expect(wrong.map(said)).toEqual([])
})

test.each(Object.keys(orders))("no import goes upwards among the folders of %s", (name) => {
  const order = orders[name] ?? []
  const placeOf = (part: string) => (order.includes(part) ? order.indexOf(part) : order.length)
  const wrong = imports.filter(({ from, to }) => {
    const [source, target] = [partBelow(`src/${name}`, from), partBelow(`src/${name}`, to)]
    return source !== undefined && target !== undefined && placeOf(target) < placeOf(source)
  })
  expect(wrong.map(said)).toEqual([])
})

test("no format imports another", () => {
  const wrong = imports.filter(({ from, to }) => {
    const [source, target] = [partBelow("src/formats", from), partBelow("src/formats", to)]
    return source !== target && formats.includes(source ?? "") && formats.includes(target ?? "")
  })
  expect(wrong.map(said)).toEqual([])
})

test("no plane of http imports the other", () => {
  const wrong = imports.filter(
    ({ from, to }) =>
      (from.startsWith("src/http/data/") && to.startsWith("src/http/control/")) ||
      (from.startsWith("src/http/control/") && to.startsWith("src/http/data/")),
  )
  expect(wrong.map(said)).toEqual([])
})

test("the lowest folders do without the packages of what stands above them", () => {
  const wrong = packagesBelow.flatMap(([folder, refused]) =>
    written.filter(({ from, to }) => from.startsWith(folder) && refused.test(to)),
  )
  expect(wrong.map(said)).toEqual([])
})

test("no files import each other in a circle, for types neither", () => {
  expect(circles().map((circle) => circle.join(" "))).toEqual([])
})

test("no folder has more files than one can look through, and none has so few that it is no folder", () => {
  const counts = new Map<string, number>()
  for (const file of files) {
    if (!file.startsWith("src/") || file.includes("/templates/")) continue
    counts.set(dirname(file), (counts.get(dirname(file)) ?? 0) + 1)
  }
  const hasFolders = (folder: string) => [...counts.keys()].some((other) => other.startsWith(`${folder}/`))
  const odd = [...counts].filter(([folder, count]) => count > 24 || (count < 3 && !hasFolders(folder)))
  expect(odd.map(([folder, count]) => `${folder}: ${count}`)).toEqual([])
})

/** The strongly connected parts of more than one file, after Tarjan. */
const circles = (): ReadonlyArray<ReadonlyArray<string>> => {
  const targets = Map.groupBy(imports, ({ from }) => from)
  const indexes = new Map<string, number>()
  const lows = new Map<string, number>()
  const path: Array<string> = []
  const found: Array<ReadonlyArray<string>> = []
  const visit = (file: string): number => {
    const index = indexes.size
    let low = index
    indexes.set(file, index)
    lows.set(file, index)
    path.push(file)
    for (const { to } of targets.get(file) ?? []) {
      if (!indexes.has(to)) low = Math.min(low, visit(to))
      else if (path.includes(to)) low = Math.min(low, indexes.get(to) ?? low)
    }
    lows.set(file, low)
    if (low === index) {
      const part = path.splice(path.indexOf(file))
      if (part.length > 1) found.push(part.toSorted())
    }
    return low
  }
  for (const file of files) if (!indexes.has(file)) visit(file)
  return found
}
