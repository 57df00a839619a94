/**
 * What bodies that are cheap to send and dear to parse cost the others: `bun bench/longBodies.ts [AT ONCE]`, by default two. The
 * memory of the gateway, and the longest wait of another key's ordinary requests while they come. history.md has the figures, and what they
 * mean.
 */
import { mkdtemp, rm } from "node:fs/promises"
import { cpus, loadavg, tmpdir } from "node:os"
import { join } from "node:path"
import { stopAll } from "./load/processes.ts"
import { table } from "./load/report.ts"
import { gatewayRole, startHost, type Target } from "./load/roles.ts"
import { requestBody } from "./load/script.ts"

const atOnce = Number(process.argv[2] ?? 2)
const rounds = 3
const mebibyte = 1_048_576
const longest = 32 * mebibyte

const many = (count: number, item: (at: number) => string) => Array.from({ length: count }, (_, at) => item(at)).join()
const message = (content: string) => `{"model":"bench/brisk","messages":[{"role":"user","content":${content}}]}`
const text = (piece: string, before = "") => {
  const pieces = Math.floor((longest - 200) / Buffer.byteLength(piece))
  return message(`"${before}${piece.repeat(pieces)}"`)
}
const extra = (value: string) => `{"model":"bench/brisk","messages":[{"role":"user","content":"hi"}],"x":${value}}`

/** By what is in them. All but the first four are 32 MiB. */
const bodies: Readonly<Record<string, () => string>> = {
  "500,000 empty arrays": () => extra(`[${many(499_990, () => "[]")}]`),
  "500,000 short texts, all different": () => extra(`[${many(499_990, (at) => `"s${at}"`)}]`),
  "one object of 150,000 names": () => extra(`{${many(149_990, (at) => `"k${at}":1`)}}`),
  "150,000 objects of a name each": () => extra(`[${many(149_990, (at) => `{"k${at}":1}`)}]`),
  "11,000,000 empty arrays": () => extra(`[${"[],".repeat(11_180_000)}[]]`),
  "one text": () => text("all work and no play "),
  "one text of escapes": () => text("\\\\"),
  "one text with an emoji": () => text("all work and no play ", "😀"),
  "one text of \\u escapes": () => text("\\u65e5"),
  "an image": () =>
    message(`[{"type":"image_url","image_url":{"url":"data:image/png;base64,${"QUJD".repeat(8_388_500)}"}}]`),
  "one number": () => extra("1".repeat(longest - 200)),
  blanks: () => extra(`${" ".repeat(longest - 200)}1`),
}

interface Seen {
  readonly megabytes: number
  readonly waitMs: number
  readonly usualMs: number
  /** Processor time of the gateway's main thread for each of the bodies, less what the other requests took. */
  readonly mainMs: number
  readonly statuses: string
}

/** Asks one after another until told to stop; the times that the answers took. */
const probe = (target: Target, key: string) => {
  const times: Array<number> = []
  let most = 0
  let isOver = false
  const asking = (async () => {
    while (!isOver) {
      const began = performance.now()
      const response = await fetch(target.url, {
        method: "POST",
        headers: { "Content-Type": "application/json", Authorization: `Bearer ${key}` },
        body: requestBody("bench/brisk", false),
      })
      await response.arrayBuffer()
      if (response.status !== 200) throw new Error(`another caller got ${response.status}`)
      times.push(performance.now() - began)
      most = Math.max(most, target.child.rssBytes())
      await Bun.sleep(2)
    }
  })()
  return {
    end: async () => {
      isOver = true
      await asking
      return { times, most }
    },
  }
}

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

/** Another process sends them, so that the times are the gateway's. */
const sending = `
const [url, key, file, count] = process.argv.slice(1)
const body = await Bun.file(file).bytes()
const headers = { "Content-Type": "application/json", Authorization: "Bearer " + key }
const send = () => fetch(url, { method: "POST", headers, body }).then(async (r) => (await r.arrayBuffer(), r.status), (e) => e.code)
console.log((await Promise.all(Array.from({ length: Number(count) }, send))).join(" "))
`

const measure = async (target: Target, other: string, file: string): Promise<Seen> => {
  const mainSeconds = () => target.child.threads().find(({ id }) => id === target.child.pid)?.cpuSeconds ?? Number.NaN
  const began = mainSeconds()
  const quiet = probe(target, other)
  await Bun.sleep(700)
  const before = await quiet.end()
  const perRequest = (mainSeconds() - began) / before.times.length
  const base = target.child.rssBytes()
  const busyFrom = mainSeconds()
  const watched = probe(target, other)
  await Bun.sleep(100)
  const sender = Bun.spawn([process.execPath, "-e", sending, target.url, target.key, file, String(atOnce)], {
    stdout: "pipe",
  })
  const statuses = (await new Response(sender.stdout).text()).trim()
  await Bun.sleep(300)
  const { times, most } = await watched.end()
  return {
    megabytes: (Math.max(most, target.child.rssBytes()) - base) / 1e6,
    waitMs: Math.max(...times),
    usualMs: Math.max(...before.times),
    mainMs: ((mainSeconds() - busyFrom - times.length * perRequest) / atOnce) * 1000,
    statuses,
  }
}

const run = async (folder: string): Promise<void> => {
  const host = await startHost(folder)
  const upstream = host.url.replace(/\/chat\/completions$/, "")
  const options = { name: "long", folder, upstream, env: {}, contextLength: 100_000_000 }
  const role = await gatewayRole(options)
  const rows: Array<ReadonlyArray<string>> = []
  for (const [name, make] of Object.entries(bodies)) {
    const file = join(folder, "body.json")
    await Bun.write(file, make())
    const seen: Array<Seen> = []
    // A process of its own for each, since memory that was taken once stays resident for a while.
    for (let round = 0; round < rounds; round++) {
      const target = await role([])
      const other = target.key
      seen.push(await measure(target, other, file))
      await target.child.stop()
    }
    const of = (figure: (one: Seen) => number) => Math.max(...seen.map(figure)).toFixed(0)
    rows.push([
      name,
      `${of(({ megabytes }) => megabytes)} MB`,
      `${of(({ waitMs }) => waitMs)} ms`,
      `${of(({ usualMs }) => usualMs)} ms`,
      `${median(seen.map(({ mainMs }) => mainMs)).toFixed(0)} ms`,
      [...new Set(seen.flatMap(({ statuses }) => statuses.split(" ")))].join(", "),
    ])
    console.error(rows.at(-1)?.join("  "))
  }
  const load = (loadavg()[0] ?? Number.NaN).toFixed(1)
  console.log(`${new Date().toISOString().slice(0, 10)}, ${cpus().length} × ${cpus()[0]?.model}, load after: ${load}\n`)
  console.log(
    table([
      ["bodies", "memory, most", "another's longest wait", "without them", "main thread, each", "answers"],
      ...rows,
    ]),
  )
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
