/**
 * What the built guide has beside its pages: the Markdown of each page, `llms.txt` and `llms-full.txt` for programs that read it, and the
 * hashes of its inline scripts, which the gateway allows in its `Content-Security-Policy`.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { sections } from "./contents.ts"
import { decisions, written } from "./pages.ts"

const from = join(import.meta.dirname, "src/content/docs")
const built = join(import.meta.dirname, "../guide")
const base = "/docs/guide"

const read = (page: string): { readonly title: string; readonly body: string } => {
  const text = readFileSync(join(from, `${page}.md`), "utf8")
  const [, title = '""', body = ""] = /^---\ntitle: (.*)\n---\n\n([\s\S]*)$/.exec(text) ?? []
  return { title: JSON.parse(title) as string, body }
}

const whole: Array<string> = []
for (const page of [...written, ...decisions]) {
  const { title, body } = read(page)
  const text = `# ${title}\n\n${body}`
  writeFileSync(join(built, `${page}.md`), text)
  if (!page.startsWith("decisions/")) whole.push(text)
}
writeFileSync(join(built, "llms-full.txt"), whole.join("\n\n"))

const known = new Set(written)
const index = sections.flatMap(({ label, pages }) => [
  `## ${label}`,
  "",
  ...pages.filter((page) => known.has(page)).map((page) => `- [${read(page).title}](${base}/${page}.md)`),
  "",
])
const head =
  "# Headgate\n\n> A self-hosted LLM gateway that speaks OpenRouter's API: exact bills, honest streams, explained routing.\n"
writeFileSync(join(built, "llms.txt"), `${head}\n${index.join("\n")}`)

const pages = readdirSync(built, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".html"))
const hashes = new Set<string>()
for (const page of pages) {
  const html = readFileSync(join(built, page), "utf8")
  for (const [, attributes = "", code = ""] of html.matchAll(/<script([^>]*)>([\s\S]*?)<\/script>/g)) {
    if (/\ssrc=/.test(attributes) || code === "") continue
    hashes.add(`sha256-${new Bun.CryptoHasher("sha256").update(code).digest("base64")}`)
  }
}
writeFileSync(join(built, "scripts.json"), JSON.stringify([...hashes].toSorted()))
