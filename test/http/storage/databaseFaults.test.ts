/** A gateway on a real file that is locked, or whose disk is full. docs/guarantees.md#g22 */

import { Database } from "bun:sqlite"
import { afterEach, expect, test } from "bun:test"
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { layer as sqliteStorage } from "../../../src/sql/sqlite/SqliteStorage.ts"
import { finishesOf, readStrictly } from "../../support/clients/strictSse.ts"
import { until } from "../../support/clocks/until.ts"
import { openAccount } from "../../support/gateways/account.ts"
import { collectedLog } from "../../support/gateways/collectedLog.ts"
import { startGateway } from "../../support/gateways/gateway.ts"
import { configFor, scriptedHost, streamAnswer, wholeAnswer } from "../../support/hosts/host.ts"

const closing: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const patience = 1_800_000
const cost = 20_000_000n
const ask = { model: "acme/small", max_tokens: 10, messages: [{ role: "user", content: "hi" }] }

/** Requests with this `max_tokens` get an answer of 6 MB; with the other one, an error. */
const maxOfLarge = 11
const large = "x".repeat(6_000_000)
const maxOfFailing = 12

/** A gateway with its database in this folder; its host answers when the test says so. */
const scene = async (folder: string) => {
  let gate = Promise.resolve()
  let open = () => {}
  const host = scriptedHost(async (body) => {
    await gate
    if (body["max_tokens"] === maxOfFailing) return new Response("", { status: 500 })
    if (body["max_tokens"] === maxOfLarge) return wholeAnswer(large)
    return body["stream"] === true ? streamAnswer(["hello"]) : wholeAnswer("hello")
  })
  closing.push(host.stop)
  const path = join(folder, "headgate.db")
  const log = collectedLog()
  const gateway = await startGateway({
    config: configFor({ acme: host }),
    storage: sqliteStorage({ path, durability: "full" }),
    setting: log.layer,
  })
  closing.push(gateway.stop)
  const account = await openAccount(gateway)
  const headers = { authorization: `Bearer ${account.secret}` }
  return {
    path,
    host,
    account,
    chat: (more: object = {}) => gateway.chat({ ...ask, ...more }, { headers }),
    /** Under an `Idempotency-Key`, so that the answer is kept. */
    keptChat: (key: string, more: object) =>
      gateway.chat({ ...ask, ...more }, { headers: { ...headers, "idempotency-key": key } }),
    ready: async () => (await fetch(gateway.url.replace("/api/v1", "/readyz"))).status,
    readyText: async () => (await fetch(gateway.url.replace("/api/v1", "/readyz"))).text(),
    log,
    /** From now on the host waits, until `open`. */
    shut: () => {
      const gated = Promise.withResolvers<void>()
      gate = gated.promise
      open = gated.resolve
    },
    open: () => open(),
  }
}

/** Recovery takes up to a second after a lock, and up to six after a full disk. */
const recovered = async (ready: () => Promise<number>): Promise<void> => {
  for (let tries = 0; tries < 200; tries++) {
    if ((await ready()) === 200) return
    await Bun.sleep(100)
  }
  throw new Error("it did not recover")
}

