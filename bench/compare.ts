/** The gateway beside the raw proxy: every measurement of the bench, in one run. */
import { canMakeCertificates, makeCertificate } from "./load/certificate.ts"
import {
  atRate,
  chunks,
  type FirstToken,
  firstToken,
  highestMemory,
  type Kind,
  saturated,
  say,
  spread,
  streamsPerSecond,
} from "./load/loads.ts"
import { better, type Figure, median, type Round, ratioFigure, valueFigure, type Work } from "./load/report.ts"
import { type Address, prepareRoles, type Role, type Roles, type Target } from "./load/roles.ts"

export interface Size {
  /** With fresh, newly warmed processes: two of the same program may differ by a tenth for as long as they live. */
  readonly passes: number
  /** Rounds per pass: of non-streaming requests, of streams, and of the time to the first token. */
  readonly rounds: { readonly unary: number; readonly stream: number; readonly firstToken: number }
  /** Whole seconds of one load of non-streaming requests at full speed. */
  readonly seconds: number
  /** Of one load at a fixed rate. */
  readonly rateSeconds: number
  /** Streams that each caller takes. */
  readonly each: number
}

export const full: Size = {
  passes: 3,
  rounds: { unary: 2, stream: 2, firstToken: 2 },
  seconds: 3,
  rateSeconds: 5,
  each: 2,
}
export const quick: Size = {
  passes: 1,
  rounds: { unary: 2, stream: 1, firstToken: 2 },
  seconds: 1,
  rateSeconds: 2,
  each: 1,
}

/** Upper limits that the gateway is held against; see README.md. */
const bounds = { unary: 1.8, atRate: 2, chunk: 1.7, memoryKiB: 28, firstTokenP99Ms: 2, startMs: 350 }

const callerCounts = [32, 60, 128]
const unaryName = (callers: number) => `unary, ${callers} callers`
const names = {
  oneHost: "unary, 60 callers, one host",
  atRate: "unary, 1,000 per second",
  chunk: "chunk, 250 callers",
  unaryTls: "unary over TLS, 60 callers",
  chunkTls: "chunk over TLS, 250 callers",
}
/** Enough callers to keep any proxy busy, and the streams that each takes. */
const many = { callers: 400, each: 3 }
/** A process counts as warm when no more of its time goes into compiling; the gateway needs some 20,000 requests. */
const warm = { compilingShare: 0.08, mostLoads: 8 }
/** Open streams whose memory is compared. */
const open = { few: 100, many: 1000 }

export interface Comparison {
  readonly figures: ReadonlyArray<Figure>
  readonly works: ReadonlyArray<Work>
  /** What one must know to read the figures: rates, what was left out and why. */
  readonly notes: ReadonlyArray<string>
}

export const compare = async (size: Size, folder: string, self: boolean): Promise<Comparison> => {
  const starts: Starts = { raw: [], gateway: [] }
  const plain = noting(await prepareRoles({ folder, self }), starts)
  const certificate = canMakeCertificates ? await makeCertificate(folder) : undefined
  const tls = certificate && noting(await prepareRoles({ folder, self, certificate }), starts)
  const loads = plainLoads(size, folder)
  const tlsLoads = certificate === undefined ? { unary: [], stream: [] } : loadsOverTls(size, folder)
  const added: Added = { raw: [], gateway: [], rates: [], directP99Ms: [] }
  const memory: Pair<number> = { raw: [], gateway: [] }
  for (let pass = 0; pass < size.passes; pass++) {
    say(`pass ${pass + 1} of ${size.passes}`)
    await withBoth(plain, async (raw, gateway) => {
      await processorTime(loads, raw, gateway, size, folder)
      await firstTokens(added, plain.host, raw, gateway, size)
    })
    if (tls !== undefined) {
      say("  the host speaks TLS")
      await withBoth(tls, (raw, gateway) => processorTime(tlsLoads, raw, gateway, size, folder))
    }
    say("  memory of open streams")
    memory.raw.push(await memoryPerStream(plain.raw))
    memory.gateway.push(await memoryPerStream(plain.gateway))
  }
  const works = [...loads.unary, ...loads.stream, ...tlsLoads.unary, ...tlsLoads.stream]
  return {
    figures: figuresOf(works, added, memory, starts),
    works: works.map(({ name, raw, gateway }) => ({ name, raw, gateway })),
    notes: [
      `Half load: ${added.rates.join(", ")} streams per second.`,
      ...(tooBusy(added)
        ? [
            "First token: no verdict, since the host called directly takes longer than the bound itself. Machine too busy.",
          ]
        : []),
      ...(certificate === undefined ? ["No rows over TLS: there is no openssl on the path."] : []),
    ],
  }
}

