/**
 * What a request and a stream chunk cost the gateway in processor time, against a raw proxy, side by side in one run.
 * `bun bench/run.ts [--quick] [--self] [--profile]`; README.md says what the figures mean.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { cpus, release, tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { stopAll } from "./load/processes.ts"
import { profileReport } from "./load/profile.ts"
import { median, type Round, table, type Work, workTable } from "./load/report.ts"
import { gatewayRole, type Role, rawRole, root, startUpstream, type Target } from "./load/roles.ts"
import { type StreamResult, streamLoad } from "./load/streams.ts"
import { unaryLoad, unaryTool } from "./load/unary.ts"

interface Size {
  /** Fresh processes, warmed up anew: two of the same program may differ by a tenth for as long as they live. */
  readonly passes: number
  /** Per pass. */
  readonly rounds: number
  readonly starts: number
  /** Of one load of whole answers. */
  readonly seconds: number
  /** Callers of streams at a time, and streams that each takes. */
  readonly callers: number
  readonly each: number
  /** Streams held open to see what one weighs. */
  readonly open: number
}

const full: Size = { passes: 3, rounds: 2, starts: 5, seconds: 4, callers: 200, each: 2, open: 1000 }
const quick: Size = { passes: 2, rounds: 1, starts: 2, seconds: 2, callers: 100, each: 1, open: 400 }

interface Pace {
  readonly chunks: number
  readonly intervalMs: number
}

/** For processor time: as fast as models write. */
const brisk: Pace = { chunks: 100, intervalMs: 20 }
/** For memory: a thousand streams open at once, and no process out of breath. */
const slow: Pace = { chunks: 20, intervalMs: 200 }

const connectionCounts = [32, 128]

const say = (text: string) => process.stderr.write(`${text}\n`)

const unary = (target: Target, folder: string, connections: number, seconds: number) =>
  unaryLoad({ url: target.url, key: target.key, connections, seconds, folder, root })

/** Starts lie within `spreadMs`, so that neither calls nor ticks come in bursts. */
const streams = (target: Target, pace: Pace, callers: number, each: number, spreadMs = lengthMs(pace)) => {
  const seconds = Math.ceil((lengthMs(pace) * each + spreadMs) / 1000) * 2 + 10
  return streamLoad({ url: target.url, key: target.key, callers, each, chunks: pace.chunks, spreadMs, seconds, root })
}

const lengthMs = ({ chunks, intervalMs }: Pace): number => (chunks + 1) * intervalMs

/** Runs `load` and sets the processor time it cost, with the work left over afterwards, against what it did. */
const measured = async <A>(target: Target, load: () => Promise<A>, round: (result: A, cpuMicros: number) => Round) => {
  const before = target.child.cpuSeconds()
  const result = await load()
  await Bun.sleep(200)
  return round(result, (target.child.cpuSeconds() - before) * 1e6)
}

const unaryRound = (target: Target, folder: string, connections: number, seconds: number): Promise<Round> =>
  measured(
    target,
    () => unary(target, folder, connections, seconds),
    (result, cpu) => ({ cpuMicros: cpu / result.requests, perSecond: result.perSecond, waitMs: result.p50Ms }),
  )

const streamRound = (target: Target, size: Size): Promise<Round> =>
  measured(
    target,
    () => streams(target, brisk, size.callers, size.each),
    (result: StreamResult, cpu) => {
      say(
        `  ${target.child.name}: ${result.streams} streams, ${(result.chunks / result.reads).toFixed(2)} chunks per read`,
      )
      return { cpuMicros: cpu / result.chunks, perSecond: result.chunks / result.seconds, waitMs: result.firstByteMs }
    },
  )

interface Kind {
  readonly name: string
  readonly run: (target: Target) => Promise<Round>
}

const kinds = (size: Size, folder: string): ReadonlyArray<Kind> => [
  ...connectionCounts.map((connections) => ({
    name: `unary, ${connections} connections`,
    run: (target: Target) => unaryRound(target, folder, connections, size.seconds),
  })),
  { name: `chunk, ${size.callers} streams`, run: (target) => streamRound(target, size) },
]

/** Every kind of work on both proxies, one right after the other; the other way round in every second round. */
const compared = async (size: Size, folder: string, rawAs: Role, gatewayAs: Role): Promise<ReadonlyArray<Work>> => {
  const works = kinds(size, folder).map((kind) => ({ ...kind, raw: [] as Round[], gateway: [] as Round[] }))
  for (let pass = 0; pass < size.passes; pass++) {
    const raw = await rawAs([])
    const gateway = await gatewayAs([])
    for (const target of [raw, gateway]) {
      await unary(target, folder, 64, size.seconds)
      await streams(target, brisk, size.callers, 1)
    }
    for (let round = 0; round < size.rounds; round++) {
      say(`pass ${pass + 1} of ${size.passes}, round ${round + 1} of ${size.rounds}`)
      for (const work of works) {
        const rawFirst = (pass + round) % 2 === 0
        if (rawFirst) work.raw.push(await work.run(raw))
        work.gateway.push(await work.run(gateway))
        if (!rawFirst) work.raw.push(await work.run(raw))
      }
    }
    await raw.child.stop()
    await gateway.child.stop()
  }
  return works
}

