/**
 * What plugin authors compile against stays: the types of `headgate/plugin` and `headgate/testing` are compared with those of the last release.
 * After a change that is meant to break plugins, `bun scripts/keptTypes.ts` writes the copy anew. docs/decisions/0094-kept-types.md
 */
import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { type Compared, compareWithKept } from "../../scripts/keptTypes.ts"

const root = join(import.meta.dir, "../..")
const patience = 1_800_000

let current: Compared | undefined
const now = (): Compared => {
  current ??= compareWithKept()
  return current
}

test(
  "what plugins and their tests import is what it was in the last release, or more",
  () => {
    expect(now().findings).toEqual([])
    expect(now().names.length).toBeGreaterThan(150)
  },
  patience,
)

/** Findings when a source has `text` in place of `was`. */
const changed = (file: string, was: string | RegExp, text: string): ReadonlyArray<string> => {
  const source = readFileSync(join(root, file), "utf8")
  const made = source.replace(was, text)
  if (made === source) throw new Error(`${file} has no ${was}`)
  return compareWithKept(new Map([[file, made]]), now().program).findings
}

describe("it goes red for", () => {
  test.each([
    ["a removed export", "src/plugin.ts", "callIdOf, ", "", "headgate/plugin: callIdOf is gone"],
    [
      "a removed member that an author may give",
      "src/plugin/Provider.ts",
      /readonly keyVariable\?: .*/,
      "",
      "headgate/plugin: ProviderPlugin.keyVariable is gone",
    ],
    [
      "a removed member that an author may read",
      "src/plugin/strategy.ts",
      "readonly random: () => number",
      "",
      "headgate/plugin: RankContext.random is gone",
    ],
    [
      "a removed alternative",
      "src/domain/failures/HostReason.ts",
      '| "overloaded"',
      "",
      'headgate/plugin: HostReason has no "overloaded" any more',
    ],
    [
      "a narrowed parameter",
      "src/formats/content.ts",
      "textOf = (content: Content | null | undefined)",
      "textOf = (content: Content)",
      "headgate/plugin: textOf was\n    (content: Content | null | undefined) => string\n  and is\n    (content: Content) => string",
    ],
    [
      "a parameter that a hook no longer gets",
      "src/formats/Protocol.ts",
      "readonly encode: (request: ChatRequest, host: Host) =>",
      "readonly encode: (request: ChatRequest) =>",
      "headgate/plugin: defineProvider was",
    ],
    [
      "a changed return type",
      "src/domain/request/estimate.ts",
      "tokensIn = (bytes: number): number => Math",
      "tokensIn = (bytes: number): number | null => Math",
      "headgate/plugin: tokensIn was\n    (bytes: number) => number\n  and is\n    (bytes: number) => number | null",
    ],
    [
      "a member that authors have to give now",
      "src/plugin/Provider.ts",
      "readonly keyVariable?:",
      "readonly region: string\n  readonly keyVariable?:",
      "headgate/plugin: defineProvider was",
    ],
    [
      "a member that authors have to give of each host now",
      "src/domain/hosts/ListedModel.ts",
      "export interface ListedHost {",
      "export interface ListedHost {\n  readonly region: string",
      "headgate/plugin: defineProvider was",
    ],
    [
      "a member of the kit's samples",
      "src/testing/subject.ts",
      "readonly vectors:",
      "readonly numbers:",
      "headgate/testing: EmbeddingsSample.expects was",
    ],
  ])(
    "%s",
    (_, file, was, text, finding) => {
      expect(changed(file, was, text).join("\n")).toContain(finding)
    },
    patience,
  )
})

test.each([
  [
    "an optional member",
    "src/plugin/Provider.ts",
    "readonly keyVariable?:",
    "readonly region?: string\n  readonly keyVariable?:",
  ],
  [
    "a member that is read",
    "src/plugin/strategy.ts",
    "readonly random: () =>",
    "readonly user: string\n  readonly random: () =>",
  ],
  [
    "a member of what hooks get and give back",
    "src/domain/hosts/Host.ts",
    "export interface Host {",
    "export interface Host {\n  readonly more: string",
  ],
  ["an export", "src/plugin.ts", "callIdOf, ", "callIdOf, newCallId as anotherId, "],
  [
    "a wider parameter",
    "src/formats/content.ts",
    "textOf = (content: Content | null",
    "textOf = (content: Content | 7 | null",
  ],
])(
  "%s more is no finding",
  (_, file, was, text) => {
    expect(changed(file, was, text)).toEqual([])
  },
  patience,
)
