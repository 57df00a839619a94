/**
 * Seeds the defects of test/mutants/list.ts, one after the other, into a copy of the tree, and runs the tests that should notice.
 * Exits with 1 where one was not noticed, or where the tests fail without it. Takes some minutes.
 *
 *     bun scripts/mutants.ts [PART OF A NAME...]
 */
import { cp, mkdtemp, readdir, rm, symlink } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type Mutant, mutants } from "../test/mutants/list.ts"

const words = process.argv.slice(2)
const chosen = mutants.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)))

const say = (line: string) => process.stdout.write(`${line}\n`)

const left = new Set([".git", "node_modules", "test-results", "data"])

// Beside the repository's own folder lies the recorded traffic, where there is any.
const parent = await mkdtemp(join(tmpdir(), "headgate-mutants-"))
const copy = join(parent, "tree")
for (const name of await readdir(".")) if (!left.has(name)) await cp(name, join(copy, name), { recursive: true })
await symlink(join(process.cwd(), "node_modules"), join(copy, "node_modules"))
await symlink(join(process.cwd(), "../shared"), join(parent, "shared"))

/** Whether all tests pass. */
const passes = async (tests: ReadonlyArray<string>): Promise<boolean> => {
  const paths = tests.map((test) => `./${test}`)
  const run = Bun.spawn([process.execPath, "test", "--timeout", "60000", "--bail", ...paths], {
    cwd: copy,
    stdio: ["ignore", "ignore", "ignore"],
  })
  return (await run.exited) === 0
}

/** The same without a defect, found out once. */
const passed = new Map<string, Promise<boolean>>()
const passesAsItIs = (tests: ReadonlyArray<string>): Promise<boolean> => {
  const key = tests.join(" ")
  const known = passed.get(key) ?? passes(tests)
  passed.set(key, known)
  return known
}

/** What is wrong; `undefined`: the defect is noticed. */
const judged = async ({ file, from, to, tests }: Mutant): Promise<string | undefined> => {
  const path = join(copy, file)
  const source = await Bun.file(path).text()
  if (source.split(from).length !== 2) return "its text is not there exactly once"
  if (!(await passesAsItIs(tests))) return "its tests fail without it"
  await Bun.write(
    path,
    source.replace(from, () => to),
  )
  const isNoticed = !(await passes(tests))
  await Bun.write(path, source)
  return isNoticed ? undefined : "no test fails with it"
}

let wrong = 0
for (const mutant of chosen) {
  const problem = await judged(mutant)
  if (problem !== undefined) wrong += 1
  say(
    `${problem === undefined ? "noticed" : "NOT NOTICED"}: ${mutant.name}${problem === undefined ? "" : `: ${problem}`}`,
  )
}
await rm(parent, { recursive: true, force: true })
say(`${chosen.length - wrong} of ${chosen.length} defects are noticed.`)
process.exit(wrong === 0 ? 0 : 1)
