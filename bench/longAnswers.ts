/**
 * Measures what long answers of hosts cost other requests: `bun bench/longAnswers.ts [NAME [AT ONCE]]`, by default all.
 * Reports the gateway's memory, the processor time of its main thread, and the longest wait of another process that
 * requests `/healthz` meanwhile. history.md has the figures and their meaning.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { cpus, loadavg, tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { freePort, start, stopAll } from "./load/processes.ts"
import { table } from "./load/report.ts"
import { type Configuration, gatewayRole, type Target } from "./load/roles.ts"
import { wholeAnswer } from "./load/script.ts"

const mebibyte = 1_048_576

interface Case {
  readonly path: string
  readonly ask: object
  readonly atOnce: number
  readonly type: string
  readonly encoding?: string
  readonly make: () => string | Uint8Array
}

const hi = [{ role: "user", content: "hi" }]
const chat = { path: "/chat/completions", ask: { model: "bench/chat", messages: hi }, type: "application/json" }
const streamed = { type: "text/event-stream", atOnce: 1 }
const lists = (count: number, item: string) => Array.from({ length: count }, () => item).join()

const embeddings = (): string => {
  const vector = `[${Array.from({ length: 1536 }, (_, at) => (Math.sin(at + 1) / 30).toFixed(12)).join()}]`
  const data = Array.from(
    { length: 1000 },
    (_, index) => `{"object":"embedding","index":${index},"embedding":${vector}}`,
  )
  return `{"object":"list","data":[${data.join()}],"model":"m","usage":{"prompt_tokens":1000,"total_tokens":1000}}`
}

const logprobs = (): string => {
  const top = lists(20, '{"token":"abc","logprob":-12.345678,"bytes":[97,98,99]}')
  const tokens = lists(18_000, `{"token":"abc","logprob":-0.123,"bytes":[97,98,99],"top_logprobs":[${top}]}`)
  return `{"choices":[{"index":0,"message":{"role":"assistant","content":"x"},"finish_reason":"stop","logprobs":{"content":[${tokens}]}}],"usage":{"prompt_tokens":10,"completion_tokens":18000}}`
}

const calls = (): string => {
  const all = Array.from(
    { length: 100_000 },
    (_, index) => `{"index":${index},"id":"c${index}","type":"function","function":{"name":"f","arguments":"{}"}}`,
  )
  return `data: {"choices":[{"index":0,"delta":{"tool_calls":[${all.join()}]},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n`
}

const tools = [{ type: "function", function: { name: "f", parameters: { type: "object" } } }]

const cases: Readonly<Record<string, Case>> = {
  "embeddings of 24 MB": {
    path: "/embeddings",
    ask: { model: "bench/vectors", input: Array.from({ length: 1000 }, () => "a") },
    ...{ atOnce: 120, type: "application/json", make: embeddings },
  },
  "log probabilities": { ...chat, ask: { ...chat.ask, logprobs: true, top_logprobs: 20 }, atOnce: 24, make: logprobs },
  "empty lists": { ...chat, atOnce: 8, make: () => `[${"[],".repeat(10 * mebibyte)}[]]` },
  "100,000 calls in an event, chat": { ...chat, ask: { ...chat.ask, tools, stream: true }, ...streamed, make: calls },
  "100,000 calls in an event, messages": {
    path: "/messages",
    ask: { model: "bench/chat", max_tokens: 1000, messages: hi, stream: true },
    ...streamed,
    make: calls,
  },
  "100,000 calls in an event, responses": {
    path: "/responses",
    ask: { model: "bench/chat", input: "hi", stream: true },
    ...streamed,
    make: calls,
  },
  "a line of 64 MiB": {
    ...{ ...chat, ask: { ...chat.ask, stream: true }, ...streamed },
    make: () => `data: {"choices":[{"index":0,"delta":{"content":"${"x".repeat(64 * mebibyte)}"}}]}\n\n`,
  },
  "compression bombs of 512 MiB": {
    ...{ ...chat, atOnce: 4, encoding: "gzip" },
    make: () => gzipSync(Buffer.from(`{"choices":[{"message":{"content":"${pattern.repeat(4096)}"}}]}`)),
  },
}

/** 128 KiB that shrink to a hundredth and a half. */
const pattern = `${"a".repeat(131_072 - 1200)}${Array.from({ length: 1200 }, (_, at) => "bcdefghijklmnop"[(at * at) % 15]).join("")}`

const hosting = `
const [port, file, type, encoding] = process.argv.slice(1)
const headers = { "Content-Type": type, ...(encoding === "" ? {} : { "Content-Encoding": encoding }) }
const body = await Bun.file(file).bytes()
let sent = 0
const serve = () => {
  let at = 0
  return new ReadableStream({
    type: "bytes",
    pull: (controller) => {
      if (at >= body.length) return controller.close()
      controller.enqueue(body.slice(at, at += 65536))
      sent += 65536
    },
  })
}
Bun.serve({ port: Number(port), hostname: "127.0.0.1", idleTimeout: 0, fetch: async (request) => {
  if (request.url.endsWith("/sent")) return new Response(String(sent))
  const asked = await request.text()
  if (asked.includes('"brisk"')) return new Response(${JSON.stringify(wholeAnswer())}, { headers: { "Content-Type": "application/json" } })
  return new Response(serve(), { headers })
} })
`

