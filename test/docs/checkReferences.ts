/**
 * Checks what texts of the repository point to: pages and their headings, files named in comments and pages, tests that
 * the guarantees name. And that nothing points to a page that readers of the repository do not have. Pure, so that it
 * can be tried on made-up files.
 */
import { basename, dirname, join, normalize } from "node:path"

/** Texts by their path from the root of the repository, with slashes. */
export type Files = ReadonlyMap<string, string>

export interface Offence {
  readonly file: string
  readonly line: number
  readonly problem: string
}

type Report = (at: number, problem: string) => void

/** A comment that runs over several lines reads as one. Replacements are as long as what they replace, so places stay. */
const unwrapped = (text: string): string =>
  text.replace(/\n[ \t]*(?:\*(?!\/)|\/\/)?[ \t]*/g, (between) => " ".repeat(between.length))

const lineOf = (text: string, at: number): number => text.slice(0, at).split("\n").length

const offencesIn = (
  files: Files,
  check: (file: string, text: string, report: Report) => void,
): ReadonlyArray<Offence> => {
  const offences: Array<Offence> = []
  for (const [file, text] of files) {
    check(file, text, (at, problem) => offences.push({ file, line: lineOf(text, at), problem }))
  }
  return offences
}

const isPage = (file: string): boolean => file.endsWith(".md")

/** What a line break or a space between two words of a comment may be. */
const gap = "[\\s\\u00a0]+"

// --- pages and their anchors

const slugOf = (heading: string): string =>
  heading
    .replace(/<[^>]*>/g, "")
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replace(/\s/g, "-")

const withoutCode = (page: string): string => page.replace(/^```[\s\S]*?^```/gm, (code) => code.replace(/[^\n]/g, " "))

