import { afterEach, expect, setSystemTime, test } from "bun:test"
import { generationId, requestId } from "../../src/domain/ids.ts"

afterEach(() => setSystemTime())

const isAscending = (texts: ReadonlyArray<string>): boolean =>
  texts.every((text, at) => at === 0 || (texts[at - 1] ?? "") < text)

test("ids have their documented forms", () => {
  const request = requestId()
  expect(request).toMatch(/^req_[A-Za-z0-9]{24}$/)
  expect(generationId(1_760_000_000, request)).toMatch(/^gen-1760000000-[A-Za-z0-9]{20}$/)
})

test("request ids sort by time, also within one millisecond", () => {
  setSystemTime(1_900_000_000_000)
  const burst = Array.from({ length: 10_000 }, requestId)
  setSystemTime(1_900_000_000_001)
  const next = requestId()
  setSystemTime(1_900_086_400_000)
  expect(isAscending([...burst, next, requestId()])).toBe(true)
})

test("a clock that steps back does not put later ids before earlier ones", () => {
  setSystemTime(1_910_000_000_000)
  const before = requestId()
  setSystemTime(1_909_999_000_000)
  expect(isAscending([before, requestId()])).toBe(true)
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
