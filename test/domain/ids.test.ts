import { expect, test } from "bun:test"
import { generationId, requestId, requestIdAt, requestIds } from "../../src/domain/ids.ts"

const isAscending = (texts: ReadonlyArray<string>): boolean =>
  texts.every((text, at) => at === 0 || (texts[at - 1] ?? "") < text)

test("ids have their documented forms", () => {
  const request = requestId()
  expect(request).toMatch(/^req_[A-Za-z0-9]{24}$/)
  expect(generationId(1_760_000_000, request)).toMatch(/^gen-1760000000-[A-Za-z0-9]{20}$/)
})

/** Ids on a clock of the test: that of the process is not touched. */
const idsAt = (ms: number) => {
  const clock = { ms }
  return Object.assign(clock, { id: requestIds(() => clock.ms) })
}

test("request ids sort by time, also within one millisecond", () => {
  const clock = idsAt(1_900_000_000_000)
  const burst = Array.from({ length: 10_000 }, clock.id)
  clock.ms += 1
  const next = clock.id()
  clock.ms += 86_400_000
  expect(isAscending([...burst, next, clock.id()])).toBe(true)
})

test("a clock that is set back by up to a second does not put later ids before earlier ones", () => {
  const clock = idsAt(1_910_000_000_000)
  const before = clock.id()
  clock.ms -= 1000
  expect(isAscending([before, clock.id(), clock.id()])).toBe(true)
})

test("after a clock that was a year ahead ids told the wrong time until the process ended", () => {
  const clock = idsAt(1_910_000_000_000)
  const ids = [clock.id()]
  for (const ms of [365 * 86_400_000, -365 * 86_400_000, 1000, 1001, -1001]) {
    clock.ms += ms
    const id = clock.id()
    expect([id >= requestIdAt(clock.ms), id < requestIdAt(clock.ms + 1)]).toEqual([true, true])
    ids.push(id)
  }
  expect(new Set(ids).size).toBe(ids.length)
})

test("generation ids sort like their requests", () => {
  const requests = Array.from({ length: 100 }, requestId)
  expect(isAscending(requests.map((request) => generationId(1_760_000_000, request)))).toBe(true)
})

test("the random part does not repeat", () => {
  const tails = Array.from({ length: 5_000 }, () => requestId().slice(-14))
  expect(new Set(tails).size).toBe(tails.length)
  for (let place = 0; place < 14; place++) expect(new Set(tails.map((tail) => tail[place])).size).toBe(62)
})
