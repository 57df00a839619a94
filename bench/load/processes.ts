/** Processes of the bench: started with a clean environment, measured from /proc, ended by their own handle. Linux only. */
import { closeSync, openSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { Subprocess } from "bun"

export interface Thread {
  readonly id: number
  /** What the program named it; several may share one name. */
  readonly name: string
  readonly cpuSeconds: number
}

export interface Child {
  readonly name: string
  readonly pid: number
  /** Milliseconds since just before it was started. */
  readonly ageMs: () => number
  /** Seconds of processor time of all threads since the start; resolution one clock tick, 10 ms. */
  readonly cpuSeconds: () => number
  /** The threads that are alive, exact to nanoseconds. */
  readonly threads: () => ReadonlyArray<Thread>
  /** Bytes of memory that are resident now. */
  readonly rssBytes: () => number
  readonly running: () => boolean
  /** The end of what it wrote. */
  readonly log: () => string
  /** SIGTERM, and SIGKILL for what is still there after ten seconds. */
  readonly stop: () => Promise<void>
}

const clockTicksPerSecond = 100
const live = new Set<Child>()
const loads = new Set<Subprocess>()
let ending = false

/**
 * Nothing of our own environment but path and home: a proxy variable or a provider's key would change what is measured.
 * Without the last variable, Bun's `fetch` runs at most 256 requests at once.
 */
export const cleanEnvironment = (): Record<string, string> => ({
  PATH: process.env["PATH"] ?? "",
  HOME: process.env["HOME"] ?? "/tmp",
  BUN_CONFIG_MAX_HTTP_REQUESTS: "4096",
})

export interface StartOptions {
  readonly name: string
  readonly command: ReadonlyArray<string>
  readonly env?: Readonly<Record<string, string>>
  readonly cwd: string
  /** Where its output goes, `<name>.log`. */
  readonly folder: string
}

export const start = ({ name, command, env, cwd, folder }: StartOptions): Child => {
  if (ending) throw new Error("the bench is being ended")
  const logPath = join(folder, `${name}.log`)
  const log = openSync(logPath, "a")
  const began = performance.now()
  const handle = Bun.spawn([...command], {
    cwd,
    env: { ...cleanEnvironment(), ...env },
    stdin: "ignore",
    stdout: log,
    stderr: log,
  })
  closeSync(log)
  const child: Child = {
    name,
    pid: handle.pid,
    ageMs: () => performance.now() - began,
    cpuSeconds: () => processorSeconds(handle.pid),
    threads: () => threadsOf(handle.pid),
    rssBytes: () => residentBytes(handle.pid),
    running: () => handle.exitCode === null && handle.signalCode === null,
    log: () => readFileSync(logPath, "utf8").slice(-2000),
    stop: async () => {
      live.delete(child)
      handle.kill("SIGTERM")
      const timer = setTimeout(() => handle.kill("SIGKILL"), 10_000)
      await handle.exited
      clearTimeout(timer)
    },
  }
  live.add(child)
  return child
}

/** Ends whatever is still running; nothing can be started afterwards. */
export const stopAll = async (): Promise<void> => {
  ending = true
  for (const load of loads) load.kill("SIGKILL")
  await Promise.all([...live].map((child) => child.stop()))
}

/** Runs a program to its end; gives what it printed. It is killed after `seconds`. */
export const runToEnd = async (command: ReadonlyArray<string>, cwd: string, seconds: number): Promise<string> => {
  if (ending) throw new Error("the bench is being ended")
  const handle = Bun.spawn([...command], {
    cwd,
    env: cleanEnvironment(),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  })
  loads.add(handle)
  const timer = setTimeout(() => handle.kill("SIGKILL"), seconds * 1000)
  const [output, errors, code] = await Promise.all([
    new Response(handle.stdout).text(),
    new Response(handle.stderr).text(),
    handle.exited,
  ])
  clearTimeout(timer)
  loads.delete(handle)
  if (code !== 0) throw new Error(`${command[0]} ended with ${code} (bound: ${seconds} s)\n${output}${errors}`)
  return output
}

/** A port that is free now. */
export const freePort = (): number => {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => {} } })
  const { port } = listener
  listener.stop(true)
  return port
}

/**
 * Calls until `call` finds nothing wrong with the answer; gives the child's age then. Fails, with what was wrong last,
 * when the child ends, or 20 seconds after its start.
 */
export const untilAnswered = async (child: Child, call: () => Promise<string | undefined>): Promise<number> => {
  let wrong: string | undefined = ""
  while (child.running() && child.ageMs() < 20_000) {
    wrong = await call().catch(String)
    if (wrong === undefined) return child.ageMs()
    await Bun.sleep(2)
  }
  const how = child.running() ? "gave no right answer within 20 s" : "ended while starting"
  throw new Error(`${child.name} ${how}; last: ${wrong}\n${child.log()}`)
}

/** The same child, measured with the processes that it has started by now. */
export const withDescendants = (child: Child): Child => {
  const pids = [child.pid, ...descendants(child.pid)]
  return {
    ...child,
    cpuSeconds: () => pids.reduce((sum, pid) => sum + processorSeconds(pid), 0),
    threads: () => pids.flatMap(threadsOf),
    rssBytes: () => pids.reduce((sum, pid) => sum + residentBytes(pid), 0),
  }
}

/** The processes that a process has started, and those that these have. */
export const descendants = (pid: number): ReadonlyArray<number> =>
  readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8")
      .split(" ")
      .filter((child) => child !== "")
      .flatMap((child) => [Number(child), ...descendants(Number(child))]),
  )

// proc(5): fields 14 and 15 are utime and stime of all threads. The name, field 2, may hold spaces and ends with ")".
const processorSeconds = (pid: number): number => {
  const text = readFileSync(`/proc/${pid}/stat`, "utf8")
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
  return (Number(fields[11]) + Number(fields[12])) / clockTicksPerSecond
}

// Threads may end between the listing and the reading.
const threadsOf = (pid: number): ReadonlyArray<Thread> =>
  readdirSync(`/proc/${pid}/task`).flatMap((id) => {
    try {
      const folder = `/proc/${pid}/task/${id}`
      const [nanoseconds] = readFileSync(`${folder}/schedstat`, "utf8").split(" ")
      const name = readFileSync(`${folder}/comm`, "utf8").trim()
      return [{ id: Number(id), name, cpuSeconds: Number(nanoseconds) / 1e9 }]
    } catch {
      return []
    }
  })

const residentBytes = (pid: number): number => {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]
  if (kilobytes === undefined) throw new Error(`no VmRSS for process ${pid}`)
  return Number(kilobytes) * 1024
}
