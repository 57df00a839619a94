/** Whoever reads the repository finds what its comments and pages point to. The rules are in `checkReferences.ts`. */
import { describe, expect, test } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"
import { Glob } from "bun"
import { ownPluginPaths } from "../support/hosts/ownPlugins.ts"
import {
  anchorsOf,
  checkDecisions,
  checkLinks,
  checkNamedFiles,
  checkNamedTests,
  checkNamedWords,
  checkOutsidePages,
  checkPageReferences,
  type Files,
  type Offence,
} from "./checkReferences.ts"

const root = resolve(import.meta.dir, "../..")

const own = new Set(ownPluginPaths().map((plugin) => `plugins/${plugin}`))

/** Whether it is the project's: anybody may put a plugin into `plugins`. */
const isOwn = (path: string): boolean => !path.startsWith("plugins/") || own.has(path.split("/").slice(0, 3).join("/"))

const read = (...patterns: ReadonlyArray<string>): Files => {
  const paths = patterns.flatMap((pattern) => [...new Glob(pattern).scanSync({ cwd: root })]).toSorted()
  // This folder quotes what it forbids.
  return new Map(
    paths
      .filter((path) => !path.startsWith("test/docs/") && isOwn(path))
      .map((path) => [path, readFileSync(join(root, path), "utf8")]),
  )
}

const everything = read("{src,plugins,test,bench,examples,scripts}/**/*.{ts,md}", "docs/**/*.md", "*.md")
const exists = (path: string): boolean => existsSync(join(root, path))
const shown = (offences: ReadonlyArray<Offence>): ReadonlyArray<string> =>
  offences.map(({ file, line, problem }) => `${file}:${line}: ${problem}`)

describe("in this repository", () => {
  test("every `docs/<page>.md#<anchor>` is there", () => {
    expect(shown(checkPageReferences(everything))).toEqual([])
  })

  test("every relative link of a page leads somewhere", () => {
    expect(shown(checkLinks(everything, exists))).toEqual([])
  })

  test("every decision that is spoken of is there", () => {
    expect(shown(checkDecisions(everything))).toEqual([])
  })

  test("every file that a comment or a page names is there", () => {
    expect(shown(checkNamedFiles(everything, exists))).toEqual([])
  })

  test("what a page says a file has is in it", () => {
    expect(shown(checkNamedWords(everything))).toEqual([])
  })

  test("every test that a guarantee names is there", () => {
    expect(shown(checkNamedTests(everything, "test/guarantees.md"))).toEqual([])
  })

  test("every guarantee has its anchor", () => {
    const numbers = Array.from({ length: 37 }, (_, at) => `g${at + 1}`)
    for (const page of ["docs/guarantees.md", "test/guarantees.md"]) {
      const anchors = anchorsOf(everything.get(page) ?? "")
      expect([page, numbers.filter((anchor) => !anchors.has(anchor))]).toEqual([page, []])
    }
  })

  test("nothing speaks of a page that is not in it", () => {
    expect(shown(checkOutsidePages(everything))).toEqual([])
  })
})