const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "headgate-faults-"))
  closing.push(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** Locks the database as another tool would. */
const lock = (path: string): (() => void) => {
  const other = new Database(path)
  other.run("BEGIN IMMEDIATE")
  return () => {
    other.run("ROLLBACK")
    other.close()
  }
}

test(
  "locked for a moment: the answer waits, and is booked",
  async () => {
    const { path, account, host, chat } = await scene(newFolder())
    const unlock = lock(path)
    const answer = chat()
    await until(() => host.calls.length === 1, "the call")
    await Bun.sleep(300)
    unlock()
    expect((await answer).status).toBe(200)
    expect((await account.rows()).map((row) => row.cost)).toEqual([cost])
  },
  patience,
)

test(
  "locked for longer than five seconds: 503 and free; new requests are refused without a call; it recovers by itself",
  async () => {
    const { path, account, host, chat, ready } = await scene(newFolder())
    const unlock = lock(path)
    const [whole, streamed] = await Promise.all([chat(), chat({ stream: true })])
    expect(whole.status).toBe(503)
    expect(await streamed.text()).toContain("metering_unavailable")
    expect((await chat()).status).toBe(503)
    expect(await ready()).toBe(503)
    expect(host.calls).toHaveLength(2)
    unlock()
    await recovered(ready)
    expect(await account.total()).toBe(0n)
    expect((await account.rows()).map((row) => [row.cost, row.upstreamCost])).toEqual([
      [0n, cost],
      [0n, cost],
    ])
    expect((await chat()).status).toBe(200)
    expect(await account.total()).toBe(cost)
    expect(await account.reserved()).toBe(0n)
  },
  patience,
)

test(
  "/readyz waited as long as the database's thread did: while another program has the lock it answers, without what is booked meanwhile",
  async () => {
    const { path, host, chat, ready } = await scene(newFolder())
    const unlock = lock(path)
    const order: Array<string> = []
    const answers = [chat(), chat({ stream: true })].map(async (response) => {
      await (await response).text()
      order.push("a booking")
    })
    await until(() => host.calls.length === 2, "the calls")
    await ready()
    order.push("an answer of /readyz")
    await Promise.all(answers)
    expect(order).toEqual(["an answer of /readyz", "a booking", "a booking"])
    expect(await ready()).toBe(503)
    unlock()
    await recovered(ready)
  },
  patience,
)

test(
  "/readyz of an idle gateway said 200 as long as another program kept everybody from writing; now 503 after five seconds",
  async () => {
    const { path, chat, ready } = await scene(newFolder())
    const unlock = lock(path)
    expect(await ready()).toBe(200)
    await until(async () => (await ready()) === 503, "the refusal")
    expect((await chat()).status).toBe(503)
    unlock()
    await recovered(ready)
    expect((await chat()).status).toBe(200)
  },
  patience,
)

/** A file system of 80 MiB, where this process may mount one. */
const mounted = (): string | undefined => {
  const folder = mkdtempSync(join(tmpdir(), "headgate-disk-"))
  const { success } = Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=80m", "tmpfs", folder], { stderr: "ignore" })
  closing.push(() => {
    if (success) Bun.spawnSync(["umount", "-l", folder])
    rmSync(folder, { recursive: true, force: true })
  })
  return success ? folder : undefined
}

/** Fills the disk to the last byte. */
const fill = (file: string): void => {
  const handle = openSync(file, "w")
  try {
    for (let size = 1024 * 1024; size >= 1; size = Math.floor(size / 2)) {
      try {
        while (writeSync(handle, new Uint8Array(size)) === size);
      } catch {
        // Full: smaller pieces may still fit.
      }
    }
  } finally {
    closeSync(handle)
  }
}

test(
  "a full disk: what runs is booked, new requests are refused, and space brings them back (skipped where nothing can be mounted)",
  async () => {
    const folder = mounted()
    if (folder === undefined) return
    const { path, account, host, chat, ready, shut, open } = await scene(folder)
    expect(existsSync(`${path}.ballast`)).toBe(true)
    shut()
    const running = Array.from({ length: 20 }, (_, at) => chat({ stream: at % 2 === 0 }))
    await until(() => host.calls.length === 20, "the calls")
    const filler = join(folder, "filler")
    fill(filler)
    open()
    for (const [at, response] of (await Promise.all(running)).entries()) {
      expect(response.status).toBe(200)
      const text = await response.text()
      const end = at % 2 === 0 ? finishesOf(readStrictly(text).events)[0] : JSON.parse(text)
      expect(end).toMatchObject({ usage: { cost: 0.00002 } })
    }
    expect(await account.total()).toBe(20n * cost)
    expect(existsSync(`${path}.ballast`)).toBe(false)

    await until(async () => (await ready()) === 503, "the refusal")
    expect((await chat()).status).toBe(503)
    expect(host.calls).toHaveLength(20)

    rmSync(filler)
    await recovered(ready)
    expect((await chat()).status).toBe(200)
    expect(existsSync(`${path}.ballast`)).toBe(true)
    expect(await account.total()).toBe(21n * cost)
  },
  patience,
)

test(
  "a disk that was full in the middle of a large write: the file was said to be removed, replaced or damaged (skipped where nothing can be mounted)",
  async () => {
    const folder = mounted()
    if (folder === undefined) return
    const { account, chat, keptChat, ready, readyText, log } = await scene(folder)
    const before = await keptChat("first", { max_tokens: maxOfLarge })
    expect([before.status, (await before.text()).length > large.length]).toEqual([200, true])
    expect(await ready()).toBe(200)
    const filler = join(folder, "filler")
    fill(filler)
    truncateSync(filler, statSync(filler).size - 2 * 1024 * 1024)
    // It fits into the journal, which is as long as the first one's, and not into the file.
    const during = await keptChat("second", { max_tokens: maxOfLarge })
    expect([during.status, (await during.text()).length > large.length]).toEqual([200, true])
    expect(await readyText()).not.toContain("removed")
    expect((await chat()).status).toBe(200)
    expect(await readyText()).not.toContain("removed")
    expect(log.texts.filter((line) => line.startsWith("ERROR") || line.includes("defect"))).toEqual([])
    rmSync(filler)
    await recovered(ready)
    expect((await chat()).status).toBe(200)
    expect(await account.total()).toBe(4n * cost)
  },
  patience,
)

test(
  "a request under an Idempotency-Key that fails could not be cloned for the thread of the file; now it is carried out again",
  async () => {
    const { host, keptChat, log } = await scene(newFolder())
    expect((await keptChat("again", { max_tokens: maxOfFailing })).status).toBe(502)
    const calls = host.calls.length
    expect((await keptChat("again", { max_tokens: maxOfFailing })).status).toBe(502)
    expect(host.calls.length).toBeGreaterThan(calls)
    expect(log.texts.filter((line) => line.includes("defect"))).toEqual([])
  },
  patience,
)

const again = "INFO the database takes requests again"
const free = `${again}: its disk has free space`

test(
  "a full disk is logged once with cause, path and free bytes, /readyz says why, and its end is logged once (skipped where nothing can be mounted)",
  async () => {
    const folder = mounted()
    if (folder === undefined) return
    const { path, host, chat, ready, readyText, shut, open, log } = await scene(folder)
    shut()
    const running = chat()
    await until(() => host.calls.length === 1, "the call")
    const filler = join(folder, "filler")
    fill(filler)
    open()
    expect((await running).status).toBe(200)
    await until(async () => (await ready()) === 503, "the refusal")
    for (let tries = 0; tries < 5; tries++) expect((await chat()).status).toBe(503)
    expect(await readyText()).toContain("the disk of the database is full")
    // For longer than it takes to look again.
    await Bun.sleep(2500)
    rmSync(filler)
    await recovered(ready)
    await until(() => log.lines.includes(free), "the end")
    const [error, ...more] = log.texts.filter((line) => !line.startsWith("INFO"))
    expect(more).toEqual([])
    expect(error).toStartWith("ERROR no paid request starts: the disk of the database is full")
    expect(error).toContain(`"path":"${path}"`)
    expect(error).toMatch(/"because":"[^"]+".*"free_bytes":\d+/)
    expect(log.lines.filter((line) => line === free)).toHaveLength(1)
    expect(log.texts.find((line) => line.startsWith(free))).toMatch(/"lasted_s":[\d.]+/)
  },
  patience,
)

test(
  "a file that another program keeps locked is logged once, and so is the end of that",
  async () => {
    const { path, chat, ready, readyText, log } = await scene(newFolder())
    const unlock = lock(path)
    expect((await chat()).status).toBe(503)
    expect(await readyText()).toContain("the database does not answer")
    for (let tries = 0; tries < 5; tries++) expect((await chat()).status).toBe(503)
    // Its row is tried again meanwhile, and fails again.
    await Bun.sleep(6500)
    unlock()
    await recovered(ready)
    await until(() => log.lines.includes(again), "the end")
    // Records of the refused requests wait for the database as well.
    const told = log.texts.filter((line) => !line.startsWith("INFO") && !line.includes("records of requests"))
    // Which is seen first, the database's own word or a row that waits for it, is the machine's doing.
    const why = "(?:database is locked|a row has waited for more than five seconds)"
    expect(told).toEqual([
      expect.stringMatching(new RegExp(`^ERROR The database is not available: ${why} .*"free_bytes":\\d+`)),
    ])
    expect(log.lines.filter((line) => line === again)).toHaveLength(1)
  },
  patience,
)

/** Runs as another program: this one would lose its locks on a file that it opens and closes outside SQLite. */
const elsewhere = (code: string): void => {
  const text = `import { Database } from "bun:sqlite"\nimport fs from "node:fs"\n${code}`
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, "-e", text])
  expect([exitCode, stderr.toString()]).toEqual([0, ""])
}