const startTimes = async (role: Role, times: number): Promise<number> => {
  const seen: Array<number> = []
  for (let time = 0; time < times; time++) {
    const target = await role([])
    seen.push(target.firstAnswerMs)
    await target.child.stop()
  }
  return median(seen)
}

/** Bytes per stream: how much higher memory rises, in one process, with `open` streams than with a tenth of them. */
const bytesPerStream = async (role: Role, open: number): Promise<number> => {
  const target = await role([])
  const highest = async (count: number) => {
    let most = 0
    const timer = setInterval(() => {
      most = Math.max(most, target.child.rssBytes())
    }, 100)
    await streams(target, slow, count, 1, 2000).finally(() => clearInterval(timer))
    return most
  }
  const few = open / 10
  await highest(few)
  const low = await highest(few)
  const high = await highest(open)
  await target.child.stop()
  return (high - low) / (open - few)
}

interface Roles {
  readonly raw: Role
  readonly gateway: Role
}

const compare = async (size: Size, folder: string, rolesAt: (pace: Pace) => Promise<Roles>): Promise<string> => {
  const { raw, gateway } = await rolesAt(brisk)
  say("starting")
  const starts = [await startTimes(raw, size.starts), await startTimes(gateway, size.starts)]
  const works = await compared(size, folder, raw, gateway)
  say("weighing open streams")
  const calm = await rolesAt(slow)
  const bytes = [await bytesPerStream(calm.raw, size.open), await bytesPerStream(calm.gateway, size.open)]
  const figures = (name: string, [a = 0, b = 0]: ReadonlyArray<number>, unit: string) => [
    name,
    `${a.toFixed(0)} ${unit}`,
    `${b.toFixed(0)} ${unit}`,
    (b / a).toFixed(2),
  ]
  const others = [
    ["", "raw", "gateway", "ratio"],
    figures("start to first answer", starts, "ms"),
    figures(
      "memory per open stream",
      bytes.map((count) => count / 1024),
      "KiB",
    ),
  ]
  return `${workTable(works)}\n\n${table(others)}`
}

/** One process per kind of work, so that each has its own profile. Bun writes it when the process leaves by itself. */
const profiled = async (name: string, role: Role, folder: string, load: (target: Target) => Promise<unknown>) => {
  const target = await role(["--cpu-prof", `--cpu-prof-dir=${folder}`, `--cpu-prof-name=${name}.cpuprofile`])
  await load(target)
  await Bun.sleep(200)
  const cpu = target.child.cpuSeconds()
  await target.child.stop()
  const report = await profileReport(join(folder, `${name}.cpuprofile`), 40)
  return `## ${name}: ${cpu.toFixed(1)} s of processor time in all threads, sampled each ms of JavaScript\n\n${report}`
}

const main = async () => {
  const flag = { type: "boolean", default: false } as const
  const { values } = parseArgs({ options: { quick: flag, self: flag, profile: flag } })
  const size = values.quick ? quick : full
  const folder = await mkdtemp(join(tmpdir(), "headgate-bench-"))
  const cleanUp = async () => {
    await stopAll()
    await rm(folder, { recursive: true, force: true })
  }
  const leave = () => void cleanUp().finally(() => process.exit(130))
  process.once("SIGINT", leave)
  process.once("SIGTERM", leave)
  const rolesAt = async (pace: Pace): Promise<Roles> => {
    const own = await mkdtemp(join(folder, "roles-"))
    const upstream = await startUpstream(own, pace.chunks, pace.intervalMs)
    const raw = rawRole(own, upstream)
    return { raw, gateway: values.self ? rawRole(own, upstream, "self") : await gatewayRole(own, upstream) }
  }
  try {
    const machine = `${cpus().length} × ${cpus()[0]?.model}, Linux ${release()}, Bun ${Bun.version}, ${unaryTool}`
    say(`${machine}${values.self ? "; the raw proxy in both roles" : ""}`)
    if (values.profile) {
      const { gateway } = await rolesAt(brisk)
      console.log(await profiled("unary", gateway, folder, (target) => unary(target, folder, 128, size.seconds * 2)))
      const calls = (target: Target) => streams(target, brisk, size.callers, size.each * 2)
      console.log(`\n${await profiled("stream", gateway, folder, calls)}`)
    } else {
      console.log(`${new Date().toISOString().slice(0, 10)}, ${machine}\n\n${await compare(size, folder, rolesAt)}`)
    }
  } finally {
    await cleanUp()
  }
}

await main()