/** Figures of both proxies, in the order of their rounds. */
interface Pair<A> {
  readonly raw: Array<A>
  readonly gateway: Array<A>
}

/** Milliseconds from the start of a process to its first answer. */
type Starts = Pair<number>

/** Milliseconds that a proxy adds to the first token, and the rates of streams at which they were seen. */
interface Added extends Pair<FirstToken> {
  readonly rates: Array<number>
  /** Of the host called directly. */
  readonly directP99Ms: Array<number>
}

interface Measuring extends Pair<Round> {
  readonly name: string
  readonly run: Kind["run"]
}

/** Kept apart: the first streams make the runtime compile code again that non-streaming requests share with them. */
interface Loads {
  readonly unary: ReadonlyArray<Measuring>
  readonly stream: ReadonlyArray<Measuring>
}

const unmeasured = (kind: Kind): Measuring => ({ ...kind, raw: [], gateway: [] })

/** The same roles; every start of a process goes into `starts`. */
const noting = ({ host, raw, gateway }: Roles, starts: Starts): Roles => {
  const noted =
    (role: Role, into: Array<number>): Role =>
    async (bunArguments) => {
      const target = await role(bunArguments)
      into.push(target.firstAnswerMs)
      return target
    }
  return { host, raw: noted(raw, starts.raw), gateway: noted(gateway, starts.gateway) }
}

const plainLoads = ({ seconds, rateSeconds, each }: Size, folder: string): Loads => ({
  unary: [
    ...callerCounts.map((callers) => saturated(unaryName(callers), { model: "bench/brisk", callers, seconds, folder })),
    saturated(names.oneHost, { model: "bench/one-host", callers: 60, seconds, folder }),
    atRate(names.atRate, { model: "bench/brisk", rate: 1000, seconds: rateSeconds }),
  ].map(unmeasured),
  stream: [chunks(names.chunk, spread("bench/brisk", 250, each))].map(unmeasured),
})

const loadsOverTls = ({ seconds, each }: Size, folder: string): Loads => ({
  unary: [saturated(names.unaryTls, { model: "bench/brisk", callers: 60, seconds, folder })].map(unmeasured),
  stream: [chunks(names.chunkTls, spread("bench/brisk", 250, each))].map(unmeasured),
})

/** Starts both proxies, runs `use`, and stops them. */
const withBoth = async (roles: Roles, use: (raw: Target, gateway: Target) => Promise<void>): Promise<void> => {
  const raw = await roles.raw([])
  const gateway = await roles.gateway([])
  await use(raw, gateway)
  await raw.child.stop()
  await gateway.child.stop()
}

/** Both groups of loads, each after a warm-up. */
const processorTime = async (loads: Loads, raw: Target, gateway: Target, size: Size, folder: string): Promise<void> => {
  const load = saturated("warm-up", { model: "bench/brisk", callers: 60, seconds: 1, folder })
  for (const target of [raw, gateway]) await warmUp(target, load)
  await inRounds(loads.unary, size.rounds.unary, raw, gateway)
  for (const target of [raw, gateway]) await streamsPerSecond(target, 200, 4)
  await inRounds(loads.stream, size.rounds.stream, raw, gateway)
}

const warmUp = async (target: Target, load: Kind): Promise<void> => {
  for (let loads = 0; loads < warm.mostLoads; loads++) {
    const { cpuMicros, compilingMicros } = await load.run(target)
    if (compilingMicros < cpuMicros * warm.compilingShare) return
  }
}

