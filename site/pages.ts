/**
 * Makes the pages of the guide out of the Markdown of the repository: titles as front matter, and links as addresses of the
 * guide. `bun pages.ts` writes them to `src/content/docs`, which git ignores.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { dirname, join, normalize, resolve } from "node:path"
import { sections } from "./contents.ts"

const root = resolve(import.meta.dirname, "..")
const target = join(import.meta.dirname, "src/content/docs")
const base = "/docs/guide"

const markdownIn = (folder: string): ReadonlyArray<string> =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `${folder}/${name}`)
    .toSorted()

/** As Astro writes addresses: in small letters. */
const nameOf = (file: string): string =>
  file
    .replace(/^docs\//, "")
    .replace(/\.md$/, "")
    .toLowerCase()

/** Files of the repository by the names that their pages have in the guide. */
const sources: ReadonlyMap<string, string> = new Map(
  [
    ["index", "README.md"],
    ["contributing", "CONTRIBUTING.md"],
    ["security", "SECURITY.md"],
    ["changes", "CHANGELOG.md"],
    ["bench", "bench/README.md"],
    ["guarantees-in-full", "test/guarantees.md"],
    ...[...markdownIn("docs"), ...markdownIn("docs/reference"), ...markdownIn("docs/decisions")].map(
      (file): readonly [string, string] => [nameOf(file), file],
    ),
  ].filter((entry): entry is [string, string] => existsSync(join(root, entry[1] ?? ""))),
)

const pageOf: ReadonlyMap<string, string> = new Map(Array.from(sources, ([page, file]) => [file, page]))

/** Names of the pages that the guide has, but for the decisions. */
export const written: ReadonlyArray<string> = [...sources.keys(), "decisions"].filter(
  (page) => !page.startsWith("decisions/"),
)

export const decisions: ReadonlyArray<string> = [...sources.keys()].filter((page) => page.startsWith("decisions/"))

const addressOf = (page: string): string => (page === "index" ? `${base}/` : `${base}/${page}/`)

/** A link of a page in `file` as the guide has it. What lies outside the guide is named, not linked. */
const linkIn = (file: string, label: string, to: string): string => {
  if (/^(https?:|mailto:|#)/.test(to)) return `[${label}](${to})`
  const [path = "", anchor] = to.split("#", 2)
  const named = normalize(join(dirname(file), path))
  const page = pageOf.get(named)
  if (page === undefined)
    return named === "docs/decisions" ? `[${label}](${base}/decisions/)` : `${label} (\`${named}\`)`
  return `[${label}](${addressOf(page)}${anchor === undefined ? "" : `#${anchor}`})`
}

/** Applies `change` to what is not in a block of code. */
const outsideCode = (text: string, change: (prose: string) => string): string =>
  text
    .split(/(^```[\s\S]*?^```$)/m)
    .map((part, at) => (at % 2 === 0 ? change(part) : part))
    .join("")

const titleIn = (text: string, file: string): string => {
  const title = /^# (.+)$/m.exec(text)?.[1]
  if (title === undefined) throw new Error(`${file} has no title`)
  return title
}

/** The page of a file of the repository. */
export const pageText = (file: string): string => {
  const text = readFileSync(join(root, file), "utf8")
  const title = titleIn(text, file)
  const body = outsideCode(text.replace(/^# .+\n+/m, ""), (prose) =>
    // Pictures are for those who read the Markdown: they would be the larger part of the guide.
    prose
      .replace(/^(?:!\[[^\]]*\]\([^)\s]+\)|\[!\[[^\]]*\]\([^)\s]+\)\]\([^)\s]+\))\n+/gm, "")
      .replace(/\[((?:[^\][]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g, (_, label: string, to: string) => linkIn(file, label, to)),
  )
  return `---\ntitle: ${JSON.stringify(title)}\n---\n\n${body}`
}

const decisionsPage = (): string => {
  const lines = decisions.map((page) => {
    const file = sources.get(page) ?? ""
    return `- [${titleIn(readFileSync(join(root, file), "utf8"), file)}](${addressOf(page)})`
  })
  return `---\ntitle: "Decisions"\n---\n\nWhy things are as they are: a page for each choice that the next person would ask about.\n\n${lines.join("\n")}\n`
}

const write = (page: string, text: string): void => {
  const path = join(target, `${page}.md`)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

const make = (): void => {
  const listed = new Set(["index", "guarantees-in-full", ...sections.flatMap(({ pages }) => pages)])
  const forgotten = written.filter((page) => !listed.has(page))
  if (forgotten.length > 0) throw new Error(`contents.ts does not have ${forgotten.join(", ")}`)
  rmSync(target, { recursive: true, force: true })
  for (const [page, file] of sources) write(page, pageText(file))
  write("decisions", decisionsPage())
}

if (import.meta.main) make()
