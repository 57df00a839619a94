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
import { better, type Figure, type Round, ratioFigure, valueFigure, type Work } from "./load/report.ts"
import { type Address, prepareRoles, type Role, type Roles, type Target } from "./load/roles.ts"

export interface Size {
  /** With fresh, newly warmed processes: two of the same program may differ by a tenth for as long as they live. */
  readonly passes: number
  /** Rounds per pass: of non-streaming requests, of streams, and of the time to the first token. */
  readonly rounds: { readonly unary: number; readonly stream: number; readonly firstToken: number }
  /** Whole seconds of one load of non-streaming requests. */
  readonly seconds: number
  /** Streams that each caller takes. */
  readonly each: number
}

export const full: Size = { passes: 3, rounds: { unary: 2, stream: 2, firstToken: 2 }, seconds: 3, each: 2 }
export const quick: Size = { passes: 1, rounds: { unary: 2, stream: 1, firstToken: 3 }, seconds: 1, each: 1 }

/** Upper limits that the gateway is held against; see README.md. */
const bounds = { unary: 2.2, atRate: 3, chunk: 1.7, memoryKiB: 28, firstTokenP99Ms: 2, startMs: 700 }

const callerCounts = [32, 60, 128]
const streamCallers = 250
const rate = 1000
const oneHostName = "unary, 60 callers, one host"
const rateName = `unary, ${rate} per second`
const chunkName = `chunk, ${streamCallers} callers`
/** Enough callers to keep any proxy busy, and the streams that each takes. */
const many = { callers: 400, each: 4 }
/** Open streams whose memory is compared. */
const open = { few: 100, many: 1000 }

export interface Comparison {
  readonly figures: ReadonlyArray<Figure>
  readonly works: ReadonlyArray<Work>
  /** What was left out, and why. */
  readonly notes: ReadonlyArray<string>
}

