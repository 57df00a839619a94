/** What tables do with their rows, and what addresses and numbers look like. */
import { expect, test } from "bun:test"
import { changed, hrefIn, matched, pathBelow } from "../../console/lib/address.ts"
import { csv } from "../../console/lib/csv.ts"
import { seen } from "../../console/lib/names.ts"
import { bytes, count, counted, duration, share, shortCount } from "../../console/lib/numbers.ts"
import { inSight, scrollFor, sorted, sortOf, sortText } from "../../console/lib/rows.ts"

test("rows are sorted by numbers, texts and amounts; nothing comes last in both directions, and equal rows keep their order", () => {
  const rows = [
    { n: 10, t: "b2" },
    { n: 9, t: "B10" },
    { n: null, t: "a" },
    { n: 10, t: null },
  ]
  const by = (pick: (row: (typeof rows)[number]) => string | number | null, isDescending: boolean) =>
    sorted(rows, pick, isDescending).map((row) => rows.indexOf(row))
  expect(by(({ n }) => n, false)).toEqual([1, 0, 3, 2])
  expect(by(({ n }) => n, true)).toEqual([0, 3, 1, 2])
  expect(by(({ t }) => t, false)).toEqual([2, 0, 1, 3])
  expect(by(({ t }) => t, true)).toEqual([1, 0, 2, 3])
  expect(sorted([5n, 10n ** 20n, 7n], (amount) => amount, true)).toEqual([10n ** 20n, 7n, 5n])
})

test("an order as it stands in an address", () => {
  expect(sortOf("-usage")).toEqual({ column: "usage", isDescending: true })
  expect([sortOf(null), sortOf(""), sortOf("-")]).toEqual([null, null, null])
  expect(["usage", "-usage"].map((text) => sortText(sortOf(text) ?? { column: "", isDescending: false }))).toEqual([
    "usage",
    "-usage",
  ])
})

test("of 100,000 rows some dozens are drawn, wherever one has scrolled to", () => {
  for (let at = 0; at <= 100_000; at += 997) {
    const { first, end } = inSight(100_000, 36, at * 36, 700)
    expect(first <= at && end >= Math.min(100_000, at + 20) && end - first <= 46).toBe(true)
  }
  expect(inSight(0, 36, 0, 700)).toEqual({ first: 0, end: 0 })
  expect(inSight(3, 36, 0, 700)).toEqual({ first: 0, end: 3 })
})

test("the keyboard scrolls no further than it has to", () => {
  expect(scrollFor(5, 36, 0, 700, 36)).toBe(0)
  expect(scrollFor(30, 36, 0, 700, 36)).toBe(30 * 36 + 72 - 700)
  expect(scrollFor(2, 36, 400, 700, 36)).toBe(72)
})

test("CSV quotes what it has to, and lets no text become a formula", () => {
  expect(
    csv(
      ["a", "b"],
      [
        ["x,y", 'say "hi"'],
        ["=1+1", "-0.5"],
        ["@x", null],
        ["\uff1d1+1", "\n=1+1"],
        [12n, "line\nline"],
      ],
    ),
  ).toBe('a,b\r\n"x,y","say ""hi"""\r\n\'=1+1,-0.5\r\n\'@x,\r\n\'\uff1d1+1,"\'\n=1+1"\r\n12,"line\nline"\r\n')
})

test("addresses of views", () => {
  expect(hrefIn("/console", "/", {})).toBe("/console")
  expect(hrefIn("/p/console", "/requests", { model: "a/b c", host: null, app: "", from: undefined, limit: 5 })).toBe(
    "/p/console/requests?model=a%2Fb+c&limit=5",
  )
  expect(changed(new URLSearchParams("a=1&b=2"), { a: null, c: 3 }).toString()).toBe("b=2&c=3")
  expect(["/console", "/console/", "/console/keys/"].map((path) => pathBelow("/console", path))).toEqual([
    "/",
    "/",
    "/keys",
  ])
})

test.each([
  ["/keys/:hash", "/keys/abc", { hash: "abc" }],
  ["/keys/:hash", "/keys", null],
  ["/keys/:hash", "/keys/a/b", null],
  ["/models/:model*", "/models/acme/a%20b", { model: "acme/a b" }],
  ["/models/:model*", "/models/%3Cimg%3E", { model: "<img>" }],
  ["/requests/:id", "/requests/%E0%A4%A", null],
  ["/", "/", {}],
])("%s takes %s as %p", (pattern, path, names) => {
  expect(matched(pattern, path)).toEqual(names)
})

test("numbers with their units", () => {
  expect([count(1_234_567), shortCount(9999), shortCount(12_345), shortCount(1.2e9)]).toEqual([
    "1,234,567",
    "9,999",
    "12.3 k",
    "1.20 G",
  ])
  expect([0, 0.81, 812.4, 1240, 61_000, 3_725_000, 86_400_000 * 3].map(duration)).toEqual([
    "0 ms",
    "0.8 ms",
    "812 ms",
    "1.24 s",
    "1 min 1 s",
    "1 h 2 min",
    "3 days",
  ])
  expect([0, 0.0004, 0.0123, 0.5].map(share)).toEqual(["0 %", "< 0.1 %", "1.2 %", "50 %"])
  expect([0, 1023, 1536, 2 ** 40].map(bytes)).toEqual(["0 B", "1023 B", "1.5 KiB", "1.0 TiB"])
  expect([counted(1, "key"), counted(2000, "key")]).toEqual(["1 key", "2,000 keys"])
})

test("a name that shows nothing is told by something else", () => {
  for (const name of ["", " ", "\u2028\n\r\t", "\u202e\u2066", "\u200b"])
    expect(seen(name, "sk-gw-abc...xyz")).toBe("sk-gw-abc...xyz")
  for (const name of ["a", "7", "é", "名", "_", "😀", " x"]) expect(seen(name, "sk-gw-abc...xyz")).toBe(name)
})
