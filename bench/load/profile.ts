/** Where a proxy's processor time goes: by thread, and by function of the JavaScript thread. */
import { join } from "node:path"
import { chunks, type Kind, saturated, spread } from "./loads.ts"
import type { Thread } from "./processes.ts"
import { table } from "./report.ts"
import { type Role, root } from "./roles.ts"

/** Rows of a table of functions. */
const lines = 40

/** One report for non-streaming requests, one for streams. */
export const profile = async (role: Role, folder: string, seconds: number): Promise<string> => {
  const unary = saturated("unary, 60 callers", { model: "bench/brisk", callers: 60, seconds, folder })
  const stream = chunks("chunk, 250 callers", spread("bench/brisk", 250, 2))
  const reports: Array<string> = []
  for (const kind of [unary, stream]) {
    reports.push(`## ${kind.name}`, await threadReport(kind, role), await functionReport(kind, role, folder))
  }
  return reports.join("\n\n")
}

/** Without a profiler, whose own thread would be among them. The first loads warm up. */
const threadReport = async (kind: Kind, role: Role): Promise<string> => {
  const target = await role([])
  for (let load = 0; load < 3; load++) await kind.run(target)
  const before = new Map(target.child.threads().map(({ id, cpuSeconds }) => [id, cpuSeconds]))
  const { cpuMicros } = await kind.run(target)
  const spent = target.child
    .threads()
    .map((thread: Thread) => ({ ...thread, cpuSeconds: thread.cpuSeconds - (before.get(thread.id) ?? 0) }))
    .toSorted((a, b) => b.cpuSeconds - a.cpuSeconds)
  await target.child.stop()
  const total = spent.reduce((sum, { cpuSeconds }) => sum + cpuSeconds, 0)
  const rows = spent
    .filter(({ cpuSeconds }) => cpuSeconds > total / 1000)
    .map(({ id, name, cpuSeconds }) => {
      const share = cpuSeconds / total
      return [name, `${id}`, (share * cpuMicros).toFixed(1), `${(share * 100).toFixed(1)} %`]
    })
  return `${cpuMicros.toFixed(1)} µs each\n\n${table([["thread", "id", "µs each", "share"], ...rows])}`
}

/** Bun writes the profile when the process leaves by itself. */
const functionReport = async (kind: Kind, role: Role, folder: string): Promise<string> => {
  const name = `${kind.name.replace(/\W+/g, "-")}.cpuprofile`
  const target = await role(["--cpu-prof", `--cpu-prof-dir=${folder}`, `--cpu-prof-name=${name}`])
  await kind.run(target)
  await target.child.stop()
  return samplesReport(join(folder, name))
}

interface ProfileNode {
  readonly id: number
  readonly children?: ReadonlyArray<number>
  readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
}

interface Profile {
  readonly nodes: ReadonlyArray<ProfileNode>
  readonly samples: ReadonlyArray<number>
}

/**
 * Samples, not time deltas, are counted: nothing is sampled while no JavaScript runs, and the delta after a pause holds
 * the pause. Fails when there is no profile: the process was killed, or left without running its exit handlers.
 */
const samplesReport = async (path: string): Promise<string> => {
  const profile: Profile = await Bun.file(path).json()
  const callerOf = callers(profile.nodes)
  const byFunction = new Map<string, number>()
  const byPart = new Map<string, number>()
  for (const id of profile.samples) {
    const frame = callerOf.get(id)
    if (frame === undefined) continue
    add(byFunction, `${frame.name}\t${frame.where}`)
    add(byPart, frame.part)
  }
  const total = profile.samples.length
  const share = (count: number) => `${((100 * count) / total).toFixed(1)} %`
  const functions = ranked(byFunction).slice(0, lines)
  return [
    `${total} samples`,
    table([["self", "part"], ...ranked(byPart).map(([part, count]) => [share(count), part])]),
    table([["self", "function", "where"], ...functions.map(([name, count]) => [share(count), ...name.split("\t")])]),
  ].join("\n\n")
}

interface Frame {
  readonly name: string
  /** File and line. A function of Bun itself has none, and shows the line that it was called from. */
  readonly where: string
  readonly part: string
}

const callers = (nodes: ReadonlyArray<ProfileNode>): ReadonlyMap<number, Frame> => {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const parents = new Map(nodes.flatMap((node) => (node.children ?? []).map((child) => [child, node.id] as const)))
  const written = (id: number): string => {
    for (let at: number | undefined = id; at !== undefined; at = parents.get(at)) {
      const frame = byId.get(at)?.callFrame
      if (frame !== undefined && frame.url !== "") return `${shortPath(frame.url)}:${frame.lineNumber + 1}`
    }
    return ""
  }
  return new Map(
    nodes.map(({ id, callFrame }) => {
      const where = written(id)
      const native = callFrame.url === ""
      const from = where === "" ? "native" : `native, from ${where}`
      return [
        id,
        {
          name: callFrame.functionName || "(anonymous)",
          where: native ? from : where,
          part: native ? "Bun itself" : partOf(where.replace(/:\d+$/, "")),
        },
      ]
    }),
  )
}

const add = (counts: Map<string, number>, name: string) => counts.set(name, (counts.get(name) ?? 0) + 1)

const ranked = (counts: ReadonlyMap<string, number>) => [...counts].toSorted(([, a], [, b]) => b - a)

/** Relative to the repository, packages by their name. */
const shortPath = (url: string): string => {
  const path = url.replace(/^file:\/\//, "")
  const inPackage = path.lastIndexOf("/node_modules/")
  if (inPackage !== -1) return path.slice(inPackage + "/node_modules/".length)
  return path.startsWith(`${root}/`) ? path.slice(root.length + 1) : path
}

/** The folder of ours, or the package. */
const partOf = (file: string): string => {
  const [first = "", second = ""] = file.split("/").filter((name) => name !== "")
  return first.startsWith("@") || first === "src" || first === "plugins" ? `${first}/${second}` : first
}
