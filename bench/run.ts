/**
 * What a request and a stream chunk cost the gateway in processor time, against a raw proxy, side by side in one run.
 * `bun bench/run.ts [--quick] [--self] [--profile] [--json FILE]`; README.md says what the figures mean.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { cpus, loadavg, release, tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { type Comparison, compare, full, quick } from "./compare.ts"
import { say } from "./load/loads.ts"
import { runToEnd, stopAll } from "./load/processes.ts"
import { profile } from "./load/profile.ts"
import { figureTable, holds, workTable } from "./load/report.ts"
import { prepareRoles, root } from "./load/roles.ts"
import { unaryTool } from "./load/unary.ts"

const flag = { type: "boolean", default: false } as const
const options = { quick: flag, self: flag, profile: flag, json: { type: "string" } } as const
const { values } = parseArgs({ options })

/** Processes that wanted a processor in the minute before: above 0.5 or so, others are using the machine. */
const loadBefore = (loadavg()[0] ?? Number.NaN).toFixed(1)
const machine = `${cpus().length} × ${cpus()[0]?.model}, Linux ${release()}, Bun ${Bun.version}, ${unaryTool}`

/** The commit that is measured; "+" for changes in `src` or `plugins` that it does not hold. */
const commit = async (): Promise<string> => {
  const id = await runToEnd(["git", "rev-parse", "--short=10", "HEAD"], root, 10)
  const changes = await runToEnd(["git", "status", "--porcelain", "--", "src", "plugins"], root, 10)
  return `${id.trim()}${changes === "" ? "" : "+"}`
}

const report = async ({ figures, works, notes }: Comparison): Promise<void> => {
  const measuredAt = new Date().toISOString()
  const measured = values.self ? "the raw proxy in both roles" : `commit ${await commit()}`
  const mode = values.quick ? "quick" : "full"
  console.log(`${measuredAt.slice(0, 10)}, ${measured}, ${mode}, ${machine}, load before: ${loadBefore}\n`)
  console.log([figureTable(figures), workTable(works), ...notes].join("\n\n"))
  if (values.json === undefined) return
  const judged = figures.map((figure) => ({ ...figure, holds: holds(figure) }))
  const content = { measuredAt, measured, mode, machine, loadBefore, figures: judged, works, notes }
  await Bun.write(values.json, `${JSON.stringify(content, null, 2)}\n`)
}

const main = async () => {
  const folder = await mkdtemp(join(tmpdir(), "headgate-bench-"))
  const cleanUp = async () => {
    await stopAll()
    await rm(folder, { recursive: true, force: true })
  }
  const leave = () => void cleanUp().finally(() => process.exit(130))
  process.once("SIGINT", leave)
  process.once("SIGTERM", leave)
  const size = values.quick ? quick : full
  try {
    say(machine)
    if (unaryTool === "autocannon") say("no wrk on the path: autocannon in its place takes more of the processor")
    if (values.profile) {
      const { gateway } = await prepareRoles({ folder, self: values.self })
      console.log(await profile(gateway, folder, size.seconds * 2))
    } else {
      await report(await compare(size, folder, values.self))
    }
  } finally {
    await cleanUp()
  }
}

await main()
