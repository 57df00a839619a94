/** A long whole answer is written piece by piece, no faster than its caller reads. docs/guarantees.md#g23 */
import { expect, test } from "bun:test"
import { LongAnswer } from "../../src/http/data/LongAnswer.ts"
import { queuedOutput } from "../../src/services/dispatch/StreamOutput.ts"
import type { EndFailure } from "../../src/services/request/ServedRequest.ts"
import { turns } from "../support/clocks/services.ts"

const gone = { _tag: "CallerGone" }

const scene = (body: ConstructorParameters<typeof LongAnswer>[0]) => {
  let fire = () => {}
  const ends: Array<readonly [EndFailure | undefined, number]> = []
  const defects: Array<unknown> = []
  const timers = {
    now: () => 0,
    set: (_: number, run: () => void) => {
      fire = run
      return { restart: () => {}, clear: () => {} }
    },
  }
  const answer = new LongAnswer(body, {
    timers,
    open: queuedOutput,
    stallMs: 60_000,
    onClosed: (failure, bytes) => ends.push([failure, bytes]),
    onDefect: (cause) => defects.push(cause),
  })
  return { answer, ends, defects, stall: () => fire() }
}

test("a text comes whole, whatever characters stand where it is cut, and its end is told once", async () => {
  const text = `x${"😀é".repeat(600_000)}`
  const { answer, ends } = scene(text)
  expect(await new Response(answer.body).text()).toBe(text)
  expect(ends).toEqual([[undefined, Buffer.byteLength(text)]])
})

test("pieces are made as the caller takes them, and no more of them when it has left", async () => {
  let made = 0
  const pieces = function* () {
    for (; made < 100; made++) yield "x".repeat(262_144)
  }
  const { answer, ends } = scene({ pieces: pieces() })
  await turns(20)
  const ahead = made
  expect(ahead).toBeLessThan(3)
  const reader = answer.body.getReader()
  await reader.read()
  await turns(20)
  expect(made).toBeLessThan(ahead + 3)
  await reader.cancel()
  await turns(20)
  expect(made).toBeLessThan(ahead + 3)
  expect(ends).toMatchObject([[gone, expect.any(Number)]])
})

test("a caller who takes nothing is cut", async () => {
  const { answer, ends, stall } = scene("x".repeat(4_000_000))
  await turns(20)
  stall()
  expect(ends).toMatchObject([[gone, expect.any(Number)]])
  await expect(new Response(answer.body).text()).rejects.toThrow("took no bytes")
})

test("a piece that cannot be made was told as a client that left: it is a defect, and logged", async () => {
  const pieces = function* () {
    yield "x"
    throw new Error("no more")
  }
  const { answer, ends, defects } = scene({ pieces: pieces() })
  await expect(new Response(answer.body).text()).rejects.toThrow()
  expect(defects.map(String)).toEqual(["Error: no more"])
  expect(ends).toMatchObject([["defect", 1]])
})
