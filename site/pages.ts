/**
 * Makes the pages of the guide out of the Markdown of the repository: titles as front matter, links as addresses of the guide, and a
 * reference of the API out of its description. `bun pages.ts` writes them to `src/content/docs`, which git ignores.
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

const nameOf = (file: string): string => file.replace(/^docs\//, "").replace(/\.md$/, "")

/** Files of the repository by the names that their pages have in the guide. */
const sources: ReadonlyMap<string, string> = new Map(
  [
    ["index", "README.md"],
    ["contributing", "CONTRIBUTING.md"],
    ["security", "SECURITY.md"],
    ["changes", "CHANGELOG.md"],
    ["bench", "bench/README.md"],
    ["guarantees-in-full", "test/guarantees.md"],
    ...[...markdownIn("docs"), ...markdownIn("docs/decisions")].map((file): readonly [string, string] => [
      nameOf(file),
      file,
    ]),
  ].filter((entry): entry is [string, string] => existsSync(join(root, entry[1] ?? ""))),
)

const pageOf: ReadonlyMap<string, string> = new Map(Array.from(sources, ([page, file]) => [file, page]))

/** Names of the pages that the guide has, but for the decisions. */
export const written: ReadonlyArray<string> = [...sources.keys(), "api", "decisions"].filter(
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

const pageText = (file: string): string => {
  const text = readFileSync(join(root, file), "utf8")
  const title = titleIn(text, file)
  const body = outsideCode(text.replace(/^# .+\n+/m, ""), (prose) =>
    // Pictures are for those who read the Markdown: they would be the larger part of the guide.
    prose
      .replace(/^!\[[^\]]*\]\([^)\s]+\)\n+/gm, "")
      .replace(/\[((?:[^\][]|\[[^\]]*\])*)\]\(([^)\s]+)\)/g, (_, label: string, to: string) => linkIn(file, label, to)),
  )
  return `---\ntitle: ${JSON.stringify(title)}\n---\n\n${body}`
}

interface Operation {
  readonly summary?: string
  readonly description?: string
  readonly tags?: ReadonlyArray<string>
  readonly parameters?: ReadonlyArray<{
    name: string
    in: string
    required?: boolean
    description?: string
    schema?: { description?: string }
  }>
}

/** Every operation of the API, with its parameters. Bodies are in the description itself, which a gateway serves at `/docs`. */
const apiPage = async (): Promise<string> => {
  const { apiAt } = await import("../src/http/control/Api.ts")
  const OpenApi = await import("../node_modules/@effect/platform/src/OpenApi.ts")
  const document = OpenApi.fromApi(apiAt("")) as unknown as { paths: Record<string, Record<string, Operation>> }
  const lines = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, operation]) => [
      `## ${method.toUpperCase()} ${path}`,
      "",
      `${operation.summary ?? ""}.`,
      "",
      ...(operation.description === undefined ? [] : [operation.description, ""]),
      ...parametersOf(operation),
    ]),
  )
  const head =
    "Every operation, made from the API's description.\nA gateway shows it with all bodies and examples at `/docs`, and serves it at `/api/v1/openapi.json`.\n"
  return `---\ntitle: "API reference"\n---\n\n${head}\n${lines.join("\n")}\n`
}

const decisionsPage = (): string => {
  const lines = decisions.map((page) => {
    const file = sources.get(page) ?? ""
    return `- [${titleIn(readFileSync(join(root, file), "utf8"), file)}](${addressOf(page)})`
  })
  return `---\ntitle: "Decisions"\n---\n\nWhy things are as they are: a page for each choice that the next person would ask about.\n\n${lines.join("\n")}\n`
}

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ").replaceAll("<", "&lt;")

const parametersOf = ({ parameters = [] }: Operation): ReadonlyArray<string> =>
  parameters.length === 0
    ? []
    : [
        "| parameter | in | meaning |",
        "| --- | --- | --- |",
        ...parameters.map(
          ({ name, in: place, required, description, schema }) =>
            `| \`${name}\`${required === true ? ", required" : ""} | ${place} | ${cell(description ?? schema?.description ?? "")} |`,
        ),
        "",
      ]

const write = (page: string, text: string): void => {
  const path = join(target, `${page}.md`)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

const make = async (): Promise<void> => {
  const listed = new Set(["index", "guarantees-in-full", ...sections.flatMap(({ pages }) => pages)])
  const forgotten = written.filter((page) => !listed.has(page))
  if (forgotten.length > 0) throw new Error(`contents.ts does not have ${forgotten.join(", ")}`)
  rmSync(target, { recursive: true, force: true })
  for (const [page, file] of sources) write(page, pageText(file))
  write("api", await apiPage())
  write("decisions", decisionsPage())
}

if (import.meta.main) await make()
