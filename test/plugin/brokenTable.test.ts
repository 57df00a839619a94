/**
 * What an operator reads of each kind of broken plugin, and whether the gateway serves on: the table of docs/broken-plugins.md. After a
 * change that is meant, `HEADGATE_WRITE_DOCS=1 bun test test/plugin/brokenTable.test.ts` writes it.
 */
import { afterAll, expect, test } from "bun:test"
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { until } from "../support/clocks/until.ts"
import { firstKey, type Installation, install, type RunningGateway } from "../support/gateways/process.ts"
import { ownPluginsFolder } from "../support/hosts/ownPlugins.ts"
import { askedKinds, type Kind, moduleOf, offKinds, processKinds } from "./brokenKinds.ts"

const page = new URL("../../docs/broken-plugins.md", import.meta.url).pathname

/** For processes to start or end, and for the watchdog to notice, on a busy machine. */
const processMs = 550_000

interface Row {
  readonly does: string
  readonly reads: string
  readonly gateway: string
}

const closing: Array<() => unknown> = []
afterAll(async () => {
  for (const close of closing.toReversed()) await close()
})

const folderOf = (installation: Installation, { id }: Kind): string =>
  join(installation.folder, "plugins", "providers", id)

const startWith = (kinds: ReadonlyArray<Kind>) => {
  const installation = install()
  closing.push(installation.remove)
  for (const kind of kinds) {
    mkdirSync(folderOf(installation, kind), { recursive: true })
    writeFileSync(join(folderOf(installation, kind), "index.ts"), moduleOf(kind))
  }
  const gateway = installation.start({
    config: {
      discovery: { environment: false, local: false },
      plugins: { folders: [join(installation.folder, "plugins"), ownPluginsFolder()] },
      server: { drain_s: 5 },
      // Long enough for a busy machine, and what `waits-in-sign` needs.
      limits: { deadline_ms: 8000 },
    },
  })
  return { installation, gateway }
}

/** The status, and of a stream that began the error within; `undefined`: the connection broke. */
const asked = async (url: string, key: string, model: string, stream: boolean): Promise<string> => {
  try {
    const response = await fetch(`${url}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify({ model, stream, max_tokens: 10, messages: [{ role: "user", content: "hi" }] }),
      signal: AbortSignal.timeout(processMs),
    })
    await response.text()
    return String(response.status)
  } catch {
    return "none"
  }
}

/** A value of a line in logfmt. */
const valueIn = (line: string, name: string): string | undefined => {
  const [, quoted, plain] = new RegExp(`(?:^| )${name}=(?:("(?:[^"\\\\]|\\\\.)*")|(\\S+))`).exec(line) ?? []
  return quoted === undefined ? plain : String(JSON.parse(quoted))
}

/** A message that the page shows as `…`. */
const mistake = "a plugin made a mistake"

/** What a line says, without what differs from run to run. `undefined`: it is the line of a request, or of a stack. */
const saidIn = (line: string): string | undefined => {
  if (valueIn(line, "event") === "request") return undefined
  const message = valueIn(line, "message")
  const problem = valueIn(line, "problem")
  if (message !== undefined)
    return problem === undefined ? message : `${message === mistake ? "…" : message}: ${problem}`
  // Before the log begins, and what the runtime itself writes.
  return /^(?:plugin |error: | +at .*plugins\/providers)/.test(line) ? line.trim() : undefined
}

/** The lines of the log about a plugin. */
const linesOf = (text: string, kind: Kind, { folder }: Installation): string => {
  const found = text
    .replaceAll(join(folder, "plugins"), "./plugins")
    .replaceAll(ownPluginsFolder(), "GATEWAY/plugins")
    .split("\n")
    .filter((line) => line.includes(kind.id) || line === `error: ${kind.wording}`)
    .flatMap((line) => saidIn(line) ?? [])
  return [...new Set(found)].map((line) => `\`${line.replaceAll("`", "'").replaceAll("|", "\\|")}\``).join("<br>")
}

const keyOf = async (gateway: RunningGateway): Promise<string> => {
  await until(() => gateway.out().includes("curl "), "the keys", processMs)
  return firstKey(gateway.out())
}

const rowsTogether = async (): Promise<ReadonlyArray<Row>> => {
  const { installation, gateway } = startWith([...offKinds, ...askedKinds])
  const url = await gateway.url()
  const key = await keyOf(gateway)
  const seen: Array<readonly [kind: Kind, gateway: string]> = []
  for (const kind of [...offKinds, ...askedKinds]) {
    if (kind.besides === "removed") rmSync(folderOf(installation, kind), { recursive: true })
    const status = kind.asked && (await asked(url, key, `${kind.id}/m`, kind.asked === "stream"))
    const echo = await asked(url, key, "headgate/echo", false)
    seen.push([kind, `${status ?? "off"}${echo === "200" ? "" : `; others get ${echo}`}`])
  }
  gateway.kill("SIGTERM")
  expect(await gateway.exited).toBe(0)
  expect(gateway.out()).toContain("written by a plugin")
  // Only now, since lines are written when there is time for it.
  return seen.map(([kind, does]) => ({
    does: kind.does,
    reads: linesOf(gateway.err(), kind, installation) || nothing,
    gateway: does,
  }))
}

/** Nothing but the line of the request. */
const nothing = "—"

const rowAlone = async (kind: Kind): Promise<Row> => {
  const { installation, gateway } = startWith([kind])
  const isUp = await gateway.url().then(
    () => true,
    () => false,
  )
  let status: string | undefined
  if (isUp && kind.asked !== undefined) {
    const url = await gateway.url()
    status = await asked(url, await keyOf(gateway), `${kind.id}/m`, false)
  }
  if (isUp && kind.asked === undefined) gateway.kill("SIGTERM")
  const code = await gateway.exited
  const read = linesOf(gateway.err(), kind, installation)
  const end = isUp && kind.asked === undefined ? "serves" : `ends with ${code}`
  return {
    does: kind.does,
    reads: read === "" ? "nothing" : read,
    gateway: `${isUp ? "" : "does not start: "}${end}${status === undefined || status === "none" ? "" : `; ${status}`}`,
  }
}

const tableOf = (rows: ReadonlyArray<Row>): string =>
  [
    "| the plugin | the operator reads | the request, or the gateway |",
    "| --- | --- | --- |",
    ...rows.map(({ does, reads, gateway }) => `| ${does} | ${reads} | ${gateway} |`),
  ].join("\n")

const between = /(<!-- table, made by test\/plugin\/brokenTable\.test\.ts -->\n\n)[\s\S]*?(\n\n<!-- end -->)/

test("the table of broken plugins is what happens", async () => {
  const together = rowsTogether()
  const alone: Array<Row> = []
  for (const kind of processKinds) alone.push(await rowAlone(kind))
  const table = tableOf([...(await together), ...alone])
  const text = readFileSync(page, "utf8")
  if (process.env["HEADGATE_WRITE_DOCS"] === "1")
    writeFileSync(
      page,
      text.replace(between, (_, before: string, after: string) => `${before}${table}${after}`),
    )
  const [, , rows] = /(<!-- table[^\n]*-->\n\n)([\s\S]*?)\n\n<!-- end -->/.exec(readFileSync(page, "utf8")) ?? []
  expect(rows).toBe(table)
  expect(offKinds.length + askedKinds.length + processKinds.length).toBeGreaterThanOrEqual(25)
}, 1_800_000)
