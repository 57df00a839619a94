/**
 * How much of a plugin's meaning the kit holds. Valid plugins pass: one in a protocol like Gemini's that a stranger wrote, the
 * template of a protocol, one that fetches tokens, one that signs. Each fault, put into the source of one of them, is found by the
 * check that is named, in a sentence that says what is wrong; or it stands in the table of what is not covered.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { cp, mkdir, mkdtemp, rm } from "node:fs/promises"
import { join } from "node:path"
import type { ProviderPlugin } from "headgate/plugin"
import { notCovered, type ProviderSubject, providerChecks } from "headgate/testing"
import { failureOf, failuresOf } from "./acme.ts"
import plugin from "./geminiLike/index.ts"
import { countedSubjectOf, fullSubjectOf, subjectOf } from "./geminiLike/subject.ts"
import { answers } from "./mutants/answers.ts"
import { conversations } from "./mutants/conversations.ts"
import { isNoticed, type Mutant } from "./mutants/Mutant.ts"
import { parameters } from "./mutants/parameters.ts"
import { signing } from "./mutants/signing.ts"
import { tide } from "./mutants/tide.ts"
import { template, tideSubjectOf } from "./mutants/tideSubject.ts"
import { usage } from "./mutants/usage.ts"
import signed from "./signedLike/index.ts"
import { subjectOf as signedSubjectOf } from "./signedLike/subject.ts"
import token from "./tokenLike/index.ts"
import { subjectOf as tokenSubjectOf } from "./tokenLike/subject.ts"

const mutants: ReadonlyArray<Mutant> = [...conversations, ...parameters, ...usage, ...answers, ...tide, ...signing]

const plugins: Readonly<
  Record<
    Mutant["plugin"],
    readonly [folder: string, subject: (plugin: ProviderPlugin) => ProviderSubject | Promise<ProviderSubject>]
  >
> = {
  geminiLike: [join(import.meta.dir, "geminiLike"), fullSubjectOf],
  tide: [template, tideSubjectOf],
  tokenLike: [join(import.meta.dir, "tokenLike"), tokenSubjectOf],
  signedLike: [join(import.meta.dir, "signedLike"), signedSubjectOf],
}

// In the repository, where `headgate/plugin` and `effect` are found.
const within = new URL("../../node_modules/", import.meta.url).pathname
let home = ""
beforeAll(async () => {
  await mkdir(within, { recursive: true })
  home = await mkdtemp(join(within, ".headgate-mutants-"))
})
afterAll(() => rm(home, { recursive: true }))

const inNames = (source: string): string =>
  source.replaceAll("VENDOR_NAME", "TIDE").replaceAll("Vendor Name", "Tide").replaceAll("vendor-name", "tide")

/** The plugin with these edits in one of its files. */
const edited = async ({ plugin: name, file, edits }: Pick<Mutant, "plugin" | "file" | "edits">) => {
  const folder = join(home, crypto.randomUUID())
  const [source, subject] = plugins[name]
  await cp(source, folder, { recursive: true })
  await Bun.write(join(folder, "index.ts"), inNames(await Bun.file(join(folder, "index.ts")).text()))
  const path = join(folder, `${file}.ts`)
  let text = inNames(await Bun.file(path).text())
  for (const [from, to] of edits) {
    expect(text).toContain(from)
    text = text.replace(from, () => to)
  }
  await Bun.write(path, text)
  return subject((await import(join(folder, "index.ts"))).default)
}

describe("a valid plugin", () => {
  test.each([
    ["in a protocol like Gemini's", () => fullSubjectOf(plugin)],
    ["that fetches tokens", () => tokenSubjectOf(token)],
    ["that signs", () => signedSubjectOf(signed)],
    ["from the template of a protocol", () => edited({ plugin: "tide", file: "index", edits: [] })],
  ] as const)("%s passes", async (_, subject) => {
    expect([...(await failuresOf(await providerChecks(await subject())))]).toEqual([])
  })

  test("passes with fewer samples, and the table says what they do not show", async () => {
    expect([...(await failuresOf(await providerChecks(countedSubjectOf(plugin))))]).toEqual([])
    const rows = async (subject: ProviderSubject) => (await notCovered(subject)).map(({ what }) => what)
    const [few, all] = [await rows(countedSubjectOf(plugin)), await rows(fullSubjectOf(plugin))]
    expect(few.filter((row) => !all.includes(row)).map((row) => row.split(/[,:(]/)[0]?.trim())).toEqual([
      "a stream whose finish comes in an event after its calls",
      "a call with an id of the host's",
      "several choices",
      "which of several usage reports counts",
      "tokens of audio in the usage",
      "an error as the body of an answer with status 200",
      "the time to wait in an error within a stream",
      "words of the host for how an answer ended",
    ])
    // What only the vendor's document tells.
    expect(all.map((row) => row.split(/[,:(]/)[0]?.trim())).toEqual([
      "whether the protocol has a last event",
      "a whole answer is asked for with POST /models/name-at-the-host",
      "words of the host for how an answer ended",
      'the key goes into the header "x-goog-api-key"',
    ])
  })

  test("fails for samples that do not say what they are charged, and for nothing else", async () => {
    const failures = [...(await failuresOf(await providerChecks(subjectOf(plugin))))]
    expect(failures.map(([name]) => name)).toEqual(["generate_content: samples show what a protocol can get wrong"])
    expect(failures[0]?.[1]).toContain("charged: text after a thought, two calls, a refused prompt, a whole call")
  })
})

describe("a plugin with a fault", () => {
  test("a token in the path is blamed on nothing but sign(): the decoder was said to hold its chunks back", async () => {
    const mutant = mutants.find(({ fault }) => fault === "a token in the path")
    if (mutant === undefined) throw new Error("there is no such mutant")
    const failures = await failuresOf(await providerChecks(await edited(mutant)))
    expect([...failures.keys()]).toEqual(["sign() writes a token into no path"])
  })

  test("a shared index of calls reads neither as a wrong end nor as a missing sample", async () => {
    const mutant = mutants.find(({ fault }) => fault === "tool index always 0")
    if (mutant === undefined) throw new Error("there is no such mutant")
    const failures = await failuresOf(await providerChecks(await edited(mutant)))
    expect(failures.size).toBeGreaterThan(0)
    for (const sentence of failures.values()) expect(sentence).toMatch(/several (?:tool )?calls/)
  })

  test.each(mutants.filter(isNoticed).map((mutant) => [mutant.plugin, mutant.fault, mutant] as const))(
    "%s: %s: is found out",
    async (_, __, mutant) => {
      const failure = await failureOf(await providerChecks(await edited(mutant)), mutant.check)
      expect(failure).toContain(mutant.says)
      expect(failure).toContain("Contract: ")
    },
  )

  test.each(mutants.flatMap((mutant) => (isNoticed(mutant) ? [] : [[mutant.plugin, mutant.fault, mutant] as const])))(
    "%s: %s: stands in the table",
    async (_, __, mutant) => {
      const rows = (await notCovered(await edited(mutant))).map(({ what }) => what)
      expect(rows.filter((row) => row.includes(mutant.row))).toHaveLength(1)
    },
  )

  test("is noticed in 95 of 100 cases", () => {
    expect(mutants.length).toBeGreaterThanOrEqual(146)
    expect(mutants.filter(isNoticed).length / mutants.length).toBeGreaterThanOrEqual(0.95)
  })
})