/** Every load on both proxies, one right after the other; in every second round the gateway comes first. */
const inRounds = async (
  works: ReadonlyArray<Measuring>,
  rounds: number,
  raw: Target,
  gateway: Target,
): Promise<void> => {
  for (let round = 0; round < rounds; round++) {
    for (const work of works) {
      const rawFirst = work.raw.length % 2 === 0
      if (rawFirst) work.raw.push(await work.run(raw))
      work.gateway.push(await work.run(gateway))
      if (!rawFirst) work.raw.push(await work.run(raw))
      const [left, right] = [work.raw.at(-1), work.gateway.at(-1)].map((one) => one?.cpuMicros.toFixed(1))
      say(`  ${work.name}: raw ${left}, gateway ${right} µs`)
    }
  }
}

/**
 * Half load is half as many streams per second as the gateway manages. What a proxy adds is its time less that of the
 * host called directly, at the same rate and percentile.
 */
const firstTokens = async (
  added: Added,
  host: Address,
  raw: Target,
  gateway: Target,
  { rounds, rateSeconds }: Size,
): Promise<void> => {
  const half = Math.round((await streamsPerSecond(gateway, many.callers, many.each)) / 2)
  added.rates.push(half)
  for (let round = 0; round < rounds.firstToken; round++) {
    const direct = await firstToken(host, half, rateSeconds)
    added.directP99Ms.push(direct.p99Ms)
    const less = ({ p50Ms, p99Ms }: FirstToken): FirstToken => ({
      p50Ms: p50Ms - direct.p50Ms,
      p99Ms: p99Ms - direct.p99Ms,
    })
    added.raw.push(less(await firstToken(raw, half, rateSeconds)))
    added.gateway.push(less(await firstToken(gateway, half, rateSeconds)))
    const shown = [direct, added.raw.at(-1), added.gateway.at(-1)].map((one) => one?.p99Ms.toFixed(2))
    say(`  first token, p99: the host ${shown[0]} ms, the raw proxy adds ${shown[1]}, the gateway ${shown[2]}`)
  }
}

/** KiB: how much higher memory rises, in one new process, with many streams than with few, per stream. */
const memoryPerStream = async (role: Role): Promise<number> => {
  const target = await role([])
  // What the first streams load and compile, and the room that the heap takes for them, belongs to no stream.
  await streamsPerSecond(target, 200, 4)
  await highestMemory(target, open.few)
  const low = await highestMemory(target, open.few)
  const high = await highestMemory(target, open.many)
  await target.child.stop()
  return (high - low) / (open.many - open.few) / 1024
}

/** Whether the machine was so busy that what a proxy adds cannot be told from what others take away. */
const tooBusy = ({ directP99Ms }: Added): boolean => median(directP99Ms) > bounds.firstTokenP99Ms

const figuresOf = (
  works: ReadonlyArray<Work>,
  added: Added,
  memory: Pair<number>,
  starts: Starts,
): ReadonlyArray<Figure> => {
  const named = (name: string, bound?: number) =>
    works.filter((work) => work.name === name).map((work) => ratioFigure(work, bound))
  const firstToken = (member: keyof FirstToken) =>
    [added.raw.map((one) => one[member]), added.gateway.map((one) => one[member])] as const
  const unary = callerCounts.flatMap((callers) => works.filter(({ name }) => name === unaryName(callers)))
  const atHalfLoad = "added to the first token at half load"
  return [
    ratioFigure(better(`unary, the better of ${callerCounts.join(", ")} callers`, unary), bounds.unary),
    ...named(names.oneHost),
    ...named(names.atRate, bounds.atRate),
    ...named(names.chunk, bounds.chunk),
    ...named(names.unaryTls),
    ...named(names.chunkTls),
    valueFigure({ name: "memory per open stream", unit: "KiB", bound: bounds.memoryKiB }, memory.raw, memory.gateway),
    valueFigure({ name: `${atHalfLoad}, p50`, unit: "ms" }, ...firstToken("p50Ms")),
    valueFigure(
      { name: `${atHalfLoad}, p99`, unit: "ms", ...(tooBusy(added) ? {} : { bound: bounds.firstTokenP99Ms }) },
      ...firstToken("p99Ms"),
    ),
    valueFigure({ name: "start to first answer", unit: "ms", bound: bounds.startMs }, starts.raw, starts.gateway),
  ]
}
