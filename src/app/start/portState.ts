/** Whether a gateway could listen on its port, and who does if it cannot. */
import { readdir, readFile, readlink } from "node:fs/promises"
import { localUrl } from "../../config/localUrl.ts"
import { probeGateway } from "./probeGateway.ts"

export type PortState =
  | { readonly state: "free" }
  /** `by`: who listens, for people. `isGateway`: it answers as a Headgate does. */
  | { readonly state: "used"; readonly by: string; readonly isGateway: boolean }
  | { readonly state: "unusable"; readonly why: string }

interface Address {
  readonly hostname: string
  readonly port: number
}

/** Listens there for a moment. */
export const portState = async (address: Address): Promise<PortState> => {
  try {
    await Bun.serve({ ...address, fetch: () => new Response(null, { status: 503 }) }).stop(true)
    return { state: "free" }
  } catch (error) {
    const code = error instanceof Error && "code" in error ? String(error.code) : ""
    if (code === "EADDRINUSE") return { state: "used", ...(await userOf(address)) }
    return { state: "unusable", why: reasons[code] ?? (error instanceof Error ? error.message : String(error)) }
  }
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: "this user may not listen there; ports below 1024 are often reserved",
  EADDRNOTAVAIL: "this machine does not have that address",
}

const userOf = async (address: Address) => {
  const [probed, program] = await Promise.all([probeGateway(localUrl(address), "/healthz"), programAt(address.port)])
  const isGateway = probed?.isGateway === true
  return {
    by: `${isGateway ? "a running Headgate" : "another program"}${program === undefined ? "" : ` (${program})`}`,
    isGateway,
  }
}

/** On Linux, where we may look into it: the process that listens on the port, as `pid 123: bun src/main.ts`. */
const programAt = async (port: number): Promise<string | undefined> => {
  const sockets = new Set<string>()
  for (const table of ["/proc/net/tcp", "/proc/net/tcp6"])
    for (const line of (await readFile(table, "utf8").catch(() => "")).split("\n")) {
      const [, local = "", , state, , , , , , inode] = line.trim().split(/\s+/)
      if (state === listening && Number.parseInt(local.split(":")[1] ?? "", 16) === port)
        sockets.add(`socket:[${inode}]`)
    }
  if (sockets.size === 0) return undefined
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name)))
    for (const file of await readdir(`/proc/${pid}/fd`).catch(() => []))
      if (sockets.has(await readlink(`/proc/${pid}/fd/${file}`).catch(() => ""))) {
        const words = (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")).split("\u0000")
        // Later arguments may hold a password.
        return `pid ${pid}: ${words.slice(0, 2).join(" ").trim()}`
      }
  return undefined
}

/** The state in those tables. */
const listening = "0A"
