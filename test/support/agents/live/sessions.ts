/** The sessions that agents are tried with. */
import { join } from "node:path"
import type { LiveScene, Step } from "./liveScene.ts"
import { type LiveHost, liveHosts } from "./orderedHosts.ts"
import { inPlace, type Place, type Program, ranProgram } from "./programs.ts"

export const sessionNames = ["work", "models", "compaction"] as const
export type SessionName = (typeof sessionNames)[number]

/** A run of an agent: which host has its model, and what that says. */
interface Run {
  readonly host: LiveHost
  readonly steps: ReadonlyArray<Step>
}

const written = "Written by the agent."
const task = "Read hello.txt and more.txt, then write out.txt."

/** The host thinks before and after it speaks, and between two calls of one answer. */
const runsOf = (name: SessionName, program: Program, host: LiveHost, { project }: Place): ReadonlyArray<Run> => {
  const again = program.thinksFirst ? [] : (["thought"] as const)
  const reads = (file: string) => ({ call: program.reads(join(project, file)) })
  const look = (prompt?: number): Step => ({
    parts: ["thought", { text: "I shall look." }, ...again, reads("hello.txt")],
    ...(prompt === undefined ? {} : { prompt }),
  })
  const write: Step = {
    parts: ["thought", reads("more.txt"), ...again, { call: program.writes(join(project, "out.txt"), written) }],
  }
  const end: Step = { parts: ["thought", { text: "That is done." }] }
  const after = (places: number): LiveHost => {
    const at = liveHosts.indexOf(host) + places
    return liveHosts[at % liveHosts.length] ?? host
  }
  switch (name) {
    case "work":
      return [{ host, steps: [look(), write, end] }]
    case "models":
      return [
        { host, steps: [look(), end] },
        { host: after(1), steps: [look(), end] },
        { host: after(2), steps: [look(), end] },
        { host, steps: [look(), write, end] },
      ]
    case "compaction":
      return [{ host, steps: [look(185_000), write, end] }]
  }
}

/** What went wrong. Empty: the file was written, nothing was refused, and each host got back what it had said. */
export const playLive = async (
  scene: LiveScene,
  folder: string,
  program: Program,
  name: SessionName,
  host: LiveHost,
): Promise<ReadonlyArray<string>> =>
  inPlace(program, scene, async (place) => {
    await Bun.write(join(place.project, "hello.txt"), "Hello.")
    await Bun.write(join(place.project, "more.txt"), "More.")
    scene.start({ keeps: program.keeps, isSummary: program.isSummary ?? (() => false) })
    for (const [number, { host: model, steps }] of runsOf(name, program, host, place).entries()) {
      scene.play(steps)
      const { code, said } = await ranProgram(folder, program, place, { model, prompt: task, isResumed: number > 0 })
      const refused = scene.passed.filter(({ status }) => status >= 400)
      const wrong = [
        ...(code === 0 ? [] : [code === null ? "took too long" : `exit code ${code}`]),
        ...scene.wrong(),
        ...refused.map(({ method, path, status, error }) => `${method} ${path}: ${status} ${error.slice(0, 300)}`),
      ]
      if (wrong.length > 0) return [...wrong.map((one) => `run ${number + 1}: ${one}`), said.slice(-400).trim()]
    }
    const file = Bun.file(join(place.project, "out.txt"))
    const text = (await file.exists()) ? await file.text() : "nothing"
    return [
      ...(text.trim() === written ? [] : [`out.txt has ${text}`]),
      ...(name === "compaction" && scene.summaries() === 0 ? ["no summary was asked for"] : []),
    ]
  })
