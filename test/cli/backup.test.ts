/** `headgate backup` and `headgate restore`, as an operator runs them against a gateway of their own. docs/backup.md */
import { Database } from "bun:sqlite"
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { until } from "../support/clocks/until.ts"
import type { Ended } from "../support/gateways/commands.ts"
import {
  firstKey,
  firstManagementKey,
  type Installation,
  install,
  type RunningGateway,
} from "../support/gateways/process.ts"
import { chunkOf, configFor, type ScriptedHost, scriptedHost, wholeAnswer } from "../support/hosts/host.ts"

const patience = 1_800_000

/** A stream that says a word every few milliseconds until `silent` says that it is over. */
let isOver = false
const talking = () =>
  new Response(
    new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        await Bun.sleep(5)
        const delta = { delta: isOver ? {} : { content: "word " }, finish_reason: isOver ? "stop" : null }
        const usage = { usage: { prompt_tokens: 1, completion_tokens: 5000 } }
        const end = `data: ${chunkOf(delta, usage)}\n\ndata: [DONE]\n\n`
        controller.enqueue(new TextEncoder().encode(isOver ? end : `data: ${chunkOf(delta)}\n\n`))
        if (isOver) controller.close()
      },
    }),
    { headers: { "content-type": "text/event-stream" } },
  )

let host: ScriptedHost
let installation: Installation
let gateway: RunningGateway
let url = ""
let managementKey = ""
let ordinaryKey = ""

beforeAll(async () => {
  host = scriptedHost((body) => (body["stream"] === true ? talking() : wholeAnswer("quick")))
  installation = install()
  const discovery = { environment: false, local: false }
  gateway = installation.start({ config: configFor({ a: { url: host.url } }, { discovery }) })
  url = await gateway.url()
  await until(() => gateway.out().includes("curl "), "the keys")
  managementKey = firstManagementKey(gateway.out())
  ordinaryKey = firstKey(gateway.out())
}, patience)
afterAll(async () => {
  await installation.remove()
  await host.stop()
})

const headgate = (...words: ReadonlyArray<string>): Promise<Ended> =>
  installation.command(words, { HEADGATE_MANAGEMENT_KEY: managementKey, HEADGATE_PORT: new URL(url).port })

const inFolder = (name: string): string => join(installation.folder, name)

const membersOf = ({ out }: Ended): Readonly<Record<string, string>> =>
  Object.fromEntries(out.split("\n").flatMap((line) => (line === "" ? [] : [line.split("\t")])))