/** Another process sends them, so that the times are the gateway's. */
const sending = `
const [url, key, body, count] = process.argv.slice(1)
const headers = { "Content-Type": "application/json", Authorization: "Bearer " + key }
const send = () => fetch(url, { method: "POST", headers, body }).then(async (r) => {
  let bytes = 0
  for await (const part of r.body) bytes += part.length
  return r.status
}, (e) => e.code)
console.log((await Promise.all(Array.from({ length: Number(count) }, send))).join(" "))
`

/** Longest wait for \`/healthz\` in milliseconds, until its standard input ends. */
const probing = `
const [url] = process.argv.slice(1)
let longest = 0
let isOver = false
process.stdin.on("data", () => {}).on("end", () => { isOver = true })
while (!isOver) {
  const began = performance.now()
  await fetch(url).then((r) => r.text(), () => {})
  longest = Math.max(longest, performance.now() - began)
  await Bun.sleep(5)
}
console.log(longest)
`

const changed = (usual: Configuration, upstream: string): object => {
  const pricing = { prompt: "0.0000001", completion: "0.0000001" }
  const model = (id: string, more: object) => ({
    ...{ id, name: id, context_length: 100_000, ...more },
    hosts: [
      { provider: "bench-a", model: id === "bench/brisk" ? "brisk" : "m", pricing, max_completion_tokens: 16_384 },
    ],
  })
  return {
    ...usual,
    providers: { "bench-a": { plugin: "openai-compatible", base_url: upstream, network: "private", api_key: "x" } },
    models: [
      model("bench/chat", {}),
      model("bench/vectors", { architecture: { input_modalities: ["text"], output_modalities: ["embeddings"] } }),
      model("bench/brisk", {}),
    ],
  }
}

const measure = async (target: Target, upstream: string, { path, ask, atOnce }: Case) => {
  const root = target.url.replace(/\/chat\/completions$/, "")
  const mainSeconds = () => target.child.threads().find(({ id }) => id === target.child.pid)?.cpuSeconds ?? Number.NaN
  const health = new URL("/healthz", target.url).href
  const base = target.child.rssBytes()
  let most = base
  const watch = setInterval(() => {
    if (target.child.running()) most = Math.max(most, target.child.rssBytes())
  }, 5)
  const probe = Bun.spawn([process.execPath, "-e", probing, health], { stdin: "pipe", stdout: "pipe" })
  await Bun.sleep(500)
  const busyFrom = mainSeconds()
  const began = performance.now()
  const command = [process.execPath, "-e", sending, `${root}${path}`, target.key, JSON.stringify(ask), String(atOnce)]
  const sender = Bun.spawn(command, { stdout: "pipe", env: { ...process.env, BUN_CONFIG_MAX_HTTP_REQUESTS: "4096" } })
  const statuses = new Set((await new Response(sender.stdout).text()).trim().split(" "))
  const seconds = (performance.now() - began) / 1000
  clearInterval(watch)
  const isAlive = target.child.running()
  const mainMs = isAlive ? (mainSeconds() - busyFrom) * 1000 : Number.NaN
  await probe.stdin.end()
  const waitMs = Number(await new Response(probe.stdout).text())
  const sent = Number(await (await fetch(`${upstream}/sent`)).text())
  return { megabytes: (most - base) / 1e6, waitMs, mainMs, seconds, statuses, sent, isAlive }
}

const run = async (folder: string): Promise<void> => {
  const rows: Array<ReadonlyArray<string>> = []
  const wanted = process.argv[2]
  for (const [name, usual] of Object.entries(cases)) {
    if (wanted !== undefined && !name.includes(wanted)) continue
    const one = { ...usual, atOnce: Number(process.argv[3] ?? usual.atOnce) }
    const file = join(folder, "answer")
    await Bun.write(file, one.make())
    const port = freePort()
    const command = [process.execPath, "-e", hosting, String(port), file, one.type, one.encoding ?? ""]
    const host = start({ name: "host", command, cwd: folder, folder })
    const upstream = `http://127.0.0.1:${port}/v1`
    while (
      !(await fetch(`${upstream}/sent`).then(
        () => true,
        () => false,
      ))
    )
      await Bun.sleep(20)
    const role = await gatewayRole({
      name: "long",
      folder,
      upstream,
      env: {},
      change: (usual) => changed(usual, upstream),
    })
    const target = await role([])
    const seen = await measure(target, upstream, one)
    await target.child.stop()
    await host.stop()
    rows.push([
      ...[name, String(one.atOnce), `${seen.megabytes.toFixed(0)} MB`, `${seen.waitMs.toFixed(0)} ms`],
      ...[`${seen.mainMs.toFixed(0)} ms`, `${seen.seconds.toFixed(1)} s`, `${(seen.sent / mebibyte).toFixed(1)} MiB`],
      `${[...seen.statuses].join(", ")}${seen.isAlive ? "" : ", and the gateway ended"}`,
    ])
    console.error(rows.at(-1)?.join("  "))
  }
  const load = (loadavg()[0] ?? Number.NaN).toFixed(1)
  console.log(`${new Date().toISOString().slice(0, 10)}, ${cpus().length} × ${cpus()[0]?.model}, load after: ${load}\n`)
  const head = [
    "answers",
    "at once",
    "memory, most",
    "another's longest wait",
    "main thread, all",
    "in all",
    "sent by the host",
    "statuses",
  ]
  console.log(table([head, ...rows]))
}

const folder = await mkdtemp(join(tmpdir(), "headgate-bench-"))
const cleanUp = async () => {
  await stopAll()
  await rm(folder, { recursive: true, force: true })
}
process.once("SIGINT", () => void cleanUp().finally(() => process.exit(130)))
try {
  await run(folder)
} finally {
  await cleanUp()
}
