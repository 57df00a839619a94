/**
 * How long the operator's reads of the control plane take while one ordinary key sends many at once: `bun bench/reads.ts [ROWS] [AT ONCE]`,
 * by default over a ledger of 200,000 rows, 1,500 of `GET /requests`, then of `GET /analytics`. SQLite, full durability.
 */
import { Database } from "bun:sqlite"
import { readFileSync } from "node:fs"
import * as Effect from "effect/Effect"
import { generationId, KeyId, requestId } from "../src/domain/ids.ts"
import type { LedgerRow } from "../src/services/storage/ledger.ts"
import { Storage } from "../src/services/storage/Storage.ts"
import { sampleRow } from "../test/sql/samples.ts"
import { until } from "../test/support/clocks/until.ts"
import { firstKey, install } from "../test/support/gateways/process.ts"
import { configFor, scriptedHost, wholeAnswer } from "../test/support/hosts/host.ts"

const rows = Number(process.argv[2] ?? 200_000)
const atOnce = Number(process.argv[3] ?? 1500)
const batch = 256
const spanMs = 30 * 24 * 3_600_000

const host = scriptedHost(() => wholeAnswer("hello"))
const installation = install()
const config = configFor({ acme: host }, { discovery: { environment: false, local: false } })
let gateway = installation.start({ config })
await gateway.url()
await until(() => firstKey(gateway.out()) !== "", "the key")
const key = firstKey(gateway.out())
const management = /management key\s+(\S+)/.exec(gateway.out())?.[1] ?? ""
gateway.kill("SIGTERM")
await gateway.exited

const hashOf = (secret: string) => KeyId.make(new Bun.CryptoHasher("sha256").update(secret).digest("hex"))
/** A tenth of the rows are of the key that reads. */
const keys = [hashOf(key), ...Array.from({ length: 9 }, (_, n) => hashOf(`key ${n}`))]
const row = (n: number): LedgerRow => {
  const id = requestId()
  const admittedAt = Date.now() - Math.floor(spanMs * (1 - n / rows))
  return sampleRow(id, {
    ...{ generationId: generationId(Math.floor(admittedAt / 1000), id), key: keys[n % keys.length] ?? hashOf(key) },
    ...{ model: `acme/m${n % 20}`, appTitle: `App ${n % 7}`, admittedAt, settledAt: admittedAt + 900 },
  })
}
await installation.ask(
  Effect.flatMap(Storage, ({ ledger }) =>
    Effect.forEach(
      Array.from({ length: Math.ceil(rows / batch) }, (_, part) => part * batch),
      (from) => ledger.append(Array.from({ length: Math.min(batch, rows - from) }, (_, at) => row(from + at))),
      { discard: true },
    ),
  ),
)

gateway = installation.start()
const url = await gateway.url()
/** Once the sums by hour have all rows, as those of a gateway that has run all the time. */
await until(
  () => {
    const db = new Database(installation.database, { readonly: true })
    const state = db
      .query<{ left: number }, []>("SELECT (SELECT MAX(seq) FROM ledger) - summed_to AS left FROM hourly_ledger")
      .get()
    db.close()
    return (state?.left ?? 0) < 4096
  },
  "the sums",
  300_000,
)
const other = (
  (await (
    await fetch(`${url}/keys`, {
      method: "POST",
      headers: { authorization: `Bearer ${management}`, "content-type": "application/json" },
      body: JSON.stringify({ name: "other" }),
    })
  ).json()) as { key: string }
).key

/** Sends many at once, from a process of its own: the operator's requests must not wait for the sender. Prints a status and milliseconds for each. */
const sending = `
const [url, secret, count] = process.argv.slice(1)
const read = async () => {
  const began = performance.now()
  const response = await fetch(url, { headers: { authorization: "Bearer " + secret } })
  await response.arrayBuffer()
  return [response.status, performance.now() - began]
}
console.log(JSON.stringify(await Promise.all(Array.from({ length: Number(count) }, read))))
`

const flood = async (path: string): Promise<ReadonlyArray<readonly [status: number, ms: number]>> => {
  const sender = Bun.spawn([process.execPath, "-e", sending, `${url}${path}`, key, String(atOnce)], {
    stdout: "pipe",
    env: { ...process.env, BUN_CONFIG_MAX_HTTP_REQUESTS: "4096" },
  })
  return JSON.parse(await new Response(sender.stdout).text())
}

const read = async (path: string, secret: string): Promise<readonly [status: number, ms: number]> => {
  const began = performance.now()
  const response = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${secret}` } })
  await response.arrayBuffer()
  return [response.status, performance.now() - began]
}

const counted = (statuses: ReadonlyArray<number>) =>
  JSON.stringify(
    Object.fromEntries([...new Set(statuses)].map((one) => [one, statuses.filter((s) => s === one).length])),
  )
const clockTicks = 100
/** Seconds of processor time that the gateway has used. */
const used = (): number => {
  const [, , user, system] = (/\) (.*)/.exec(readFileSync(`/proc/${gateway.pid}/stat`, "utf8"))?.[1] ?? "")
    .split(" ")
    .slice(9)
  return (Number(user) + Number(system)) / clockTicks
}

const figures = (times: ReadonlyArray<readonly [number, number]>) => {
  const sorted = times.map(([, ms]) => ms).toSorted((a, b) => a - b)
  const at = (share: number) =>
    `${Math.round(sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0)} ms`
  return `${counted(times.map(([status]) => status))}, median ${at(0.5)}, longest ${at(1)}`
}

const to = new Date().toISOString()
const from = new Date(Date.now() - spanMs).toISOString()
const analytics = `/analytics?from=${from}&to=${to}&group_by=model`
const reads = ["/requests", "/requests?limit=1000", analytics]
for (const path of reads) console.log(`idle, operator, ${path.split("?")[0]}:`, figures([await read(path, management)]))
for (const path of reads) {
  const [usedBefore, began] = [used(), performance.now()]
  const many = flood(path)
  let isOver = false
  many.finally(() => {
    isOver = true
  })
  const seen = async (what: string, secret: string) => {
    const times: Array<readonly [number, number]> = []
    while (!isOver || times.length === 0) times.push(await read(what, secret))
    return `${times.length} times ${figures(times)}`
  }
  const [ownRequests, ownAnalytics, others, chat] = await Promise.all([
    seen("/requests", management),
    seen(analytics, management),
    seen("/requests", other),
    seen("/models", other),
  ])
  console.log(
    `\n${atOnce} of ${path.split("&")[0]} of one key: ${figures(await many)}; ${((performance.now() - began) / 1000).toFixed(1)} s, processor ${(used() - usedBefore).toFixed(1)} s`,
  )
  console.log(
    `operator, /requests: ${ownRequests}\noperator, /analytics: ${ownAnalytics}\nanother key, /requests: ${others}\nanother key, /models: ${chat}`,
  )
}
gateway.kill("SIGKILL")
await gateway.exited
installation.remove()
host.stop()
process.exit(0)
