/**
 * What a request costs the gateway in processor time in another way of use, as a ratio to the usual one in the same run: callers of the other forms,
 * TLS to the host, PostgreSQL, a first host that fails, requests that are observed.
 * `bun bench/variants.ts [--quick] [--only GROUP] [--rounds N] [--unary]`; README.md has the bounds.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { cpus, loadavg, tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { canMakeCertificates, makeCertificate } from "./load/certificate.ts"
import { chunksInForm, type Form, saturatedInForm } from "./load/forms.ts"
import { atRate, chunks, type Kind, say, spread } from "./load/loads.ts"
import { observingAll, observingNothing, startCollector, tracesTo } from "./load/observers.ts"
import { startPostgres } from "./load/postgres.ts"
import { freePort, stopAll } from "./load/processes.ts"
import { holds, medianRange, type Round, ratioFigure, ratiosOf, table, type Work } from "./load/report.ts"
import {
  type Configuration,
  type GatewayOptions,
  gatewayRole,
  type Role,
  startHost,
  type Target,
} from "./load/roles.ts"
import { unaryTool } from "./load/unary.ts"

const groups = ["forms", "tls", "postgres", "fallbacks", "observed"] as const

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    only: { type: "string" },
    rounds: { type: "string" },
    unary: { type: "boolean", default: false },
  },
})
const only = groups.find((group) => group === values.only)
if (values.only !== only) throw new Error(`--only takes ${groups.join(", ")}`)

const size = values.quick
  ? { rounds: 2, streamRounds: 1, freshRounds: 1, seconds: 1, rateSeconds: 2, warmLoads: 3, streamWarmLoads: 0 }
  : { rounds: 4, streamRounds: 3, freshRounds: 5, seconds: 2, rateSeconds: 3, warmLoads: 4, streamWarmLoads: 1 }
/** Of `observed`, each with processes of its own. */
const freshRounds = Number(values.rounds ?? size.freshRounds)
/** A load counts as warm when no more of its time goes into compiling. */
const compilingShare = 0.08
const callers = { unary: 60, stream: 100, usualStream: 500 }

/** Upper limits of the ratios; see README.md. */
const bounds = { form: 1.15, tls: 1.3, postgres: 1.5, fallback: 2, observed: 1.04 }

/** A load of one gateway, and what its rounds cost. */
interface Side {
  readonly kind: Kind
  readonly target: Target
  readonly rounds: Array<Round>
}

interface Variant {
  readonly name: string
  /** `undefined`: it is told, and not judged. */
  readonly bound: number | undefined
  /** A side may be that of several variants: it runs once in a round. */
  readonly usual: Side
  readonly other: Side
}

const side = (target: Target, kind: Kind): Side => ({ kind, target, rounds: [] })

/**
 * Warms every side up, and runs all of them one after the other, in every second round in the opposite order. `first`: number of the first round,
 * by which the sides are warmed up in the opposite order as well.
 */
const inRounds = async (
  variants: ReadonlyArray<Variant>,
  rounds = size.rounds,
  warmLoads = size.warmLoads,
  first = 0,
): Promise<ReadonlyArray<Variant>> => {
  const sides = [...new Set(variants.flatMap(({ usual, other }) => [usual, other]))]
  const inOrder = (round: number) => (round % 2 === 0 ? sides : sides.toReversed())
  for (const { kind, target } of inOrder(first)) await warmUp(kind, target, warmLoads)
  for (let round = first; round < first + rounds; round++) {
    for (const { kind, target, rounds } of inOrder(round)) {
      rounds.push(await kind.run(target))
      say(`  ${kind.name}: ${rounds.at(-1)?.cpuMicros.toFixed(1)} µs`)
    }
  }
  return variants
}

const warmUp = async (kind: Kind, target: Target, most: number): Promise<void> => {
  for (let loads = 0; loads < most; loads++) {
    const { cpuMicros, compilingMicros } = await kind.run(target)
    if (compilingMicros < cpuMicros * compilingShare) return
  }
}

const provider = (base_url: string, plugin = "openai-compatible") => ({
  ...{ plugin, base_url, network: "private", api_key: "x" },
})

