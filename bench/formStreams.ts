/**
 * Processor time per text chunk of a stream, by the forms of caller and host, over sockets: `bun bench/formStreams.ts
 * [ROUNDS]`, by default 4. All pairs follow one another within a round. README.md says what the figures mean.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { cpus, loadavg, tmpdir } from "node:os"
import { join } from "node:path"
import { say } from "./load/loads.ts"
import { freePort, start, stopAll } from "./load/processes.ts"
import { median, table } from "./load/report.ts"
import { ordinaryKey, root, startHost } from "./load/roles.ts"
import { type Model, models, streamedText } from "./load/script.ts"

const rounds = Number(process.argv[2] ?? 4)
const callers = 100
const pace: Model = "bench/brisk"
const { chunks, intervalMs } = models[pace]

const plugins = { chat: "openai-compatible", messages: "anthropic" } as const
type Host = keyof typeof plugins
const hosts: ReadonlyArray<Host> = ["chat", "messages"]

const said = [{ role: "user", content: "And what does the headgate do when the river rises over night?" }]

/** Each form of callers, and what a text chunk of it has. */
const forms = [
  { form: "chat", path: "/chat/completions", body: { messages: said, max_tokens: 256 }, event: '"delta":{' },
  { form: "messages", path: "/messages", body: { messages: said, max_tokens: 256 }, event: '"text_delta"' },
  { form: "responses", path: "/responses", body: { input: said }, event: '"response.output_text.delta"' },
  { form: "completions", path: "/completions", body: { prompt: said[0]?.content }, event: '"text":' },
] as const
type Form = (typeof forms)[number]

interface Gateway {
  readonly url: string
  readonly key: string
  readonly cpuSeconds: () => number
}

const startGateway = async (folder: string): Promise<Gateway> => {
  const { url } = await startHost(folder)
  const provider = { base_url: url.replace("/chat/completions", ""), network: "private", api_key: "x" }
  const config = join(folder, "forms.config.json")
  const model = (host: Host) => ({
    id: `bench/${host}`,
    name: host,
    context_length: 128_000,
    hosts: [{ provider: host, model: pace, pricing: { prompt: "0.00000015", completion: "0.0000006" } }],
  })
  await Bun.write(
    config,
    JSON.stringify({
      plugins: { folders: [join(root, "plugins")] },
      discovery: { environment: false, local: false },
      providers: Object.fromEntries(hosts.map((host) => [host, { ...provider, plugin: plugins[host] }])),
      models: hosts.map((host) => ({
        ...model(host),
        hosts: model(host).hosts.map((one) => ({ ...one, max_completion_tokens: 16_384 })),
      })),
    }),
  )
  const port = freePort()
  const managementKey = `bench-management-${crypto.randomUUID()}`
  const env = {
    HEADGATE_CONFIG: config,
    HEADGATE_PORT: `${port}`,
    HEADGATE_STORAGE: `sqlite:${join(folder, "forms.db")}`,
    HEADGATE_MANAGEMENT_KEY: managementKey,
  }
  const child = start({ name: "forms", command: [process.execPath, "src/main.ts"], env, cwd: root, folder })
  const key = await ordinaryKey(child, port, managementKey)
  return { url: `http://127.0.0.1:${port}/api/v1`, key, cpuSeconds: child.cpuSeconds }
}

/** One stream, read to its end. Throws where chunks are missing. */
const oneStream = async ({ url, key }: Gateway, { path, body, event }: Form, host: Host): Promise<void> => {
  const response = await fetch(`${url}${path}`, {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${key}` },
    body: JSON.stringify({ model: `bench/${host}`, stream: true, ...body }),
  })
  const text = await response.text()
  const found = text.split("\n").filter((line) => line.startsWith("data: {") && line.includes(event)).length
  if (response.status !== 200 || found < chunks)
    throw new Error(`${response.status}, ${found} chunks: ${text.slice(-500)}`)
}

/** Microseconds of processor time per text chunk: what a stream costs to open and close is in its chunks. */
const load = async (gateway: Gateway, form: Form, host: Host): Promise<number> => {
  const before = gateway.cpuSeconds()
  await Promise.all(
    Array.from({ length: callers }, async (_, index) => {
      await Bun.sleep((index * chunks * intervalMs) / callers)
      await oneStream(gateway, form, host)
    }),
  )
  await Bun.sleep(200)
  return ((gateway.cpuSeconds() - before) * 1e6) / (callers * chunks)
}

const measure = async (folder: string): Promise<void> => {
  const gateway = await startGateway(folder)
  const works = hosts.flatMap((host) =>
    forms.map((form) => ({ name: `${form.form} caller, ${host} host`, host, form, micros: [] as number[] })),
  )
  say(`warming up: ${streamedText(chunks).length} characters in ${chunks} chunks a stream`)
  for (const { form, host } of works) await load(gateway, form, host)
  for (let round = 0; round < rounds; round++) {
    for (const { name, form, host, micros } of round % 2 === 0 ? works : works.toReversed()) {
      micros.push(await load(gateway, form, host))
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
