/** IP addresses and ranges, by their numbers. */
import { describe, expect, test } from "bun:test"
import { IpRanges, parseAddress, readRange } from "../../../src/domain/addresses/ipRange.ts"

describe("an address", () => {
  test.each([
    ["203.0.113.7", "203.0.113.7"],
    ["::ffff:10.0.0.1", "10.0.0.1"],
    ["::FFFF:a00:1", "10.0.0.1"],
    ["0:0:0:0:0:ffff:a00:1", "10.0.0.1"],
    ["2001:DB8:0:0::A", "2001:db8::a"],
    ["fe80::1%eth0", "fe80::1"],
    ["::1", "::1"],
  ])("%s is %s", (written, expected) => {
    expect(parseAddress(written)?.toString()).toBe(expected)
  })

  test.each([
    "",
    "10.0.0",
    "010.0.0.1",
    "256.0.0.1",
    "0x7f.0.0.1",
    "2130706433",
    "10.0.0.1 ",
    "10.0.0.1\n",
    "::ffff:010.0.0.1",
    "::10.0.0.1",
    "1::2::3",
    "1:2:3:4:5:6:7:8:9",
    "12345::",
    "unknown",
    "_hidden",
    "localhost",
    `fe80::1%${"a".repeat(100)}`,
  ])("is not %j", (written) => {
    expect(parseAddress(written)).toBeUndefined()
  })
})

describe("a range", () => {
  test.each<[range: string, inside: ReadonlyArray<string>, outside: ReadonlyArray<string>]>([
    ["10.0.0.0/8", ["10.0.0.0", "10.255.255.255", "::ffff:10.1.2.3"], ["9.255.255.255", "11.0.0.0", "::10", "a00::"]],
    ["10.1.2.3", ["10.1.2.3", "::ffff:a01:203"], ["10.1.2.2", "10.1.2.4"]],
    ["0.0.0.0/0", ["0.0.0.0", "255.255.255.255"], ["::1"]],
    ["::/0", ["::1", "2001:db8::1"], ["10.0.0.1", "::ffff:10.0.0.1"]],
    ["2001:db8::/33", ["2001:db8:7fff::1"], ["2001:db8:8000::1"]],
    ["::ffff:10.0.0.0/104", ["10.255.0.1"], ["11.0.0.1"]],
    ["::ffff:a00:1", ["10.0.0.1"], ["10.0.0.2"]],
    ["2001:DB8::1/128", ["2001:db8::1"], ["2001:db8::2"]],
  ])("%s", (range, inside, outside) => {
    const ranges = new IpRanges([range])
    const has = (text: string) => {
      const address = parseAddress(text)
      return address !== undefined && ranges.has(address)
    }
    expect([inside.filter(has), outside.filter(has)]).toEqual([[...inside], []])
  })

  const noRange = 'expected an IP address or a range such as "10.0.0.0/8" or "2001:db8::/32"'
  test.each([
    ["", noRange],
    ["10.0.0.0/8/8", noRange],
    ["10.0.0.0-10.0.0.9", noRange],
    ["example.com", noRange],
    ["fe80::1%eth0", noRange],
    ["10.0.0.0/33", "expected a prefix of 0 to 32 bits after the slash"],
    ["10.0.0.0/", "expected a prefix of 0 to 32 bits after the slash"],
    ["10.0.0.0/-1", "expected a prefix of 0 to 32 bits after the slash"],
    ["10.0.0.0/255.0.0.0", "expected a prefix of 0 to 32 bits after the slash"],
    ["2001:db8::/129", "expected a prefix of 0 to 128 bits after the slash"],
    ["::ffff:10.0.0.0/8", "expected a prefix of 96 to 128 bits after the slash"],
    [
      "10.1.2.3/8",
      "expected the first address of the range: 10.0.0.0/8 has this one, and 10.1.2.3 alone is written without a slash",
    ],
    [
      "2001:db8::1/32",
      "expected the first address of the range: 2001:db8::/32 has this one, and 2001:db8::1 alone is written without a slash",
    ],
  ])("is not %j, and it is said why", (text, fault) => {
    expect(readRange(text)).toBe(fault)
  })

  test("that is none has no address, also beside others: rows have other authors", () => {
    const ranges = new IpRanges(["nonsense", "10.0.0.0/40", "10.0.0.1"])
    expect(["10.0.0.1", "10.0.0.2"].map((text) => ranges.has(parseAddress(text) ?? expect.unreachable()))).toEqual([
      true,
      false,
    ])
    expect(new IpRanges(["nonsense"]).isEmpty).toBe(true)
  })
})