/** A model whose hosts have these providers, the first of them the cheapest. */
const modelOf = (id: string, providers: ReadonlyArray<string>) => ({
  id,
  name: id,
  context_length: 128_000,
  hosts: providers.map((slug, at) => ({
    provider: slug,
    model: "bench/brisk",
    pricing: { prompt: `0.0000001${at}`, completion: `0.0000006${at}` },
    context_length: 128_000,
    max_completion_tokens: 16_384,
  })),
})

const unary = (name: string, form: Form, model: string, folder: string): Kind =>
  saturatedInForm(name, form, model, { callers: callers.unary, seconds: size.seconds, folder })

/** Callers of the other forms at hosts of the chat form, and Messages callers at a host of their own form. */
const ofForms = async (plain: Target, folder: string): Promise<ReadonlyArray<Variant>> => {
  const one = (form: Form, model: string) => side(plain, unary(`unary, ${form} caller, ${model}`, form, model, folder))
  const stream = (form: Form, model: string) =>
    side(plain, chunksInForm(`chunk, ${form} caller, ${model}`, form, model, callers.stream))
  const variantsOf = (what: string, of: typeof one): ReadonlyArray<Variant> => {
    const usual = of("chat", "bench/brisk")
    return [
      ...(["messages", "responses"] as const).map((form) => ({
        ...{ name: `${what}, ${form} caller at chat hosts`, bound: bounds.form, usual, other: of(form, "bench/brisk") },
      })),
      {
        name: `${what}, messages caller at a host of its form`,
        bound: bounds.form,
        usual: of("chat", "bench/one-host"),
        other: of("messages", "bench/messages"),
      },
    ]
  }
  return [
    ...(await inRounds(variantsOf("unary", one))),
    ...(await inRounds(variantsOf("chunk", stream), size.streamRounds, size.streamWarmLoads)),
  ]
}

const withMessagesHost =
  (upstream: string) =>
  (usual: Configuration): object => ({
    ...usual,
    providers: { ...usual.providers, "bench-messages": provider(upstream, "anthropic") },
    models: [...usual.models, modelOf("bench/messages", ["bench-messages"])],
  })

const overTls = async (plain: Target, folder: string): Promise<ReadonlyArray<Variant>> => {
  if (!canMakeCertificates) return []
  const certificate = await makeCertificate(folder)
  const own = await mkdtemp(join(folder, "tls-"))
  const host = await startHost(own, certificate)
  const upstream = host.url.replace(/\/chat\/completions$/, "")
  const env = { NODE_EXTRA_CA_CERTS: certificate.authority }
  const tls = await (await gatewayRole({ name: "tls", folder: own, upstream, env }))([])
  const usual = side(plain, unary("unary", "chat", "bench/brisk", folder))
  const other = side(tls, unary("unary over TLS", "chat", "bench/brisk", folder))
  const variants = await inRounds([{ name: "unary over TLS to the host", bound: bounds.tls, usual, other }])
  await tls.child.stop()
  return variants
}

/** The processor time of the database is not counted. */
const onPostgres = async (plain: Target, upstream: string, folder: string): Promise<ReadonlyArray<Variant>> => {
  const storage = await (await startPostgres())("variants")
  const postgres = await (await gatewayRole({ name: "postgres", folder, upstream, env: {}, storage }))([])
  const kinds = [
    unary("unary", "chat", "bench/brisk", folder),
    atRate("unary, 1,000 per second", { model: "bench/brisk", rate: 1000, seconds: size.rateSeconds }),
  ]
  const variants = await inRounds(
    kinds.map((kind) => ({
      name: `${kind.name}, with PostgreSQL`,
      bound: bounds.postgres,
      usual: side(plain, { ...kind, name: `${kind.name}, SQLite` }),
      other: side(postgres, { ...kind, name: `${kind.name}, PostgreSQL` }),
    })),
  )
  await postgres.child.stop()
  return variants
}

