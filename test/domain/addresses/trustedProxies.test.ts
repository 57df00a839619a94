/** The way of a request through proxies, and what a caller can make of it. */
import { describe, expect, test } from "bun:test"
import * as fc from "effect/FastCheck"
import { type ForwardedHeader, forwardedHeaders } from "../../../src/domain/addresses/ForwardedHops.ts"
import { type Trusted, TrustedProxies } from "../../../src/domain/addresses/TrustedProxies.ts"

const addressOf = (trusted: Trusted, header: ForwardedHeader, peer: string | null, told: string | null) =>
  new TrustedProxies(trusted, header).addressOf(peer, () => told)

describe("X-Forwarded-For", () => {
  const ours = ["10.0.0.0/8", "fd00::/8"]
  test.each<[name: string, trusted: Trusted, peer: string | null, told: string | null, expected: string | null]>([
    ["nobody is trusted", [], "10.0.0.1", "1.1.1.1", "10.0.0.1"],
    ["a count of none", 0, "10.0.0.1", "1.1.1.1", "10.0.0.1"],
    ["the peer is another", ours, "192.0.2.1", "1.1.1.1", "192.0.2.1"],
    ["one proxy", ours, "10.0.0.1", "1.1.1.1", "1.1.1.1"],
    ["one proxy, and a caller who lies", ours, "10.0.0.1", "6.6.6.6, 10.0.0.9, 1.1.1.1", "1.1.1.1"],
    ["two proxies", ours, "10.0.0.1", "6.6.6.6, 1.1.1.1, 10.0.0.2", "1.1.1.1"],
    ["a proxy over a socket of both kinds", ours, "::ffff:10.0.0.1", "1.1.1.1", "1.1.1.1"],
    ["a proxy that IPv6 carries", ours, "10.0.0.1", "1.1.1.1, ::ffff:10.0.0.2", "1.1.1.1"],
    ["proxies all the way", ours, "10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"],
    ["no header", ours, "10.0.0.1", null, "10.0.0.1"],
    ["an empty one", ours, "10.0.0.1", "", "10.0.0.1"],
    ["garbage", ours, "10.0.0.1", "1.1.1.1, <script>", "10.0.0.1"],
    ["garbage behind a proxy", ours, "10.0.0.1", "1.1.1.1, ?, 10.0.0.2", "10.0.0.2"],
    ["an empty hop", ours, "10.0.0.1", "1.1.1.1,,10.0.0.2", "10.0.0.2"],
    ["a comma at the end", ours, "10.0.0.1", "1.1.1.1,", "10.0.0.1"],
    ["a port", ours, "10.0.0.1", "1.1.1.1:4711", "1.1.1.1"],
    ["IPv6", ours, "fd00::1", "2001:DB8::1", "2001:db8::1"],
    ["IPv6 in brackets", ours, "fd00::1", "[2001:db8::1]", "2001:db8::1"],
    ["IPv6 with a port", ours, "fd00::1", "[2001:db8::1]:443", "2001:db8::1"],
    ["IPv4 in brackets", ours, "fd00::1", "[1.1.1.1]", "fd00::1"],
    ["unknown", ours, "10.0.0.1", "unknown", "10.0.0.1"],
    ["tabs and spaces", ours, "10.0.0.1", " 6.6.6.6 ,\t1.1.1.1 ", "1.1.1.1"],
    ["no peer", ours, null, "1.1.1.1", null],
    ["a peer that is no address", ours, "pipe", "1.1.1.1", null],
    ["a count of one", 1, "192.0.2.1", "6.6.6.6, 1.1.1.1", "1.1.1.1"],
    ["a count of two", 2, "192.0.2.1", "6.6.6.6, 1.1.1.1, 192.0.2.2", "1.1.1.1"],
    ["a count of more than there are", 3, "192.0.2.1", "1.1.1.1", "1.1.1.1"],
    ["a count, and garbage", 2, "192.0.2.1", "1.1.1.1, x", "192.0.2.1"],
    ["a count without a peer", 1, null, "1.1.1.1", "1.1.1.1"],
    ["a count with neither", 1, null, null, null],
  ])("%s", (_name, trusted, peer, told, expected) => {
    expect(addressOf(trusted, "x-forwarded-for", peer, told)).toBe(expected)
  })
})