const ask = (more: object = {}) =>
  fetch(`${url}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${ordinaryKey}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "acme/small", messages: [{ role: "user", content: "hello" }], ...more }),
  })

const inDatabase = <Row>(path: string, statement: string): ReadonlyArray<Row> => {
  const db = new Database(path, { readonly: true })
  try {
    return db.query<Row, []>(statement).all()
  } finally {
    db.close()
  }
}

const restart = async (): Promise<void> => {
  gateway = installation.start()
  url = await gateway.url()
}
const stop = async (): Promise<void> => {
  gateway.kill("SIGTERM")
  expect(await gateway.exited).toBe(0)
}

describe("backup", () => {
  test(
    "writes a checked copy that only its owner may read, without a key in it, and overwrites nothing unasked",
    async () => {
      expect((await ask()).status).toBe(200)
      const file = inFolder("first.db")
      const made = await headgate("backup", file)
      expect(made).toMatchObject({ code: 0, err: "" })
      expect(membersOf(made)).toMatchObject({ file, bytes: `${statSync(file).size}`, keys: "1", "ledger rows": "1" })
      expect(statSync(file).mode & 0o777).toBe(0o600)
      const bytes = readFileSync(file)
      for (const secret of [ordinaryKey, managementKey, "key-of-a"]) expect(bytes.includes(secret)).toBe(false)
      expect(existsSync(`${file}.part`)).toBe(false)

      const again = await headgate("backup", file)
      expect(again).toEqual({ code: 73, out: "", err: `headgate: ${file} is there already; --force replaces it\n` })
      expect((await headgate("backup", file, "--force", "--json")).code).toBe(0)
      // The books of the copy are right, as a command reads them.
      const checked = await installation.command(["reconcile"], { HEADGATE_STORAGE: `sqlite:${file}` })
      expect(checked).toMatchObject({ code: 0, out: "1 rows of the ledger, no difference\n" })
    },
    patience,
  )

  test(
    "- writes to standard output",
    async () => {
      const shell = Bun.spawn(["sh", "-c", `exec ${process.execPath} src/main.ts backup - > ${inFolder("piped.db")}`], {
        cwd: join(import.meta.dir, "../.."),
        env: {
          ...process.env,
          HEADGATE_MANAGEMENT_KEY: managementKey,
          HEADGATE_CONFIG: inFolder("headgate.config.json"),
          HEADGATE_PORT: new URL(url).port,
        },
      })
      expect(await shell.exited).toBe(0)
      expect(inDatabase(inFolder("piped.db"), "SELECT COUNT(*) AS rows FROM ledger")).toEqual([{ rows: 1 }])
    },
    patience,
  )

  test(
    "wants a management key, and leaves nothing of itself in the data folder, also where the caller leaves",
    async () => {
      const of = (key: string) => fetch(`${url}/backup`, { headers: { authorization: `Bearer ${key}` } })
      expect([(await of(ordinaryKey)).status, (await of("nobody")).status]).toEqual([403, 401])
      const { body } = await of(managementKey)
      await body?.cancel()
      expect(existsSync(`${installation.database}.backup`)).toBe(false)
    },
    patience,
  )

  test(
    "what is not whole, or not what the gateway sent, is no backup: the earlier file stays",
    async () => {
      const file = inFolder("kept.db")
      writeFileSync(file, "an earlier backup")
      const bytes = readFileSync(inFolder("first.db"))
      const digest = `sha-256=:${Bun.SHA256.hash(bytes, "base64")}:`
      const headers = (length: number) => ({ "x-gw-size": `${length}`, "repr-digest": digest })
      const changed = Buffer.from(bytes).fill(7, 5000, 5010)
      const answers: ReadonlyArray<readonly [Response, string]> = [
        [
          new Response(bytes.subarray(0, 8192), { headers: headers(bytes.length) }),
          "the backup is not whole: 8192 bytes came; try again",
        ],
        [
          new Response(changed, { headers: headers(bytes.length) }),
          "the backup was changed on its way: its hash is another one; try again",
        ],
        [new Response(bytes), "what came has no hash, so it is no backup of a Headgate: does --url name the gateway?"],
        [
          new Response("no database", {
            headers: { "x-gw-size": "11", "repr-digest": `sha-256=:${Bun.SHA256.hash("no database", "base64")}:` },
          }),
          "is damaged or no Headgate database",
        ],
      ]
      for (const [answer, why] of answers) {
        const other = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => answer })
        const { code, err } = await headgate("backup", file, "--force", "--url", `${other.url}`)
        await other.stop(true)
        expect(code).not.toBe(0)
        expect(err).toContain(why)
        expect(readFileSync(file, "utf8")).toBe("an earlier backup")
        expect(existsSync(`${file}.part`)).toBe(false)
      }
    },
    patience,
  )
})

test(
  "backup --force replaced the database of a running gateway, which lost what it wrote: refused, for the files beside it too",
  async () => {
    const { database } = installation
    const before = statSync(database).ino
    for (const file of [database, `${database}-wal`, `${database}.lock`]) {
      const message = `${file} belongs to the database of a running gateway (pid ${gateway.pid})`
      expect(await headgate("backup", file, "--force")).toEqual({ code: 73, out: "", err: `headgate: ${message}\n` })
    }
    expect(statSync(database).ino).toBe(before)
    expect((await fetch(url.replace("/api/v1", "/readyz"))).status).toBe(200)
  },
  patience,
)

test(
  "restore: refused while the gateway runs; then only with --force where something is lost; a request that was in flight is booked once",
  async () => {
    // A stream is in flight, and in the journal, when the backup is made; it ends normally after that.
    const stream = await ask({ stream: true })
    const generation = stream.headers.get("x-generation-id")
    const text = stream.text()
    const entries = () =>
      inDatabase<{ readonly id: string }>(
        installation.database,
        "SELECT id FROM open_requests WHERE state = 'streaming'",
      )
    await until(() => entries().length === 1, "a checkpoint of the stream")
    const file = inFolder("flight.db")
    expect((await headgate("backup", file)).code).toBe(0)
    isOver = true
    await text
    const made = membersOf(await headgate("keys", "create", "later"))
    const ordinary = membersOf(await headgate("keys", "list"))
    expect(Object.keys(ordinary)).toHaveLength(2)

    const running = await headgate("restore", file)
    expect(running).toMatchObject({ code: 73, out: "" })
    expect(running.err).toContain(`is already in use by pid ${gateway.pid}`)
    await stop()

    const refused = await headgate("restore", file)
    expect(refused).toMatchObject({ code: 1, err: expect.stringContaining("nothing was changed") })
    expect(membersOf(refused)).toMatchObject({
      "not restored": installation.database,
      lost: "1 request that cost 0.010001 USD",
      "lost keys": `${made["hash"]?.slice(0, 12)} later`,
    })
    const done = await headgate("restore", file, "--force", "--json")
    expect(JSON.parse(done.out)).toMatchObject({
      restored: true,
      keys: 1,
      rows: 1,
      lost: { rows: 1, cost_usd: "0.010001" },
    })
    const { kept } = JSON.parse(done.out)
    expect(inDatabase(kept, "SELECT COUNT(*) AS rows FROM ledger")).toEqual([{ rows: 2 }])

    // As after a crash at the time of the backup: what was delivered by then is charged, once.
    for (const _ of ["the first start", "the second one"]) {
      await restart()
      expect((await ask()).status).toBe(200)
      await stop()
      const rows = inDatabase<{ readonly outcome: string }>(
        installation.database,
        `SELECT outcome FROM ledger WHERE generation_id = '${generation}'`,
      )
      expect(rows).toEqual([{ outcome: "crashed" }])
    }
    expect(await headgate("reconcile")).toMatchObject({ code: 0, out: "4 rows of the ledger, no difference\n" })
    expect(await headgate("audit", "verify")).toMatchObject({ code: 0 })
  },
  patience,
)

test.each([
  ["memory:", "storage: memory: ends with the gateway, so nothing can be restored into it"],
  [
    "postgres://headgate@127.0.0.1:1/headgate",
    "storage: PostgreSQL has its own tools: restore what pg_dump wrote with pg_restore or psql",
  ],
])(
  "restore into %s is refused",
  async (storage, why) => {
    const ended = await installation.command(["restore", inFolder("first.db")], { HEADGATE_STORAGE: storage })
    expect(ended).toEqual({ code: 78, out: "", err: `headgate: ${why}\n` })
  },
  patience,
)