/** What another program does to the file at `path`. */
const gone: ReadonlyArray<readonly [string, string]> = [
  ["removed", "fs.rmSync(path)"],
  ["moved away", 'fs.renameSync(path, path + ".moved")'],
  ["replaced by a copy of itself", 'fs.copyFileSync(path, path + ".copy"); fs.renameSync(path + ".copy", path)'],
  ["emptied", "fs.truncateSync(path, 0)"],
  ["cut off", "fs.truncateSync(path, 8192)"],
  ["overwritten at its beginning", 'fs.writeFileSync(path, "notes", { flag: "r+" })'],
  ["robbed of its journal", 'fs.rmSync(path + "-wal")'],
]

test.each(gone)(
  "a file that is %s while the gateway runs: nobody noticed; now no paid request starts, and it is logged once",
  async (_, harm) => {
    const { path, host, chat, ready, readyText, log } = await scene(newFolder())
    expect((await chat()).status).toBe(200)
    // What is only in the journal yet cannot be cut off the file.
    const other = new Database(path)
    other.run("PRAGMA wal_checkpoint")
    other.close()
    expect(await ready()).toBe(200)
    elsewhere(`const path = ${JSON.stringify(path)}\n${harm}`)
    expect(await readyText()).toContain("the file of the database was removed, replaced or damaged")
    for (let tries = 0; tries < 3; tries++) expect((await chat()).status).toBe(503)
    expect(host.calls).toHaveLength(1)
    expect(log.texts.filter((line) => line.startsWith("ERROR"))).toEqual([
      expect.stringMatching(
        /^ERROR no paid request starts: the file of the database was removed.*"because":".*headgate\.db/,
      ),
    ])
  },
  patience,
)

