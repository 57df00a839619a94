/**
 * What a request costs in processor time with two workers and with one process, each on a database of one PostgreSQL:
 * `bun bench/workers.ts [ROUNDS]`, by default 6. history.md has the figures and what they mean.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { cpus, loadavg, tmpdir } from "node:os"
import { join } from "node:path"
import { type Kind, saturated, say } from "./load/loads.ts"
import { type MakeDatabase, startPostgres } from "./load/postgres.ts"
import { descendants, stopAll, withDescendants } from "./load/processes.ts"
import { type Round, ratioFigure, table } from "./load/report.ts"
import { gatewayRole, startHost, type Target } from "./load/roles.ts"

const rounds = Number(process.argv[2] ?? 6)
const loadSeconds = 2

/** Starts a gateway, and waits until all of its processes serve. */
const startGateway = async (
  folder: string,
  upstream: string,
  makeDatabase: MakeDatabase,
  workers: number,
): Promise<Target> => {
  const name = `workers_${workers}`
  const storage = await makeDatabase(name)
  const role = await gatewayRole({ name, folder, upstream, env: {}, storage, workers })
  const target = await role([])
  const isServing = () => {
    const log = target.child.log()
    const pids = descendants(target.child.pid)
    // The supervisor names a process in its log as soon as it serves.
    return pids.length === workers && pids.every((pid) => log.includes(`pid=${pid}`))
  }
  while (workers > 1 && target.child.running() && !isServing()) await Bun.sleep(20)
  return { ...target, child: withDescendants(target.child) }
}

/** Requests after which a process compiles little more. */
const warmRequests = 25_000

const warmUp = async (target: Target, load: Kind, workers: number): Promise<void> => {
  for (let requests = 0; requests < warmRequests * workers; ) {
    const { perSecond } = await load.run(target)
    requests += perSecond * loadSeconds
  }
}

/** Without what went into compiling: each process does that once in its life. */
const compiled = (round: Round): Round => ({ ...round, cpuMicros: round.cpuMicros - round.compilingMicros })

interface Measuring {
  readonly name: string
  /** Of the two workers. */
  readonly callers: number
  /** Of the one process. */
  readonly raw: Array<Round>
  readonly gateway: Array<Round>
}

const measuring = (callers: number): Measuring => ({
  name: `unary, 60 callers of one process, ${callers} of two workers`,
  callers,
  raw: [],
  gateway: [],
})

const measure = async (folder: string): Promise<void> => {
  const makeDatabase = await startPostgres()
  const host = await startHost(folder)
  const upstream = host.url.replace(/\/chat\/completions$/, "")
  const one = await startGateway(folder, upstream, makeDatabase, 1)
  const two = await startGateway(folder, upstream, makeDatabase, 2)
  const loadOf = (callers: number) =>
    saturated(`${callers} callers`, { model: "bench/brisk", callers, seconds: loadSeconds, folder })
  await warmUp(one, loadOf(60), 1)
  await warmUp(two, loadOf(120), 2)

  const works = [measuring(120), measuring(60)]
  for (let round = 0; round < rounds; round++) {
    for (const { name, callers, raw, gateway } of works) {
      const takes = [
        async () => raw.push(compiled(await loadOf(60).run(one))),
        async () => gateway.push(compiled(await loadOf(callers).run(two))),
      ]
      for (const take of round % 2 === 0 ? takes : takes.toReversed()) await take()
      const shown = [raw.at(-1), gateway.at(-1)].map(
        (each) => `${each?.cpuMicros.toFixed(0)} µs and ${each?.compilingMicros.toFixed(0)} compiling`,
      )
      say(`${name}: ${shown.join(", ")}`)
    }
  }
  const load = (loadavg()[0] ?? Number.NaN).toFixed(1)
  console.log(`${new Date().toISOString().slice(0, 10)}, ${cpus().length} × ${cpus()[0]?.model}, load after: ${load}\n`)
  const rows = works.map((work) => {
    const { name, raw, gateway, ratio, least, most } = ratioFigure(work)
    const range = `${least.toFixed(2)} to ${most.toFixed(2)} ×`
    return [name, `${raw.toFixed(0)} µs`, `${gateway.toFixed(0)} µs`, `${ratio.toFixed(2)} ×`, range]
  })
  console.log(table([["work", "one process", "two workers", "ratio", "least to most"], ...rows]))
}

const folder = await mkdtemp(join(tmpdir(), "headgate-bench-"))
const cleanUp = async () => {
  await stopAll()
  await rm(folder, { recursive: true, force: true })
}
process.once("SIGINT", () => void cleanUp().finally(() => process.exit(130)))
await measure(folder).finally(cleanUp)
// The server of PostgreSQL would keep this program running.
process.exit()