/** The cheapest host comes first although it always fails: no breaker opens, and the retries are not bounded. */
const withFailingHosts =
  (upstream: string) =>
  ({ limits, ...usual }: Configuration): object => ({
    ...usual,
    routing: { strategy: "price" },
    limits: { ...limits, retries: 10, breaker: { consecutive_failures: 0, error_rate: 0 } },
    providers: {
      ...usual.providers,
      "bench-503": provider(`${upstream}/unavailable`),
      "bench-refused": provider(`http://127.0.0.1:${freePort()}/v1`),
    },
    models: [
      ...usual.models,
      modelOf("bench/answered", ["bench-a", "bench-b"]),
      modelOf("bench/after-503", ["bench-503", "bench-b"]),
      modelOf("bench/after-refusal", ["bench-refused", "bench-b"]),
    ],
  })

const ofFallbacks = async (upstream: string, folder: string): Promise<ReadonlyArray<Variant>> => {
  const change = withFailingHosts(upstream)
  const target = await (
    await gatewayRole({ name: "fallback", folder: await mkdtemp(join(folder, "fallback-")), upstream, env: {}, change })
  )([])
  const of = (model: string) => side(target, unary(`unary, ${model}`, "chat", model, folder))
  const usual = of("bench/answered")
  const [after503, afterRefusal] = [of("bench/after-503"), of("bench/after-refusal")]
  const variants = await inRounds([
    { name: "fallback after a 503", bound: bounds.fallback, usual, other: after503 },
    { name: "fallback after a refused connection", bound: bounds.fallback, usual, other: afterRefusal },
  ])
  await target.child.stop()
  return variants
}

/** Loads of each process in a round of `observed`. `warmLoads` is a maximum, of some 60,000 requests. */
const observedLoads = { warmLoads: 3, loads: values.quick ? 2 : 6, streamLoads: values.quick ? 1 : 3 }

/**
 * The gateway as it is by default, and with all that it can observe of requests, beside one that observes nothing. What is looked for is less than
 * two processes of one program may differ by for as long as they live, so each round has fresh ones, and is the mean of several loads of them.
 */
const ofObservers = async (upstream: string, folder: string): Promise<ReadonlyArray<Variant>> => {
  const roleOf = async (name: string, options: Partial<GatewayOptions>): Promise<Role> =>
    gatewayRole({ name, upstream, env: {}, ...options, folder: await mkdtemp(join(folder, `${name}-`)) })
  const collector = startCollector()
  const roles = [
    await roleOf("unobserved", { change: observingNothing }),
    await roleOf("observed", {}),
    await roleOf("all-observed", { change: observingAll, env: tracesTo(collector.url) }),
  ]
  const rounds: Array<ReadonlyArray<Variant>> = []
  for (let round = 0; round < freshRounds; round++) {
    const targets: Array<Target> = []
    for (const role of values.unary ? roles.slice(0, 2) : roles) targets.push(await role([]))
    rounds.push(await observedRound(targets, round, folder))
    for (const { child } of targets) await child.stop()
  }
  say(`  ${collector.spans()} spans were exported`)
  await collector.stop()
  return together(rounds)
}

/** Of a gateway that observes nothing, one as it is by default, and one that observes all. Without that one: whole answers alone. */
const observedRound = async (
  [off, on, all]: ReadonlyArray<Target>,
  round: number,
  folder: string,
): Promise<ReadonlyArray<Variant>> => {
  if (off === undefined || on === undefined) return []
  const kind = (name: string) => unary(`unary, ${name}`, "chat", "bench/brisk", folder)
  const stream = (name: string) => chunks(`chunk, ${name}`, spread("bench/brisk", callers.usualStream, 2))
  const usual = side(off, kind("unobserved"))
  const asDefault = {
    name: "unary, observed as by default",
    bound: bounds.observed,
    usual,
    other: side(on, kind("observed")),
  }
  if (all === undefined) return inRounds([asDefault], observedLoads.loads, observedLoads.warmLoads, round)
  const withAll = {
    name: "unary, with traces of all as well",
    bound: undefined,
    usual,
    other: side(all, kind("all observed")),
  }
  const streams = {
    name: "chunk, observed as by default",
    bound: bounds.observed,
    usual: side(off, stream("unobserved")),
    other: side(on, stream("observed")),
  }
  return [
    ...(await inRounds([asDefault, withAll], observedLoads.loads, observedLoads.warmLoads, round)),
    ...(await inRounds([streams], observedLoads.streamLoads, size.streamWarmLoads, round)),
  ]
}

