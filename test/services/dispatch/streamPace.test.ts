/** When a stream is given up because nothing moves. docs/guarantees.md#g14 and #g18 */
import { describe, expect, test } from "bun:test"
import { StreamPace } from "../../../src/services/dispatch/StreamPace.ts"

const limits = { idleMs: 20_000, thinkingIdleMs: 90_000, clientStallMs: 30_000, minBytesPerSecond: 10 }

/** A host that has begun to answer. */
const begun = (more: { readonly hasContent?: boolean; readonly hasAllFinishes?: boolean } = {}) => {
  const stream = { bytes: 0, hasContent: true, hasAllFinishes: false, ...more }
  const pace = new StreamPace(limits, 0)
  pace.hostBegan(0, stream)
  /** With a caller who reads, and writes all the time. */
  const look = (now: number) => {
    pace.wrote(now)
    return pace.look(now, true, stream)
  }
  return { pace, stream, look }
}

describe("a host", () => {
  test.each([
    ["that has said something may be silent for the limit", {}, limits.idleMs],
    ["that thinks, for longer", { hasContent: false }, limits.thinkingIdleMs],
    ["whose choices have all finished, for five seconds", { hasAllFinishes: true }, 5000],
  ])("%s", (_name, state, mostMs) => {
    const { look } = begun(state)
    expect([look(mostMs - 1), look(mostMs)]).toEqual([undefined, "host-stalled"])
  })

  test("that speaks is not silent, and its events are counted", () => {
    const { pace, look } = begun()
    pace.hostSpoke(19_000, 3)
    expect([look(38_999), look(39_000), pace.events]).toEqual([undefined, "host-stalled", 3])
  })

  test.each<readonly [number, "host-stalled" | undefined]>([
    [599, "host-stalled"],
    [600, undefined],
    [0, undefined],
  ])("that sent %d bytes in a minute: %p", (bytes, found) => {
    const { pace, stream, look } = begun()
    stream.bytes = bytes
    pace.hostSpoke(59_999, 1)
    expect(look(59_999)).toBeUndefined()
    expect(look(60_000)).toBe(found)
  })

  test("is measured anew in the next minute", () => {
    const { pace, stream, look } = begun()
    stream.bytes = 1000
    pace.hostSpoke(60_000, 1)
    expect(look(60_000)).toBeUndefined()
    stream.bytes = 1001
    pace.hostSpoke(119_999, 2)
    expect(look(120_000)).toBe("host-stalled")
  })

  test("is not silent while it is not read", () => {
    const { pace, look } = begun()
    pace.callerIsFull(10_000)
    expect([pace.isFull, look(25_000)]).toEqual([true, undefined])
    pace.callerDrained(25_000)
    expect([pace.isFull, look(34_999), look(35_000)]).toEqual([false, undefined, "host-stalled"])
  })
})

describe("a caller", () => {
  test("who takes nothing of what was written is stalled after the limit", () => {
    const { pace, stream } = begun({ hasContent: false })
    pace.look(5000, true, stream)
    pace.wrote(10_000)
    expect(pace.look(39_999, false, stream)).not.toBe("caller-stalled")
    expect(pace.look(40_000, false, stream)).toBe("caller-stalled")
  })

  test("who takes something is not", () => {
    const { pace, stream } = begun({ hasContent: false })
    pace.wrote(0)
    pace.look(29_000, true, stream)
    pace.wrote(29_000)
    expect(pace.look(58_999, false, stream)).not.toBe("caller-stalled")
    expect(pace.look(59_000, false, stream)).toBe("caller-stalled")
  })
})

test("after five seconds without a write it is quiet, also before a host answers", () => {
  const pace = new StreamPace(limits, 0)
  expect([pace.look(4999, true, undefined), pace.look(5000, true, undefined)]).toEqual([undefined, "quiet"])
  pace.wrote(5000)
  expect([pace.look(9999, true, undefined), pace.look(10_000, true, undefined)]).toEqual([undefined, "quiet"])
})

test("it looks once a second, or as often as the shortest limit", () => {
  expect(new StreamPace(limits, 0).tickMs).toBe(1000)
  expect(new StreamPace({ ...limits, idleMs: 50 }, 0).tickMs).toBe(50)
  expect(new StreamPace({ ...limits, clientStallMs: 70 }, 0).tickMs).toBe(70)
})
