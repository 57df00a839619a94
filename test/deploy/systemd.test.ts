/** deploy/systemd: held against the code and read by systemd, which cannot start it here. docs/deployment.md#systemd */
import { expect, test } from "bun:test"
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { exitCodeOf } from "../../src/app/start/start.ts"
import { exitCodes } from "../../src/cli/CommandFailed.ts"
import { ConfigInvalid } from "../../src/domain/json/Problem.ts"
import { StorageNotOpened } from "../../src/sql/StorageNotOpened.ts"
import { variables as ofImage, root } from "./dockerfile.ts"
import { configOf, defaults, textOf, unknownVariables } from "./facts.ts"

const unit = textOf("deploy/systemd/headgate.service")
const all = (name: string): ReadonlyArray<string> =>
  [...unit.matchAll(new RegExp(`^${name}=(.*)$`, "gm"))].map(([, value = ""]) => value)
const one = (name: string): string => {
  const [value = "", ...more] = all(name)
  expect([name, more]).toEqual([name, []])
  return value
}

const analyze = Bun.which("systemd-analyze")
if (analyze === null)
  console.warn("deploy/systemd/headgate.service is not read by systemd: there is no systemd-analyze")

test("it starts the program of the package, with the room for calls that the image has", () => {
  const [bun = "", program = "", command] = one("ExecStart").split(" ")
  expect([bun, command]).toEqual(["/usr/local/bin/bun", "serve"])
  expect(existsSync(join(root, program.replace("/opt/headgate/", "")))).toBe(true)
  expect(one("ExecReload")).toBe("/bin/kill -HUP $MAINPID")
  expect(one("Environment")).toBe(`BUN_CONFIG_MAX_HTTP_REQUESTS=${ofImage["BUN_CONFIG_MAX_HTTP_REQUESTS"]}`)
})

test("SIGTERM comes first, and running requests have their time", () => {
  expect([one("KillSignal"), one("KillMode")]).toEqual(["SIGTERM", "mixed"])
  expect(Number(one("TimeoutStopSec"))).toBeGreaterThan(defaults.server.drainSeconds + 10)
})

test("a crash leaves no dump of its memory, which has every key in it", () => {
  expect(one("LimitCORE")).toBe("0")
})

test("it is not started again after what another start does not mend", () => {
  const storage = (reason: StorageNotOpened["reason"]) => exitCodeOf(new StorageNotOpened({ reason, message: "" }))
  const lasting = [
    exitCodes.usage,
    storage("corrupt"),
    storage("newer"),
    storage("unreadable"),
    storage("misconfigured"),
    exitCodeOf(new ConfigInvalid({ problems: [{ path: "", message: "" }] })),
  ]
  const passing = [exitCodeOf(new Error("a plugin")), storage("unreachable"), storage("in-use")]
  const codes = one("RestartPreventExitStatus").split(" ").map(Number)
  expect(codes).toEqual([...new Set(lasting)].toSorted((a, b) => a - b))
  expect(passing.filter((code) => codes.includes(code))).toEqual([])
})

test("its configuration keeps everything in the state folder", async () => {
  const state = join("/var/lib", one("StateDirectory"))
  expect(one("WorkingDirectory")).toBe(state)
  const config = await configOf(JSON.parse(textOf("deploy/systemd/headgate.config.json")))
  expect(config.storage).toEqual({ _tag: "Sqlite", path: join(state, "headgate.db") })
  expect([dirname(config.catalogue.file), config.spoolFolder]).toEqual([state, state])
  const named = [...textOf("deploy/systemd/headgate.env").matchAll(/^#?(\w+)=/gm)].map(([, name = ""]) => name)
  expect(unknownVariables(named)).toEqual([])
  expect(named).toContain("HEADGATE_CONFIG")
})

test.skipIf(analyze === null)("systemd finds no mistake in it, and little that it could still forbid", () => {
  const folder = mkdtempSync(join(tmpdir(), "headgate-unit-"))
  const file = join(folder, "headgate.service")
  // What it starts has to be there.
  writeFileSync(file, unit.replace("/usr/local/bin/bun", process.execPath))
  const verified = Bun.spawnSync(["systemd-analyze", "verify", file])
  expect(verified.stderr.toString()).toBe("")
  expect(verified.exitCode).toBe(0)
  const security = Bun.spawnSync(["systemd-analyze", "security", "--offline=true", "--threshold=20", file])
  expect(security.exitCode).toBe(0)
  rmSync(folder, { recursive: true })
})