/** Every anchor that a link to a page may name: its headings, and the ids written into it. */
export const anchorsOf = (page: string): ReadonlySet<string> => {
  const anchors = new Set<string>()
  const text = withoutCode(page)
  for (const [, id = ""] of text.matchAll(/<a id="([^"]+)">/g)) anchors.add(id)
  for (const [, heading = ""] of text.matchAll(/^#{1,6}[ \t]+(.+)$/gm)) {
    const slug = slugOf(heading)
    let anchor = slug
    for (let more = 1; anchors.has(anchor); more++) anchor = `${slug}-${more}`
    anchors.add(anchor)
  }
  return anchors
}

const checkAnchor = (files: Files, page: string, anchor: string, at: number, report: Report): void => {
  const text = files.get(page)
  if (text === undefined) report(at, `there is no ${page}`)
  else if (anchor !== "" && !anchorsOf(text).has(anchor)) report(at, `${page} has no anchor #${anchor}`)
}

/** `docs/guarantees.md#g1, #g3 and #g5` speaks of one page three times. */
const pageReference = new RegExp(
  `(?<![\\w./-])(docs/[\\w./-]+\\.md)((?:#[\\w-]+(?:,?${gap}(?:(?:and|or|to)${gap})?(?=#))?)*)`,
  "g",
)

export const checkPageReferences = (files: Files): ReadonlyArray<Offence> =>
  offencesIn(files, (_, text, report) => {
    for (const { 1: page = "", 2: anchors = "", index } of unwrapped(text).matchAll(pageReference)) {
      const named = [...anchors.matchAll(/#([\w-]+)/g)].map(([, anchor = ""]) => anchor)
      for (const anchor of named.length === 0 ? [""] : named) checkAnchor(files, page, anchor, index, report)
    }
  })

/** `exists` knows folders and files that are no texts. */
export const checkLinks = (files: Files, exists: (path: string) => boolean): ReadonlyArray<Offence> =>
  offencesIn(files, (file, text, report) => {
    if (!isPage(file)) return
    for (const { 1: target = "", index } of withoutCode(text).matchAll(/\]\(([^()\s]+)\)/g)) {
      if (/^[a-z][a-z+.-]*:/i.test(target)) continue
      const [path = "", anchor = ""] = target.split("#")
      const meant = path === "" ? file : normalize(join(dirname(file), path)).replace(/\/$/, "")
      if (!files.has(meant) && !exists(meant)) report(index, `links to ${target}, which is not there`)
      else if (anchor !== "") checkAnchor(files, meant, anchor, index, report)
    }
  })

const decisionNumber = new RegExp(`\\bdecision${gap}(\\d{1,4})\\b`, "gi")

export const checkDecisions = (files: Files): ReadonlyArray<Offence> =>
  offencesIn(files, (_, text, report) => {
    for (const { 1: number = "", index } of unwrapped(text).matchAll(decisionNumber)) {
      const prefix = `docs/decisions/${number.padStart(4, "0")}-`
      if (![...files.keys()].some((path) => path.startsWith(prefix))) report(index, `there is no decision ${number}`)
    }
  })

// --- files and tests that are named

const sourcePath = /`((?:[\w.-]+\/)*[\w.-]+\.(?:ts|js|md|json))`/g

/** A bare name that is no file here: one that the operator gives, such as `headgate.config.ts`. */
const isOutside = (name: string): boolean => !name.endsWith(".ts") || name.startsWith("headgate.config.")

/** Paths in backticks are those of files: from the root, from `src`, or beside the text that names them. A bare name is that of any file. */
export const checkNamedFiles = (files: Files, exists: (path: string) => boolean): ReadonlyArray<Offence> => {
  const names = new Set(Array.from(files.keys(), (file) => basename(file)))
  return offencesIn(files, (file, text, report) => {
    const isCode = !isPage(file)
    for (const { 1: path = "", index } of text.matchAll(sourcePath)) {
      if (isCode && !isInComment(text, index)) continue
      if (!path.includes("/")) {
        if (!names.has(path) && !isOutside(path)) report(index, `names ${path}, which is not there`)
        continue
      }
      const places = [path, join("src", path), normalize(join(dirname(file), path))].filter(isInside)
      if (!places.some((place) => files.has(place) || exists(place))) report(index, `names ${path}, which is not there`)
    }
  })
}

/** `` `name` in `file.ts` ``, `` `file.ts`: `name`, `name` `` and the same in brackets: the file has these words. */
export const checkNamedWords = (files: Files): ReadonlyArray<Offence> =>
  offencesIn(files, (page, text, report) => {
    if (!isPage(page)) return
    const check = (path: string, word: string, at: number) => {
      const last = word.split(".").at(-1) ?? word
      const named = [...files].filter(([file]) => file === path || file.endsWith(`/${path}`))
      // A file that is not there is reported by `checkNamedFiles`.
      if (named.length > 0 && !named.some(([, code]) => new RegExp(`\\b${last}\\b`).test(code)))
        report(at, `says that ${path} has ${word}`)
    }
    for (const { 1: word = "", 2: path = "", index } of text.matchAll(/`([\w.]+)` (?:in |\()`([\w./-]+\.ts)`/g))
      if (!word.endsWith(".ts")) check(path, word, index)
    for (const { 1: path = "", 2: words = "", index } of text.matchAll(
      /`([\w./-]+\.ts)`(?:: | \()((?:`[\w.]+`(?:, | and )?)+)/g,
    ))
      for (const [, word = ""] of words.matchAll(/`([\w.]+)`/g)) if (!word.endsWith(".ts")) check(path, word, index)
  })

/** What lies beside the repository is not in every clone of it. */
const isInside = (path: string): boolean => !path.startsWith("..")

const isInComment = (text: string, at: number): boolean => {
  const line = text.slice(text.lastIndexOf("\n", at) + 1, at)
  return /^\s*(?:\*|\/\*\*|\/\/)/.test(line) || line.includes("// ")
}

/** A line `` `test/a.test.ts`: "name", "name" `` of the guarantees names tests. They are there, spelled like this. */
export const checkNamedTests = (files: Files, page: string): ReadonlyArray<Offence> =>
  offencesIn(new Map([[page, files.get(page) ?? ""]]), (_, text, report) => {
    for (const { 1: path = "", 2: names = "", index } of text.matchAll(/`([\w./-]+\.ts)`: ("[^\n]*)/g)) {
      const tests = files.get(path)
      if (tests === undefined) {
        report(index, `names ${path}, which is not there`)
        continue
      }
      for (const [, name = ""] of names.matchAll(/"([^"]+)"/g)) {
        if (![`"${name}"`, `\`${name}\``, `'${name}'`].some((quoted) => tests.includes(quoted)))
          report(index, `${path} has no test "${name}"`)
      }
    }
  })

// --- what readers do not have

const number = "\\d+(?:\\.\\d+)*"
const outside = (words: string): RegExp => new RegExp(words.replaceAll(" ", gap), "gi")

/** Pages that were used to build the gateway and are not in the repository, in all the ways they were called. */
const outsidePages: ReadonlyArray<RegExp> = [
  outside(`\\breferences? (?:page )?${number}`),
  outside(`\\bspec(?:ification)? (?:section )?${number}`),
  outside(`\\barchitecture,? (?:page\\b|decision\\b|plugin contract|configuration contract|${number})`),
  outside(`\\bstyle ${number}`),
  outside("\\bsettled points?\\b"),
  outside(`\\breliability(?: page\\b| and security|-and-security|,? ${number})`),
  outside("\\b(?:design|contract|style) page\\b"),
  outside(`\\bbad inputs?,? (?:row )?${number}`),
  outside(`\\b(?:issue|wall)s? ${number}\\b`),
  outside("\\b(?:gateway-spec|router-reference|shared/(?:spec|design))\\b"),
  // In code a page goes by its path: `docs/architecture.md`.
  /(?<![\w/.-])(?:architecture|style|guarantees)\.md\b/g,
]

/** A guarantee by its bare number. In pages a link may be called so: `[G5](guarantees.md#g5)`. */
const bareGuarantee = /(?<![\w+/=.#-])G(?:[1-9]|[12]\d|3[0-4])(?![\w+/=])(?!\]\()/g

export const checkOutsidePages = (files: Files): ReadonlyArray<Offence> =>
  offencesIn(files, (file, text, report) => {
    const flat = unwrapped(text)
    for (const page of outsidePages) {
      if (isPage(file) && page.source.includes("\\.md")) continue
      for (const found of flat.matchAll(page)) {
        report(found.index, `speaks of a page that is not here: "${found[0].replace(/\s+/g, " ")}"`)
      }
    }
    if (file === "docs/guarantees.md" || file === "test/guarantees.md") return
    for (const found of flat.matchAll(bareGuarantee)) {
      report(found.index, `"${found[0]}" without docs/guarantees.md#${found[0].toLowerCase()}`)
    }
  })
