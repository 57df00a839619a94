/**
 * Runs real agents against a gateway with strict hosts: `bun scripts/agents.ts [AGENT...]`, by default all. Needs npm.
 * `--at HOST,...` and `--session NAME,...` choose, `--show` prints what was sent. Prints a table for docs/clients.md, and
 * why sessions failed. Agents run in homes of their own, and find no proxy to the world.
 */
import { parseArgs } from "node:util"
import { libraries, playLibrary } from "../test/support/agents/live/libraries.ts"
import { liveScene } from "../test/support/agents/live/liveScene.ts"
import { type LiveHost, liveHosts } from "../test/support/agents/live/orderedHosts.ts"
import { installed, packages, programs } from "../test/support/agents/live/programs.ts"
import { playLive, sessionNames } from "../test/support/agents/live/sessions.ts"

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { at: { type: "string" }, session: { type: "string" }, show: { type: "boolean" } },
})
const say = (line: string) => process.stdout.write(`${line}\n`)
const complain = (line: string) => process.stderr.write(`${line}\n`)
const isChosen = (list: string | undefined, name: string) => list === undefined || list.split(",").includes(name)
const names = positionals.length === 0 ? [...Object.keys(programs), ...Object.keys(libraries)] : positionals
const wanted = names.flatMap((name) => programs[name] ?? [])
const scene = await liveScene()
const { folder, why } = wanted.length === 0 ? { why: "" } : await installed(packages)
let failed = 0

/** The sessions of an agent: what went wrong at a host. */
const sessionsOf = (
  name: string,
): ReadonlyArray<readonly [string, (host: LiveHost) => Promise<ReadonlyArray<string>>]> => {
  const program = programs[name]
  if (program !== undefined) {
    return sessionNames
      .filter((session) => session !== "compaction" || program.isSummary !== undefined)
      .map((session) => [
        session,
        async (host) => (folder === undefined ? [why] : await playLive(scene, folder, program, session, host)),
      ])
  }
  const library = libraries[name]
  if (library === undefined) return []
  return Object.entries(library.sessions).map(([session, play]) => [
    session,
    (host) => playLibrary(scene, library, play, host),
  ])
}

say(`| agent | session | ${liveHosts.join(" | ")} |\n|${" --- |".repeat(liveHosts.length + 2)}`)
for (const name of names) {
  const sessions = sessionsOf(name)
  if (sessions.length === 0) {
    failed += 1
    complain(`${name}: no such agent`)
  }
  for (const [session, play] of sessions.filter(([session]) => isChosen(values.session, session))) {
    const cells: Array<string> = []
    for (const host of liveHosts) {
      const wrong = isChosen(values.at, host) ? await play(host) : undefined
      cells.push(wrong === undefined ? "" : wrong.length === 0 ? "ok" : "no")
      if (values.show === true) {
        for (const { path, body } of scene.passed) complain(`agent: ${path} ${body}`)
        for (const one of scene.asked) complain(`${one.host}: ${JSON.stringify(one.body)}`)
      }
      if (wrong === undefined || wrong.length === 0) continue
      failed += 1
      complain(`${name}, ${session}, ${host}:\n${wrong.map((one) => `  ${one.slice(0, 700)}`).join("\n")}`)
    }
    say(`| ${name} | ${session} | ${cells.join(" | ")} |`)
  }
}
await scene.stop()
process.exit(failed === 0 ? 0 : 1)