/** The mean of what a process did. */
const meanOf = (loads: ReadonlyArray<Round>): Round => {
  const mean = (what: keyof Round) => loads.reduce((sum, load) => sum + load[what], 0) / loads.length
  return {
    cpuMicros: mean("cpuMicros"),
    compilingMicros: mean("compilingMicros"),
    perSecond: mean("perSecond"),
    p50Ms: mean("p50Ms"),
    p99Ms: mean("p99Ms"),
  }
}

/** The same variants of several rounds as one each: what was measured of a pair of processes counts once. */
const together = (rounds: ReadonlyArray<ReadonlyArray<Variant>>): ReadonlyArray<Variant> =>
  (rounds[0] ?? []).map((variant, at) => {
    const all = (which: "usual" | "other") => ({
      ...variant[which],
      rounds: rounds.map((variants) => meanOf(variants[at]?.[which].rounds ?? [])),
    })
    return { ...variant, usual: all("usual"), other: all("other") }
  })

const rowOf = ({ name, bound, usual, other }: Variant): ReadonlyArray<string> => {
  const work: Work = { name, raw: usual.rounds, gateway: other.rounds }
  const figure = ratioFigure(work, bound)
  const { raw, gateway, ratio, least, most } = figure
  const range = medianRange(ratiosOf(work))
  const judged = holds(figure)
  return [
    name,
    `${raw.toFixed(1)} µs`,
    `${gateway.toFixed(1)} µs`,
    `${ratio.toFixed(3)} ×`,
    `${least.toFixed(2)} to ${most.toFixed(2)} ×`,
    range === undefined ? "" : `${range[0].toFixed(3)} to ${range[1].toFixed(3)} ×`,
    bound === undefined ? "" : `${bound} ×`,
    judged === undefined ? "" : judged ? "yes" : "no",
  ]
}

/** The groups that are held against one gateway in usual use. */
const besidePlain = async (upstream: string, folder: string): Promise<ReadonlyArray<Variant>> => {
  if (!(isWanted("forms") || isWanted("tls") || isWanted("postgres"))) return []
  const role = await gatewayRole({ name: "plain", folder, upstream, env: {}, change: withMessagesHost(upstream) })
  const plain = await role([])
  const variants = [
    ...(isWanted("forms") ? await ofForms(plain, folder) : []),
    ...(isWanted("tls") ? await overTls(plain, folder) : []),
    ...(isWanted("postgres") ? await onPostgres(plain, upstream, folder) : []),
  ]
  await plain.child.stop()
  return variants
}

const isWanted = (group: (typeof groups)[number]): boolean => only === undefined || only === group

const measure = async (folder: string): Promise<void> => {
  const host = await startHost(folder)
  const upstream = host.url.replace(/\/chat\/completions$/, "")
  const variants = [
    ...(await besidePlain(upstream, folder)),
    ...(isWanted("fallbacks") ? await ofFallbacks(upstream, folder) : []),
    ...(isWanted("observed") ? await ofObservers(upstream, folder) : []),
  ]
  const machine = `${cpus().length} × ${cpus()[0]?.model}, Bun ${Bun.version}, ${unaryTool}`
  const mode = values.quick ? "quick" : "full"
  const load = (loadavg()[0] ?? Number.NaN).toFixed(1)
  console.log(`${new Date().toISOString().slice(0, 10)}, ${mode}, ${machine}, load after: ${load}\n`)
  const heads = ["variant", "usual", "variant", "ratio", "least to most", "median within, 90 %", "bound", "holds"]
  console.log(table([heads, ...variants.map(rowOf)]))
  if (!canMakeCertificates && isWanted("tls")) console.log("\nNo row over TLS: there is no openssl on the path.")
}

const folder = await mkdtemp(join(tmpdir(), "headgate-bench-"))
const cleanUp = async () => {
  await stopAll()
  await rm(folder, { recursive: true, force: true })
}
const leave = () => void cleanUp().finally(() => process.exit(130))
process.once("SIGINT", leave)
process.once("SIGTERM", leave)
await measure(folder).finally(cleanUp)
// The server of PostgreSQL would keep this program running.
process.exit()
