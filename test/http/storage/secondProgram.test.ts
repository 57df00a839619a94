/** Another program opens the database of a gateway that runs, reads or locks it, and closes it. docs/guarantees.md#g38 */
import { Database } from "bun:sqlite"
import { afterEach, expect, test } from "bun:test"
import { existsSync, readFileSync, statSync } from "node:fs"
import { until } from "../../support/clocks/until.ts"
import { firstKey, install, type RunningGateway } from "../../support/gateways/process.ts"
import { configFor, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"

const closing: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const patience = 1_800_000

/** Another program: it is given the database as `db`, open, and as `open`, and ends when its input does. */
const program = (path: string, code: string) => {
  const text = `import { Database } from "bun:sqlite"
const open = () => new Database(${JSON.stringify(path)})
${code}`
  const child = Bun.spawn([process.execPath, "-e", text], { stdin: "pipe", stdout: "pipe", stderr: "inherit" })
  closing.push(() => child.kill())
  return child
}

/** A gateway in a process of its own, and callers who remember what they were told. */
const scene = async () => {
  const host = scriptedHost(() => wholeAnswer("hello"))
  closing.push(host.stop)
  const installation = install()
  closing.push(installation.remove)
  let gateway = installation.start({
    config: configFor({ acme: host }, { discovery: { environment: false, local: false } }),
  })
  let url = await gateway.url()
  await until(() => firstKey(gateway.out()) !== "", "the key")
  const key = firstKey(gateway.out())
  const management = /management key\s+(\S+)/.exec(gateway.out())?.[1] ?? ""
  /** Picodollars that callers were told. */
  let told = 0n
  const chat = async (): Promise<number> => {
    const response = await fetch(`${url}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "acme/small", max_tokens: 10, messages: [{ role: "user", content: "hi" }] }),
    })
    const answer: unknown = await response.json()
    // The form of the answer is tested elsewhere.
    if (response.status === 200) told += BigInt(Math.round((answer as { usage: { cost: number } }).usage.cost * 1e12))
    return response.status
  }
  const ready = async () => (await fetch(url.replace("/api/v1", "/readyz"))).status
  return {
    path: installation.database,
    command: installation.command,
    get pid() {
      return gateway.pid
    },
    url: () => url,
    management,
    chat,
    /** Each time the gateway looks at its files. */
    ready,
    /** Requests one after another, until the returned function is called: their statuses. */
    load: () => {
      const statuses: Array<number> = []
      let isOn = true
      const callers = Array.from({ length: 4 }, async () => {
        while (isOn) statuses.push(await chat())
      })
      return async () => {
        isOn = false
        await Promise.all(callers)
        return statuses
      }
    },
    /** Kills the gateway and starts it again: then callers were told what is in the ledger, and it serves. */
    expectNothingLost: async () => {
      gateway.kill("SIGKILL")
      await gateway.exited
      gateway = installation.start()
      url = await gateway.url()
      expect(ledgerOf(installation.database)).toBe(told)
      expect(await chat()).toBe(200)
      expect(ledgerOf(installation.database)).toBe(told)
    },
    errors: () => errorsOf(gateway),
  }
}

const errorsOf = (gateway: RunningGateway) =>
  gateway
    .err()
    .split("\n")
    .filter((line) => line.includes("level=error"))

/** What all keys were charged. */
const ledgerOf = (path: string): bigint => {
  const db = new Database(path, { readonly: true, safeIntegers: true })
  try {
    return db.query<{ cost: bigint }, []>("SELECT COALESCE(SUM(cost), 0) AS cost FROM ledger").get()?.cost ?? -1n
  } finally {
    db.close()
  }
}

/**
 * Reads, and closes as programs with older versions of SQLite do, such as Python: the last one to close a database removes its journal, and
 * whether it is the last it finds out by an exclusive lock.
 */
const closesAsIfAlone = `
  const reader = open()
  reader.query("SELECT COUNT(*) FROM sqlite_schema").get()
  reader.close()
  const last = open()
  last.run("PRAGMA locking_mode = EXCLUSIVE")
  try {
    last.query("SELECT COUNT(*) FROM sqlite_schema").get()
  } catch {
    // It is not alone.
  }
  last.close()`

test(
  "another program that opens, reads and closes the file 100 times removed its journal; now nothing is lost and the gateway serves on",
  async () => {
    const { path, chat, ready, load, errors, expectNothingLost } = await scene()
    expect(await chat()).toBe(200)
    const end = load()
    for (let round = 0; round < 5; round++) {
      expect(await ready()).toBe(200)
      const reader = program(path, `for (let time = 0; time < 20; time++) { ${closesAsIfAlone} }`)
      expect(await reader.exited).toBe(0)
      expect(existsSync(`${path}-wal`)).toBe(true)
    }
    expect(await ready()).toBe(200)
    const statuses = await end()
    expect(new Set(statuses)).toEqual(new Set([200]))
    expect(errors()).toEqual([])
    await expectNothingLost()
  },
  patience,
)

/** Whether the process has a lock on the file. */
const holds = (pid: number, file: string): boolean => {
  const { ino } = statSync(file)
  return readFileSync("/proc/locks", "utf8")
    .split("\n")
    .some((line) => line.includes(` ${pid} `) && line.includes(`:${ino} `))
}

test.skipIf(!existsSync("/proc/locks"))(
  "the locks of the gateway are in /proc/locks after each look, backup, probe and reload",
  async () => {
    const { path, pid, url, management, chat, ready, command } = await scene()
    const files = [path, `${path}-shm`, `${path}.lock`]
    const expectLocks = (after: string) =>
      expect([after, ...files.filter((file) => !holds(pid, file))]).toEqual([after])
    expectLocks("the start")
    expect(await chat()).toBe(200)
    expectLocks("a request")
    for (let time = 0; time < 3; time++) {
      expect(await ready()).toBe(200)
      expectLocks("a look")
    }
    const headers = { authorization: `Bearer ${management}` }
    const backup = await fetch(`${url()}/backup`, { headers })
    expect(backup.status).toBe(200)
    expect((await backup.bytes()).length).toBeGreaterThan(4096)
    expectLocks("a backup")
    for (const words of [["check"], ["spend"]]) {
      await command(words)
      expectLocks(words.join(" "))
    }
    const reload = await fetch(`${url()}/config/reload`, { method: "POST", headers })
    expect(reload.status).toBe(200)
    expectLocks("a reload")
    expect(await ready()).toBe(200)
    expectLocks("the last look")
  },
  patience,
)

test(
  "another program that locks the file for longer than five seconds: 503 meanwhile, then the gateway serves on, and nothing is lost",
  async () => {
    const { path, chat, ready, expectNothingLost } = await scene()
    expect(await chat()).toBe(200)
    expect(await ready()).toBe(200)
    const locker = program(
      path,
      `const db = open()
      db.run("BEGIN EXCLUSIVE")
      console.log("locked")
      for await (const _ of console) break
      db.run("ROLLBACK")
      db.close()
      ${closesAsIfAlone}`,
    )
    const { value } = await locker.stdout.getReader().read()
    expect(new TextDecoder().decode(value)).toBe("locked\n")
    expect(await chat()).toBe(503)
    expect(await ready()).toBe(503)
    locker.stdin.write("\n")
    locker.stdin.end()
    expect(await locker.exited).toBe(0)
    await until(async () => (await ready()) === 200, "the recovery")
    expect(existsSync(`${path}-wal`)).toBe(true)
    expect(await chat()).toBe(200)
    await expectNothingLost()
  },
  patience,
)
