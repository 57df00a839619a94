/** Lines that are written without waiting for their reader: order, bound, count of what was lost, and the end. */
import { expect, test } from "bun:test"
import { LineWriter } from "../../src/process/log/LineWriter.ts"

/** A reader that takes so many bytes of each write, as the test says. `later`: it answers in a later turn. */
const reader = (later = false) => {
  const state = { takes: Number.POSITIVE_INFINITY, read: "", opened: 0, closed: 0, writes: 0, largest: 0 }
  const writer = new LineWriter(
    () => {
      state.opened += 1
      return {
        write: (bytes, taken) => {
          state.writes += 1
          state.largest = Math.max(state.largest, bytes.length)
          const part = state.takes < 0 ? new Uint8Array() : bytes.subarray(0, Math.min(state.takes, bytes.length))
          const answer = () => {
            state.read += new TextDecoder().decode(part)
            taken(state.takes < 0 ? -1 : part.length)
          }
          if (later) setImmediate(answer)
          else answer()
        },
        close: () => {
          state.closed += 1
        },
      }
    },
    (lines) => `lost=${lines}`,
  )
  return { state, writer, lines: () => state.read.split("\n").slice(0, -1) }
}

const many = (count: number, length = 100) => Array.from({ length: count }, (_, at) => `${at} `.padEnd(length, "x"))

test.each([false, true])(
  "lines come in their order, some at once, none larger than a pipe takes as a whole: %s",
  async (later) => {
    const { state, writer, lines } = reader(later)
    const all = many(500)
    for (const line of all) writer.add(line)
    await writer.end(10_000)
    expect(lines()).toEqual(all)
    expect([state.largest <= 4096, state.writes < 20, state.opened, state.closed, writer.lost]).toEqual([
      true,
      true,
      1,
      1,
      0,
    ])
  },
)

test("lines of one turn are written together, after it", async () => {
  const { state, writer } = reader()
  writer.add("one")
  writer.add("two")
  expect(state.writes).toBe(0)
  await new Promise((resolve) => setImmediate(resolve))
  expect([state.writes, state.read]).toEqual([1, "one\ntwo\n"])
})

test("a reader that takes a few bytes at a time reads each line once", async () => {
  const { state, writer, lines } = reader()
  state.takes = 7
  const all = many(50)
  for (const line of all) writer.add(line)
  await writer.end(10_000)
  expect(lines()).toEqual(all)
})

test("a reader that takes nothing loses what is beyond the bound, and is told how much", async () => {
  const { state, writer, lines } = reader()
  state.takes = 0
  const all = many(20_000)
  for (const line of all) writer.add(line)
  expect(writer.lost).toBeGreaterThan(9000)
  const { lost } = writer
  // Nobody reads within this time either: the end is bounded.
  await writer.end(50)
  expect(state.read).toBe("")
  state.takes = Number.POSITIVE_INFINITY
  await writer.end(10_000)
  expect(lines()).toEqual([...all.slice(0, all.length - lost), `lost=${lost}`])
  expect(writer.lost).toBe(lost)
})

test("a reader that has gone costs its lines alone", async () => {
  const { state, writer, lines } = reader()
  state.takes = -1
  for (const line of many(50)) writer.add(line)
  await writer.end(10_000)
  expect(writer.lost).toBe(50)
  state.takes = Number.POSITIVE_INFINITY
  writer.add("again")
  await writer.end(10_000)
  expect(lines()).toEqual(["again"])
})

test("a line that is longer than what is written at once is whole", async () => {
  const { writer, lines } = reader()
  const long = "y".repeat(50_000)
  for (const line of ["a", long, "b"]) writer.add(line)
  await writer.end(10_000)
  expect(lines()).toEqual(["a", long, "b"])
})