describe("Forwarded", () => {
  test.each<[told: string, expected: string]>([
    ["for=1.1.1.1", "1.1.1.1"],
    ["For=1.1.1.1;proto=https;by=10.0.0.1", "1.1.1.1"],
    ["proto=https; FOR = 1.1.1.1", "10.0.0.1"],
    ['for="1.1.1.1:4711"', "1.1.1.1"],
    ['for="1.1.1.1:_port"', "1.1.1.1"],
    ['for="[2001:db8::1]:4711"', "2001:db8::1"],
    ['for="[2001:db8::1]"', "2001:db8::1"],
    ["for=unknown", "10.0.0.1"],
    ["for=_hidden", "10.0.0.1"],
    ["for=6.6.6.6, for=1.1.1.1", "1.1.1.1"],
    ["for=1.1.1.1, for=10.0.0.2", "1.1.1.1"],
    ['for=1.1.1.1;host="a,b", for=10.0.0.2;host="c, for=6.6.6.6"', "1.1.1.1"],
    [String.raw`for=1.1.1.1;host="\", for=6.6.6.6;x=\""`, "1.1.1.1"],
    [String.raw`for="\1.1.1.1"`, "1.1.1.1"],
    ['for=", for=1.1.1.1', "1.1.1.1"],
    ['for=6.6.6.6;x="a, for=1.1.1.1;y="b"', "1.1.1.1"],
    ["for=1.1.1.1;for=6.6.6.6", "10.0.0.1"],
    ["by=6.6.6.6", "10.0.0.1"],
    ["for=1.1.1.1;;by=x", "10.0.0.1"],
    ['for="1.1.1.1', "10.0.0.1"],
    ["1.1.1.1", "10.0.0.1"],
    ["", "10.0.0.1"],
  ])("%s", (told, expected) => {
    expect(addressOf(["10.0.0.0/8"], "forwarded", "10.0.0.1", told)).toBe(expected)
  })
})

const octet = fc.integer({ min: 0, max: 255 })
const ours = fc.tuple(octet, octet, octet).map((rest) => `10.${rest.join(".")}`)
const ourV6 = fc.integer({ min: 1, max: 0xffff }).map((last) => `fd00::${last.toString(16)}`)
const outside = fc.oneof(
  fc.tuple(octet, octet, octet).map((rest) => `203.${rest.join(".")}`),
  fc.integer({ min: 1, max: 0xffff }).map((last) => `2001:db8::${last.toString(16)}`),
)
const proxies = fc.array(fc.oneof(ours, ourV6), { minLength: 1, maxLength: 8 })
const nodeIn: Record<ForwardedHeader, (address: string) => string> = {
  "x-forwarded-for": (address) => address,
  forwarded: (address) => `for="${address.includes(":") ? `[${address}]` : address}:443";proto=https`,
}
/** What a caller sends: anything, and what looks much like a header. */
const lies = fc.oneof(
  fc.string({ unit: "binary", maxLength: 300 }),
  fc
    .array(fc.constantFrom('"', "\\", ",", ";", "for=", "6.6.6.6", "10.0.0.7", "[::1]", " ", "="), { maxLength: 60 })
    .map((parts) => parts.join("")),
)

describe.each([...forwardedHeaders])("in %s", (header) => {
  test("no caller can put an address in place of their own, whatever they send", () => {
    fc.assert(
      fc.property(proxies, outside, fc.option(lies), (way, caller, lie) => {
        const [peer = "", ...others] = way
        // From the left: the lie, the caller, and the proxies from the far one to the one next to us.
        const told = [caller, ...others.toReversed()].map(nodeIn[header])
        const text = (lie === null ? told : [lie, ...told]).join(", ")
        expect(addressOf(["10.0.0.0/8", "fd00::/8"], header, peer, text)).toBe(caller)
        expect(addressOf(way.length, header, peer, text)).toBe(caller)
      }),
      { numRuns: 500, seed: 70 },
    )
  })

  test("anything is read without an exception, and gives an address or nothing", () => {
    fc.assert(
      fc.property(fc.option(lies), lies, fc.constantFrom<Trusted>(["10.0.0.0/8"], 3, 100), (peer, told, trusted) => {
        const address = addressOf(trusted, header, peer, told)
        expect(address === null || /^[\da-f.:]+$/.test(address)).toBe(true)
      }),
      { numRuns: 500, seed: 71 },
    )
  })

  test("a header of a megabyte is read as far as a hundred proxies may go", () => {
    for (const part of ["10.0.0.1,", '"', "\\", "for=10.0.0.1,", "a", " ", 'for="', '\\"']) {
      const told = part.repeat(2 ** 20 / part.length)
      expect(addressOf(["10.0.0.0/8"], header, "10.0.0.9", `${told},${nodeIn[header]("1.1.1.1")}`)).toBe("1.1.1.1")
      expect(addressOf(100, header, "10.0.0.9", told)).toStartWith("10.0.0.")
    }
  })
})

test("a caller is within the trusted ranges or not; a number of proxies says nothing about callers", () => {
  const has = (trusted: Trusted, caller: string | null) =>
    new TrustedProxies(trusted, "forwarded").hasWithin(() => caller)
  expect([has([], "10.0.0.1"), has(["10.0.0.0/8"], "10.0.0.1"), has(["10.0.0.0/8"], "11.0.0.1")]).toEqual([
    false,
    true,
    false,
  ])
  expect([has(["10.0.0.0/8"], null), has(1, null), has(1, "10.0.0.1")]).toEqual([false, false, false])
})
