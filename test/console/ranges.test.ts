/** Spans of time in addresses, and points over them. */
import { expect, test } from "bun:test"
import { change, filled, peakOf } from "../../console/lib/points.ts"
import { before, rangeOf, spanOfPoint, spanParameters, windowsAt } from "../../console/lib/range.ts"
import { fromNow, localMinute, localSecond, utcSecond } from "../../console/lib/time.ts"

const now = new Date("2026-11-25T23:35:17Z")
const asked = (text: string) => {
  const { name, interval, ...span } = rangeOf(new URLSearchParams(text), now)
  return [name, interval, ...Object.values(spanParameters(span)).map((at) => at.slice(0, 16))]
}

test.each([
  ["", "day", "hour", "2026-11-25T00:00", "2026-11-26T00:00"],
  ["range=hour", "hour", "hour", "2026-11-25T23:00", "2026-11-26T00:00"],
  ["range=week", "week", "hour", "2026-11-19T00:00", "2026-11-26T00:00"],
  ["range=month", "month", "day", "2026-10-27T00:00", "2026-11-26T00:00"],
  ["range=toString", "day", "hour", "2026-11-25T00:00", "2026-11-26T00:00"],
  ["from=2026-11-01T10:30:00Z&to=2026-11-02T11:00:00Z", "custom", "hour", "2026-11-01T10:30", "2026-11-02T11:00"],
  ["from=2026-09-01&to=2026-11-02&range=hour", "custom", "day", "2026-09-01T00:00", "2026-11-02T00:00"],
  ["from=2026-11-25T22:00:00Z", "custom", "hour", "2026-11-25T22:00", "2026-11-26T00:00"],
  ["from=yesterday", "day", "hour", "2026-11-25T00:00", "2026-11-26T00:00"],
  ["from=2026-11-02&to=2026-11-01", "day", "hour", "2026-11-25T00:00", "2026-11-26T00:00"],
])("%p is %s by %s, from %s to %s", (text, name, interval, from, to) => {
  expect(asked(text)).toEqual([name, interval, from, to])
})

test.each([
  ["", "2026-11-26T01:00"],
  ["range=hour", "2026-11-26T01:00"],
  ["range=month", "2026-11-27T00:00"],
  ["from=2026-11-25T22:00:00Z", "2026-11-26T01:00"],
])("in the first minute of an hour or a day %p left out the requests of that minute", (text, to) => {
  // Ranges go by whole minutes: at 00:00:40 the page asks at 00:00:00.
  const span = rangeOf(new URLSearchParams(text), new Date("2026-11-26T00:00:00Z"))
  expect(spanParameters(span).to).toBe(`${to}:00.000Z`)
})

test("the time before is as long, and ends where the span begins", () => {
  const span = rangeOf(new URLSearchParams("range=week"), now)
  expect(spanParameters(before(span))).toEqual({ from: "2026-11-12T00:00:00.000Z", to: "2026-11-19T00:00:00.000Z" })
})

test.each([
  ["2026-11-25T23:35:17Z", "2026-11-25", "2026-11-23", "2026-11-01"],
  ["2026-11-01T00:00:00Z", "2026-11-01", "2026-10-26", "2026-11-01"],
  ["2026-11-30T00:00:00Z", "2026-11-30", "2026-11-30", "2026-11-01"],
])("at %s the day began on %s, the week on %s, the month on %s", (at, day, week, month) => {
  const began = windowsAt(new Date(at))
  expect([began.day, began.week, began.month].map((start) => start.toISOString())).toEqual(
    [day, week, month].map((one) => `${one}T00:00:00.000Z`),
  )
})

test("a point stands for its interval, as far as that is within the span", () => {
  const span = { from: new Date("2026-11-25T10:30:00Z"), to: new Date("2026-11-25T12:15:00Z") }
  expect(
    ["10", "11", "12"].map((hour) => spanParameters(spanOfPoint(new Date(`2026-11-25T${hour}:00:00Z`), "hour", span))),
  ).toEqual([
    { from: "2026-11-25T10:30:00.000Z", to: "2026-11-25T11:00:00.000Z" },
    { from: "2026-11-25T11:00:00.000Z", to: "2026-11-25T12:00:00.000Z" },
    { from: "2026-11-25T12:00:00.000Z", to: "2026-11-25T12:15:00.000Z" },
  ])
})

test("intervals without a point are there, and the others have theirs", () => {
  const span = { from: new Date("2026-11-25T10:30:00Z"), to: new Date("2026-11-25T13:00:00Z") }
  const point = { at: "2026-11-25T11:00:00.000Z", requests: 3 }
  expect(filled([point], span, "hour").map(({ at, point: one }) => [at.getUTCHours(), one?.requests ?? null])).toEqual([
    [10, null],
    [11, 3],
    [12, null],
  ])
})

test("days are those of UTC", () => {
  const span = { from: new Date("2026-11-23T00:00:00Z"), to: new Date("2026-11-25T00:00:00Z") }
  expect(filled([], span, "day").map(({ at }) => at.toISOString().slice(0, 10))).toEqual(["2026-11-23", "2026-11-24"])
})

test.each([
  [110n, 100n, "+10\u00a0%"],
  [98n, 100n, "−2.0\u00a0%"],
  [1001n, 1000n, "no change"],
  [5n, 0n, null],
])("from %p to %p it is %p", (after, first, words) => {
  expect(change(after, first)).toBe(words)
})

test("the largest value", () => {
  expect(peakOf([null, 2, 5, 5, null])).toBe(2)
  expect(peakOf([null, 0])).toBeNull()
})

test("times are those of the viewer's zone, with UTC beside them", () => {
  expect(localMinute(now, now, "Asia/Kolkata")).toBe("26 Nov, 05:05")
  expect(localMinute(new Date("2025-03-01T12:00:00Z"), now, "UTC")).toBe("1 Mar 2025, 12:00")
  expect(localSecond(now, "America/New_York")).toBe("25 Nov 2026, 18:35:17")
  expect(utcSecond(now)).toBe("2026-11-25 23:35:17 UTC")
})

test.each([
  [-12, "12 s ago"],
  [-150, "3 min ago"],
  [7200, "in 2 h"],
  [-86_400 * 5, "5 days ago"],
])("%p seconds from now is %s", (seconds, words) => {
  expect(fromNow(new Date(now.getTime() + seconds * 1000), now)).toBe(words)
})
