/**
 * Processor time per text chunk of a stream, by the forms of caller and host, over sockets: `bun bench/formStreams.ts
 * [ROUNDS]`, by default 4. All pairs follow one another within a round. history.md has the figures and what they mean.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { cpus, loadavg, tmpdir } from "node:os"
import { join } from "node:path"
import { chunksInForm, type Form } from "./load/forms.ts"
import { say } from "./load/loads.ts"
import { stopAll } from "./load/processes.ts"
import { median, table } from "./load/report.ts"
import { gatewayRole, startHost, type Target } from "./load/roles.ts"
import { type Model, models, streamedText } from "./load/script.ts"

const rounds = Number(process.argv[2] ?? 4)
const callers = 100
const pace: Model = "bench/brisk"
const { chunks } = models[pace]

const plugins = { chat: "openai-compatible", messages: "anthropic" } as const
type Host = keyof typeof plugins
const hosts: ReadonlyArray<Host> = ["chat", "messages"]
const allForms: ReadonlyArray<Form> = ["chat", "messages", "responses", "completions"]

const startGateway = async (folder: string): Promise<Target> => {
  const { url } = await startHost(folder)
  const upstream = url.replace("/chat/completions", "")
  const provider = { base_url: upstream, network: "private", api_key: "x" }
  const hostOf = (host: Host) => ({
    provider: host,
    model: pace,
    pricing: { prompt: "0.00000015", completion: "0.0000006" },
    max_completion_tokens: 16_384,
  })
  const role = await gatewayRole({
    ...{ name: "forms", folder, upstream, env: {} },
    change: (usual) => ({
      ...usual,
      providers: {
        ...usual.providers,
        ...Object.fromEntries(hosts.map((host) => [host, { ...provider, plugin: plugins[host] }])),
      },
      models: [
        ...usual.models,
        ...hosts.map((host) => ({ id: `bench/${host}`, name: host, context_length: 128_000, hosts: [hostOf(host)] })),
      ],
    }),
  })
  return role([])
}

const measure = async (folder: string): Promise<void> => {
  const gateway = await startGateway(folder)
  const works = hosts.flatMap((host) =>
    allForms.map((form) => {
      const name = `${form} caller, ${host} host`
      return { name, load: chunksInForm(name, form, `bench/${host}`, callers), micros: [] as number[] }
    }),
  )
  say(`warming up: ${streamedText(chunks).length} characters in ${chunks} chunks a stream`)
  for (const { load } of works) await load.run(gateway)
  for (let round = 0; round < rounds; round++) {
    for (const { name, load, micros } of round % 2 === 0 ? works : works.toReversed()) {
      micros.push((await load.run(gateway)).cpuMicros)
      say(`  ${name}: ${micros.at(-1)?.toFixed(1)} µs`)
    }
  }
  const base = works[0]?.micros ?? []
  const rows = works.map(({ name, micros }) => {
    const ratios = micros.map((one, round) => one / (base[round] ?? Number.NaN))
    const range = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)} ×`
    return [name, `${median(micros).toFixed(1)} µs`, `${median(ratios).toFixed(2)} ×`, range]
  })
  const busy = (loadavg()[0] ?? Number.NaN).toFixed(1)
  console.log(`${new Date().toISOString().slice(0, 10)}, ${cpus().length} × ${cpus()[0]?.model}, load after: ${busy}\n`)
  console.log(table([["stream", "per chunk", "to chat at chat", "least to most"], ...rows]))
}

const folder = await mkdtemp(join(tmpdir(), "headgate-bench-"))
const cleanUp = async () => {
  await stopAll()
  await rm(folder, { recursive: true, force: true })
}
process.once("SIGINT", () => void cleanUp().finally(() => process.exit(130)))
try {
  await measure(folder)
} finally {
  await cleanUp()
}