test(
  "a file that another program makes smaller by VACUUM is not taken for one that was cut off",
  async () => {
    const { path, chat, ready } = await scene(newFolder())
    elsewhere(`const db = new Database(${JSON.stringify(path)})
      db.run("CREATE TABLE big (a)")
      db.run("INSERT INTO big VALUES (zeroblob(4000000))")
      db.run("PRAGMA wal_checkpoint")
      db.close()`)
    expect(await ready()).toBe(200)
    const before = statSync(path).size
    elsewhere(`const db = new Database(${JSON.stringify(path)})
      db.run("DROP TABLE big")
      db.run("VACUUM")
      db.run("PRAGMA wal_checkpoint")
      db.close()`)
    expect(statSync(path).size).toBeLessThan(before - 4_000_000)
    expect(await ready()).toBe(200)
    expect((await chat()).status).toBe(200)
    expect(await ready()).toBe(200)
  },
  patience,
)

test(
  "a file that was moved away is found by the next request that is paid, and is taken again when it is back",
  async () => {
    const { path, chat, ready } = await scene(newFolder())
    expect((await chat()).status).toBe(200)
    renameSync(path, `${path}.moved`)
    await until(async () => (await chat()).status === 503, "the refusal")
    renameSync(`${path}.moved`, path)
    await recovered(ready)
    expect((await chat()).status).toBe(200)
  },
  patience,
)
