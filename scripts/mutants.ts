/**
 * Seeds the defects of test/mutants/list.ts into copies of the tree, and runs the tests that should notice.
 * Exits with 1 where one was not noticed, or where the tests fail without it. Takes some minutes.
 *
 *     bun scripts/mutants.ts [--seconds SECONDS] [PART OF A NAME...]
 *
 * After SECONDS no further defect is begun. The first one is another at each run, so that all have their turn.
 */
import { cp, mkdtemp, readdir, rm, symlink } from "node:fs/promises"
import { availableParallelism, tmpdir } from "node:os"
import { join } from "node:path"
import { type Mutant, mutants } from "../test/mutants/list.ts"
import { startOnce } from "../test/support/storage/postgresServer.ts"

const words = process.argv.slice(2)
const seconds = words[0] === "--seconds" ? Number(words.splice(0, 2)[1]) : Number.POSITIVE_INFINITY
const chosen = mutants.filter(({ name }) => words.length === 0 || words.some((word) => name.includes(word)))

const say = (line: string) => process.stdout.write(`${line}\n`)

const left = new Set([".git", "node_modules", "test-results", "data", "dist"])

const postgres = await startOnce()
const env = { ...process.env, TEST_POSTGRES: typeof postgres === "string" ? "off" : String(postgres.port) }

const parent = await mkdtemp(join(tmpdir(), "headgate-mutants-"))
// Beside the repository's own folder lies the recorded traffic, where there is any.
await symlink(join(process.cwd(), "../shared"), join(parent, "shared"))

/** A copy of the tree, for one defect at a time. */
const makeCopy = async (name: string): Promise<string> => {
  const copy = join(parent, name)
  for (const each of await readdir(".")) if (!left.has(each)) await cp(each, join(copy, each), { recursive: true })
  await symlink(join(process.cwd(), "node_modules"), join(copy, "node_modules"))
  return copy
}

/** Whether all tests pass. */
const passes = async (copy: string, tests: ReadonlyArray<string>): Promise<boolean> => {
  const paths = tests.map((test) => `./${test}`)
  const run = Bun.spawn([process.execPath, "test", "--timeout", "60000", "--bail", ...paths], {
    cwd: copy,
    env,
    stdio: ["ignore", "ignore", "ignore"],
  })
  return (await run.exited) === 0
}

/** The same without a defect, found out once. */
const passed = new Map<string, Promise<boolean>>()
const passesAsItIs = (copy: string, tests: ReadonlyArray<string>): Promise<boolean> => {
  const key = tests.join(" ")
  const known = passed.get(key) ?? passes(copy, tests)
  passed.set(key, known)
  return known
}

/** What is wrong; `undefined`: the defect is noticed. */
const judged = async (copy: string, { file, from, to, tests }: Mutant): Promise<string | undefined> => {
  const path = join(copy, file)
  const source = await Bun.file(path).text()
  if (source.split(from).length !== 2) return "its text is not there exactly once"
  if (!(await passesAsItIs(copy, tests))) return "its tests fail without it"
  await Bun.write(
    path,
    source.replace(from, () => to),
  )
  const isNoticed = !(await passes(copy, tests))
  await Bun.write(path, source)
  return isNoticed ? undefined : "no test fails with it"
}

const first = seconds === Number.POSITIVE_INFINITY ? 0 : Math.floor(Math.random() * chosen.length)
const waiting = [...chosen.slice(first), ...chosen.slice(0, first)]
let wrong = 0

/** Takes one defect after the other, while there are some and time is left. */
const work = async (name: string): Promise<void> => {
  const copy = await makeCopy(name)
  while (performance.now() < seconds * 1000) {
    const mutant = waiting.shift()
    if (mutant === undefined) return
    const problem = await judged(copy, mutant)
    if (problem !== undefined) wrong += 1
    say(
      `${problem === undefined ? "noticed" : "NOT NOTICED"}: ${mutant.name}${problem === undefined ? "" : `: ${problem}`}`,
    )
  }
}

await Promise.all(Array.from({ length: availableParallelism() }, (_, at) => work(`tree${at}`)))
await rm(parent, { recursive: true, force: true })
const judgedCount = chosen.length - waiting.length
say(`${judgedCount - wrong} of ${judgedCount} defects are noticed.`)
if (waiting.length > 0) say(`${waiting.length} were not seeded: the time is over.`)
process.exit(wrong === 0 ? 0 : 1)