export const compare = async (size: Size, folder: string, self: boolean): Promise<Comparison> => {
  const starts: Starts = { raw: [], gateway: [] }
  const plain = noting(await prepareRoles({ folder, self }), starts)
  const works = emptyWorks(plainKinds(size, folder))
  const added: Added = { raw: [], gateway: [], rates: [] }
  const overTls = emptyWorks(canMakeCertificates ? tlsKinds(size, folder) : [])
  const certificate = canMakeCertificates ? await makeCertificate(folder) : undefined
  const tls = certificate && noting(await prepareRoles({ folder, self, certificate }), starts)
  const memory: Pair<number> = { raw: [], gateway: [] }
  for (let pass = 0; pass < size.passes; pass++) {
    say(`pass ${pass + 1} of ${size.passes}`)
    await withBoth(plain, size, folder, async (raw, gateway) => {
      await processorTime(works, raw, gateway)
      await firstTokens(added, plain.host, raw, gateway, size)
    })
    if (tls !== undefined) {
      say("  the host speaks TLS")
      await withBoth(tls, size, folder, (raw, gateway) => processorTime(overTls, raw, gateway))
    }
    say("  memory of open streams")
    memory.raw.push(await memoryPerStream(plain.raw))
    memory.gateway.push(await memoryPerStream(plain.gateway))
  }
  return {
    figures: figuresOf(works, overTls, added, memory, starts),
    works: [...works, ...overTls],
    notes: [
      `Half load: ${added.rates.join(", ")} streams per second.`,
      ...(canMakeCertificates ? [] : ["No rows over TLS: there is no openssl on the path."]),
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
}

interface Measuring extends Pair<Round> {
  readonly kind: Kind
  readonly name: string
}

const emptyWorks = (kinds: ReadonlyArray<Kind>): ReadonlyArray<Measuring> =>
  kinds.map((kind) => ({ kind, name: kind.name, raw: [], gateway: [] }))

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

const plainKinds = ({ seconds, each, rounds }: Size, folder: string): ReadonlyArray<Kind> => [
  ...callerCounts.map((callers) =>
    saturated(`unary, ${callers} callers`, rounds.unary, { model: "bench/brisk", callers, seconds, folder }),
  ),
  saturated(oneHostName, rounds.unary, { model: "bench/one-host", callers: 60, seconds, folder }),
  atRate(rateName, rounds.unary, { model: "bench/brisk", rate, seconds: seconds * 2 }),
  chunks(chunkName, rounds.stream, spread("bench/brisk", streamCallers, each)),
]

const tlsKinds = ({ seconds, each, rounds }: Size, folder: string): ReadonlyArray<Kind> => [
  saturated("unary over TLS, 60 callers", rounds.unary, { model: "bench/brisk", callers: 60, seconds, folder }),
  chunks("chunk over TLS, 250 callers", 1, spread("bench/brisk", streamCallers, each)),
]

/** Starts both proxies and warms them up, runs `use`, and stops them. */
const withBoth = async (
  roles: Roles,
  { seconds }: Size,
  folder: string,
  use: (raw: Target, gateway: Target) => Promise<void>,
): Promise<void> => {
  const raw = await roles.raw([])
  const gateway = await roles.gateway([])
  // Until the runtime has compiled what runs often.
  for (const target of [raw, gateway]) {
    await saturated("warm-up", 1, { model: "bench/brisk", callers: 60, seconds: seconds * 2, folder }).run(target)
    await streamsPerSecond(target, 200, 4)
  }
  await use(raw, gateway)
  await raw.child.stop()
  await gateway.child.stop()
}

/** Every kind of load on both proxies, one right after the other; in every second round the gateway comes first. */
const processorTime = async (works: ReadonlyArray<Measuring>, raw: Target, gateway: Target): Promise<void> => {
  const rounds = Math.max(...works.map(({ kind }) => kind.rounds))
  for (let round = 0; round < rounds; round++) {
    for (const work of works.filter(({ kind }) => round < kind.rounds)) {
      const rawFirst = work.raw.length % 2 === 0
      if (rawFirst) work.raw.push(await work.kind.run(raw))
      work.gateway.push(await work.kind.run(gateway))
      if (!rawFirst) work.raw.push(await work.kind.run(raw))
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
  { rounds, seconds }: Size,
): Promise<void> => {
  const half = Math.round((await streamsPerSecond(gateway, many.callers, many.each)) / 2)
  added.rates.push(half)
  for (let round = 0; round < rounds.firstToken; round++) {
    const direct = await firstToken(host, half, seconds * 2)
    const less = ({ p50Ms, p99Ms }: FirstToken): FirstToken => ({
      p50Ms: p50Ms - direct.p50Ms,
      p99Ms: p99Ms - direct.p99Ms,
    })
    added.raw.push(less(await firstToken(raw, half, seconds * 2)))
    added.gateway.push(less(await firstToken(gateway, half, seconds * 2)))
    const shown = [direct, added.raw.at(-1), added.gateway.at(-1)].map((one) => one?.p99Ms.toFixed(2))
    say(`  first token, p99: the host ${shown[0]} ms, the raw proxy adds ${shown[1]}, the gateway ${shown[2]}`)
  }
}

/** KiB: how much higher memory rises, in one new process, with many streams than with few, per stream. */
const memoryPerStream = async (role: Role): Promise<number> => {
  const target = await role([])
  await highestMemory(target, open.few)
  const low = await highestMemory(target, open.few)
  const high = await highestMemory(target, open.many)
  await target.child.stop()
  return (high - low) / (open.many - open.few) / 1024
}

const figuresOf = (
  works: ReadonlyArray<Work>,
  overTls: ReadonlyArray<Work>,
  added: Added,
  memory: Pair<number>,
  starts: Starts,
): ReadonlyArray<Figure> => {
  const named = (name: string, bound?: number) =>
    works.filter((work) => work.name === name).map((work) => ratioFigure(work, bound))
  const firstToken = (name: string, member: keyof FirstToken, bound?: number) =>
    valueFigure(
      { name: `added to the first token at half load, ${name}`, unit: "ms", ...(bound === undefined ? {} : { bound }) },
      added.raw.map((one) => one[member]),
      added.gateway.map((one) => one[member]),
    )
  const counts = callerCounts.join(", ")
  return [
    ratioFigure(better(`unary, the better of ${counts} callers`, works.slice(0, callerCounts.length)), bounds.unary),
    ...named(oneHostName),
    ...named(rateName, bounds.atRate),
    ...named(chunkName, bounds.chunk),
    ...overTls.map((work) => ratioFigure(work)),
    valueFigure({ name: "memory per open stream", unit: "KiB", bound: bounds.memoryKiB }, memory.raw, memory.gateway),
    firstToken("p50", "p50Ms"),
    firstToken("p99", "p99Ms", bounds.firstTokenP99Ms),
    valueFigure({ name: "start to first answer", unit: "ms", bound: bounds.startMs }, starts.raw, starts.gateway),
  ]
}
