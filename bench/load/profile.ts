/** Reads a `.cpuprofile` of Bun and says in which functions the JavaScript thread was seen. */

import { table } from "./report.ts"
import { root } from "./roles.ts"

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
export const profileReport = async (path: string, lines: number): Promise<string> => {
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
  /** File and line; what is built into Bun has none, and stands where it was called from. */
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