describe("the rules", () => {
  const pages: ReadonlyArray<readonly [string, string]> = [
    [
      "docs/a.md",
      '# The way of a request\n\n## Money\n\n## Money\n\n## G5 <a id="g5"></a>Who pays\n\n```sh\n# no heading\n```\n',
    ],
    ["docs/decisions/0007-steps.md", "# 7. Steps\n"],
    ["test/a.test.ts", 'test("it works", () => {})\n'],
  ]
  const withText = (file: string, text: string): Files => new Map([...pages, [file, text]])
  const nothing = () => false

  test("anchors are those of headings, repeated ones and written ones", () => {
    expect([...anchorsOf(pages[0]?.[1] ?? "")].toSorted()).toEqual([
      "g5",
      "g5-who-pays",
      "money",
      "money-1",
      "the-way-of-a-request",
    ])
  })

  test.each([
    ["/** See docs/a.md#money. */", []],
    ["/** See docs/a.md. */", []],
    ["/** See docs/b.md. */", ["src/x.ts:1: there is no docs/b.md"]],
    ["/** See docs/a.md#cost. */", ["src/x.ts:1: docs/a.md has no anchor #cost"]],
    ["/** See docs/a.md#money,\n * #g5 and #g6. */", ["src/x.ts:1: docs/a.md has no anchor #g6"]],
  ])("pages: %p", (text, expected) => {
    expect(shown(checkPageReferences(withText("src/x.ts", text)))).toEqual(expected)
  })

  test.each([
    ["[money](a.md#money), [self](#here), [web](https://example.com/a)\n# Here", []],
    ["[up](../README.md)", ["docs/x.md:1: links to ../README.md, which is not there"]],
    ["[cost](a.md#cost)", ["docs/x.md:1: docs/a.md has no anchor #cost"]],
  ])("links: %p", (text, expected) => {
    expect(shown(checkLinks(withText("docs/x.md", text), nothing))).toEqual(expected)
  })

  test.each([
    ["// Decision 7 says why.", []],
    ["// Decision 8 says why.", ["src/x.ts:1: there is no decision 8"]],
  ])("decisions: %p", (text, expected) => {
    expect(shown(checkDecisions(withText("src/x.ts", text)))).toEqual(expected)
  })

  test.each([
    ["// `wire/y.ts` has it, `x.ts` has not", ["src/x.ts:1: names wire/y.ts, which is not there"]],
    ["// See `y.ts`.", ["src/x.ts:1: names y.ts, which is not there"]],
    ["// See `headgate.config.ts`.", []],
    ["// `test/a.test.ts` has it", []],
    ["const path = `gone/y.ts`", []],
  ])("files: %p", (text, expected) => {
    expect(shown(checkNamedFiles(withText("src/x.ts", text), nothing))).toEqual(expected)
  })

  test.each([
    ["`a` in `src/x.ts`, `X.b` (`x.ts`)", []],
    ["`src/x.ts`: `a`, `c`", ["docs/x.md:1: says that src/x.ts has c"]],
    ["`d` in `src/x.ts`", ["docs/x.md:1: says that src/x.ts has d"]],
    ["`e` in `src/y.ts`", []],
  ])("words: %p", (text, expected) => {
    const files = new Map([
      ["src/x.ts", "const a = b"],
      ["docs/x.md", text],
    ])
    expect(shown(checkNamedWords(files))).toEqual(expected)
  })

  test("files: one beside the repository, which not every clone has", () => {
    const offences = checkNamedFiles(withText("test/x.ts", "// `../../beside/y.ts` has it"), (path) =>
      path.startsWith("../"),
    )
    expect(shown(offences)).toEqual(["test/x.ts:1: names ../../beside/y.ts, which is not there"])
  })

  test.each([
    ['- `test/a.test.ts`: "it works"', []],
    ['- `test/a.test.ts`: "it works", "it fails"', ['docs/x.md:1: test/a.test.ts has no test "it fails"']],
    ['- `test/b.test.ts`: "it works"', ["docs/x.md:1: names test/b.test.ts, which is not there"]],
  ])("tests: %p", (text, expected) => {
    expect(shown(checkNamedTests(withText("docs/x.md", text), "docs/x.md"))).toEqual(expected)
  })

  test.each([
    ...["Reference 14.4", "reference 6.3", "References 5.2 and 5.9", "Spec 2.4", "specification 3"],
    ...[
      "Architecture 5",
      "architecture, plugin contract",
      "the architecture page",
      "Architecture, decision 2",
      "Style 6",
      "settled point",
    ],
    ...["Settled points", "the reliability page", "Reliability 7", "bad inputs 3", "Bad inputs 65 and 66"],
    ...["the design page", "issue 12", "wall 3", "see architecture.md", "router-reference", "G5", "G28, and more"],
  ])("outside: %p", (words) => {
    expect(checkOutsidePages(new Map([["src/x.ts", `// It is so. ${words}.`]]))).not.toEqual([])
  })

  test("outside: a reference that is broken over two lines of a comment", () => {
    expect(shown(checkOutsidePages(new Map([["src/x.ts", "/**\n * As it says in Reference\n * 14.4.\n */"]])))).toEqual(
      ['src/x.ts:2: speaks of a page that is not here: "Reference 14.4"'],
    )
  })

  test.each([
    ...["docs/guarantees.md#g5", "docs/architecture.md#money", "a reference to the host", "4 G of memory", "G35"],
    ...["a specification", "the architecture of it", "in this style", "const style = 3", "AbG5/x=="],
  ])("not outside: %p", (words) => {
    expect(checkOutsidePages(new Map([["src/x.ts", `// It is so. ${words}.`]]))).toEqual([])
  })

  test("not outside: a guarantee that a page links to by its number", () => {
    expect(checkOutsidePages(new Map([["docs/x.md", "See [G5](guarantees.md#g5)."]]))).toEqual([])
  })
})
