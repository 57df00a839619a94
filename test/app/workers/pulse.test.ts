/** What a supervisor makes of the heartbeats of a worker, and of what the system says of it. docs/decisions/0047 */
import { afterEach, expect, test } from "bun:test"
import { readdirSync, readFileSync } from "node:fs"
import { endOf, Pulse } from "../../../src/app/workers/Pulse.ts"
import type { Ended } from "../../../src/app/workers/supervise.ts"
import { until } from "../../support/clocks/until.ts"

const watching = ({ serves = true, drainSeconds = 60, ownTime = (passedMs: number) => passedMs } = {}) => {
  const state: { serves: boolean; stopping: boolean; ended: Ended | undefined } = {
    serves,
    stopping: false,
    ended: undefined,
  }
  const happened: Array<string> = []
  const pulse = new Pulse(
    {
      hasServed: () => state.serves,
      isStopping: () => state.stopping,
      ownTime,
      ended: () => state.ended,
      stuck: (missed) => happened.push(`stuck after ${missed}`),
      unnoticed: ({ code }) => happened.push(`ended with ${code}`),
    },
    drainSeconds,
  )
  const look = (times: number) => {
    for (let time = 0; time < times; time++) pulse.look()
    return happened
  }
  return { state, pulse, look }
}

test("a worker without a heartbeat for 16 looks is given up, once", () => {
  const { look } = watching()
  expect(look(15)).toEqual([])
  expect(look(30)).toEqual(["stuck after 16"])
})

test("a heartbeat, however late, counts for all that were missed", () => {
  const { pulse, look } = watching()
  look(15)
  pulse.beat()
  expect(look(15)).toEqual([])
})

test("one that waits for a processor was given up as stuck: only its own time counts", () => {
  const { look } = watching({ ownTime: (passedMs) => passedMs / 10 })
  expect(look(154)).toEqual([])
  expect(look(10)).toEqual(["stuck after 16"])
})

test("none is expected of one that does not serve yet", () => {
  const { state, look } = watching({ serves: false })
  expect(look(1000)).toEqual([])
  state.serves = true
  expect(look(15)).toEqual([])
  expect(look(1)).toEqual(["stuck after 16"])
})

test.each([
  [60, 16],
  [10, 10],
  [0, 5],
])(
  "one that is asked to stop with a drain of %p s is given up after %p looks, also while it starts",
  (drain, looks) => {
    const { state, look } = watching({ serves: false, drainSeconds: drain })
    state.stopping = true
    expect(look(looks - 1)).toEqual([])
    expect(look(20)).toEqual([`stuck after ${looks}`])
  },
)

test("one that was asked to stop late in its silence is given up at once", () => {
  const { state, look } = watching({ drainSeconds: 5 })
  look(12)
  state.stopping = true
  expect(look(1)).toEqual(["stuck after 13"])
})

test("an end of which no notice comes is noticed all the same, once", () => {
  const { state, look } = watching()
  state.ended = { code: 137, signal: "signal 9" }
  expect(look(1)).toEqual([])
  expect(look(20)).toEqual(["ended with 137"])
})

const started: Array<Bun.Subprocess> = []
afterEach(() => {
  for (const child of started.splice(0)) child.kill("SIGKILL")
})

/** A process that has ended, and whose parent never asks how: so it stays as what the system calls a zombie. */
const unreaped = async (script: string): Promise<number> => {
  const parent = Bun.spawn(["sh", "-c", `sh -c '${script}' & exec sleep 600`])
  started.push(parent)
  const child = () =>
    readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .find((pid) => {
        try {
          const stat = readFileSync(`/proc/${pid}/stat`, "utf8")
          const [state, of] = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
          return state === "Z" && Number(of) === parent.pid
        } catch {
          return false
        }
      })
  await until(() => child() !== undefined, "a process that has ended")
  return child() ?? 0
}

test.skipIf(process.platform !== "linux").each([
  ["exit 70", { code: 70, signal: null }],
  ["kill -9 $$", { code: 137, signal: "signal 9" }],
])("how a process has ended is known though nobody was told: %s", async (script, ended) => {
  expect(endOf(await unreaped(script))).toEqual(ended)
})

test("a process that runs has not ended; one that is gone has", async () => {
  const child = Bun.spawn(["sleep", "600"])
  started.push(child)
  expect(endOf(child.pid)).toBeUndefined()
  child.kill("SIGKILL")
  await child.exited
  await until(() => endOf(child.pid) !== undefined, "its end")
})
