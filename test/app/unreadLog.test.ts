/** A log that nobody reads: the gateway answers, counts what it drops, and says so once lines are taken again. docs/logs.md#lost */
import { afterAll, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { closeSync, constants, openSync, readSync, writeSync } from "node:fs"
import { join } from "node:path"
import { isJsonObject, type JsonObject } from "../../src/domain/json/json.ts"
import { until } from "../support/clocks/until.ts"
import { firstKey, firstManagementKey, type Installation, install } from "../support/gateways/process.ts"
import { configFor, scriptedHost } from "../support/hosts/host.ts"

const patience = 1_800_000
const closing: Array<() => unknown> = []
afterAll(() => Promise.all(closing.map((close) => close())))

const installed = (): Installation => {
  const installation = install()
  closing.push(installation.remove)
  return installation
}

/** A pipe of the system. What is written into it stays there until it is read; a write into a full one blocks. */
const pipeIn = (folder: string) => {
  const path = join(folder, "log.pipe")
  expect(spawnSync("mkfifo", [path]).status).toBe(0)
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  const stderr = openSync(path, constants.O_WRONLY)
  closing.push(() => {
    closeSync(reader)
    closeSync(stderr)
  })
  const bytes = new Uint8Array(65_536)
  let text = ""
  return {
    stderr,
    /** What was written so far, and stayed unread until it was asked for. */
    read: (): string => {
      try {
        for (let count = -1; count !== 0; ) {
          count = readSync(reader, bytes)
          text += new TextDecoder().decode(bytes.subarray(0, count))
        }
      } catch {
        // It is empty.
      }
      return text
    },
    fill: () => {
      const writer = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
      try {
        for (;;) writeSync(writer, "x\n".repeat(2048))
      } catch {
        closeSync(writer)
      }
    },
  }
}

const linesIn = (text: string): ReadonlyArray<JsonObject> =>
  text
    .split("\n")
    .slice(0, -1)
    .filter((line) => !line.startsWith("headgate: "))
    .map((line) => {
      const parsed: unknown = JSON.parse(line)
      return isJsonObject(parsed) ? parsed : {}
    })

const requests = 4500

test(
  "that is a pipe held every request up once it was full: 4,500 refused ones are answered, and what was lost is told",
  async () => {
    const installation = installed()
    const host = scriptedHost(() => Response.json({ error: { message: "no" } }, { status: 400 }))
    closing.push(host.stop)
    const pipe = pipeIn(installation.folder)
    const gateway = installation.start({
      config: configFor(
        { a: { url: host.url } },
        { discovery: { environment: false, local: false }, server: { access_log: "off" } },
      ),
      env: { HEADGATE_LOG_FORMAT: "json", HEADGATE_LOG_LEVEL: "debug" },
      stderr: pipe.stderr,
    })
    const url = await gateway.url()
    await until(() => gateway.out().includes("curl "), "the keys")
    const ask = async (): Promise<number> => {
      const answer = await fetch(`${url}/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${firstKey(gateway.out())}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "acme/small", messages: [{ role: "user", content: "hello" }] }),
      })
      await answer.arrayBuffer()
      return answer.status
    }
    let refused = 0
    const asking = async () => {
      for (let at = 0; at < requests / 12; at++) if ((await ask()) === 400) refused += 1
    }
    await Promise.all(Array.from({ length: 12 }, asking))
    expect(refused).toBe(requests)

    const figures = await fetch(url.replace("/api/v1", "/metrics"), {
      headers: { authorization: `Bearer ${firstManagementKey(gateway.out())}` },
    })
    const lost = Number(/^headgate_log_lines_lost_total (\d+)$/m.exec(await figures.text())?.[1])
    expect(lost).toBeGreaterThan(0)

    const told = () => linesIn(pipe.read().replace(/[^\n]*$/, "")).filter(({ event }) => event === "log_lines_lost")
    await until(() => told().length > 0, "the line that tells", patience)
    expect(told()).toMatchObject([{ level: "warn", lines: lost }])
    gateway.kill("SIGTERM")
    expect(await gateway.exited).toBe(0)
    const single = linesIn(pipe.read()).filter(({ event }) => event === "request_refused_by_host")
    expect(single).toHaveLength(requests - lost)
  },
  patience,
)

test(
  "that is full from the beginning keeps the process neither from starting nor from ending",
  async () => {
    const installation = installed()
    const pipe = pipeIn(installation.folder)
    pipe.fill()
    const gateway = installation.start({
      config: { discovery: { environment: false, local: false }, server: { access_log: "off" } },
      env: { HEADGATE_PROT: "1" },
      stderr: pipe.stderr,
    })
    await gateway.url()
    gateway.kill("SIGTERM")
    expect(await gateway.exited).toBe(0)
    expect(gateway.out()).toContain("headgate stopped: SIGTERM")
    expect(pipe.read().replaceAll("x\n", "")).toBe("")
  },
  patience,
)
