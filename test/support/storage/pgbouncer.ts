/** Debian's `pgbouncer` before the server of the tests. */
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { until } from "../clocks/until.ts"
import { freePort } from "../gateways/freePort.ts"
import { port as serverPort } from "./postgres.ts"
import { password } from "./postgresServer.ts"

/** `undefined`: it is not installed. */
const program = Bun.which("pgbouncer") ?? undefined
export const hasPgbouncer = program !== undefined
if (!hasPgbouncer) console.warn("pgbouncer is not installed, so its tests are skipped: apt-get install pgbouncer")

export interface Pgbouncer {
  readonly port: number
  readonly stop: () => Promise<void>
}

const answers = (port: number): Promise<boolean> => {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect(port, "127.0.0.1", () => {
    resolve(true)
    socket.destroy()
  })
  socket.on("error", () => resolve(false))
  return promise
}

/** `settings`: lines of its section `[pgbouncer]`, such as `pool_mode=transaction`. */
export const startPgbouncer = async (...settings: ReadonlyArray<string>): Promise<Pgbouncer> => {
  if (program === undefined) throw new Error("pgbouncer is not installed")
  const folder = mkdtempSync(join(tmpdir(), "headgate-pgbouncer-"))
  chmodSync(folder, 0o755)
  const port = freePort()
  const ini = join(folder, "pgbouncer.ini")
  const lines = [
    "[databases]",
    `* = host=127.0.0.1 port=${serverPort} user=postgres password=${password}`,
    "[pgbouncer]",
    "listen_addr=127.0.0.1",
    `listen_port=${port}`,
    "unix_socket_dir=",
    "auth_type=any",
    ...settings,
  ]
  writeFileSync(ini, `${lines.join("\n")}\n`)
  // It refuses to run as root.
  const user = process.getuid?.() === 0 ? ["-u", "nobody"] : []
  const child = Bun.spawn([program, ...user, ini], { stdout: "ignore", stderr: "ignore" })
  await until(() => answers(port), "pgbouncer")
  return {
    port,
    stop: async () => {
      child.kill("SIGKILL")
      await child.exited
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
