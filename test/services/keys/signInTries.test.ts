/** How often it may be tried to sign in. */
import { expect, test } from "bun:test"
import { SignInTries } from "../../../src/services/keys/SignInTries.ts"

/** Whether each of so many tries at one moment may be made. */
const tried = (tries: SignInTries, address: string | null, count: number, now: number) =>
  Array.from({ length: count }, () => "at" in tries.begin(address, now, true))

test("ten fail from one address in five minutes, whatever others do", () => {
  const tries = new SignInTries()
  expect(tried(tries, "10.0.0.1", 11, 0)).toEqual([...Array.from({ length: 10 }, () => true), false])
  expect(tried(tries, "10.0.0.2", 1, 0)).toEqual([true])
  expect(tries.begin("10.0.0.1", 299_000, true)).toEqual({ limit: 10, waitMs: 1000 })
  expect(tried(tries, "10.0.0.1", 1, 300_000)).toEqual([true])
})

test("the addresses of one caller of IPv6, and all spellings of an address, are one", () => {
  const tries = new SignInTries()
  tried(tries, "2001:db8::1", 5, 0)
  expect(tried(tries, "2001:0db8:0:0:ffff::2", 6, 0).at(-1)).toBe(false)
  expect(tried(tries, "2001:db8:0:1::1", 1, 0)).toEqual([true])
  tried(tries, "::ffff:10.0.0.1", 10, 0)
  expect(tried(tries, "10.0.0.1", 1, 0)).toEqual([false])
  tried(tries, null, 10, 0)
  expect(tried(tries, null, 1, 0)).toEqual([false])
})

test("300 fail in a minute from all together", () => {
  const tries = new SignInTries()
  const all = Array.from({ length: 301 }, (_, at) => "at" in tries.begin(`10.0.${at >> 8}.${at & 255}`, 0, true))
  expect(all.filter(Boolean)).toHaveLength(300)
  expect(tries.begin("192.0.2.1", 59_000, true)).toEqual({ limit: 300, waitMs: 1000 })
})

test("a try that is given back does not count, even in its own millisecond", () => {
  const tries = new SignInTries()
  tried(tries, "10.0.0.1", 9, 7)
  for (let count = 0; count < 1000; count++) {
    const begun = tries.begin("10.0.0.1", 7, true)
    if (!("at" in begun)) throw new Error("refused")
    tries.giveBack(begun)
  }
  expect(tried(tries, "10.0.0.1", 2, 7)).toEqual([true, false])
})

test("a thousand networks are told apart, and the memory for more is not taken", () => {
  const tries = new SignInTries()
  tried(tries, "10.0.0.1", 10, 0)
  for (let at = 0; at < 999; at++) tries.begin(`192.0.${at >> 8}.${at & 255}`, (at + 1) * 250, true)
  expect(tried(tries, "10.0.0.1", 1, 250_000)).toEqual([false])
  tries.begin("198.51.100.1", 251_000, true)
  expect(tried(tries, "10.0.0.1", 1, 252_000)).toEqual([true])
})

test("texts that are no keys, from made-up networks, locked everybody out: they count for their own network alone", () => {
  const tries = new SignInTries()
  for (let at = 0; at < 1000; at++) {
    expect("at" in tries.begin(`2001:db8:0:${at.toString(16)}::1`, 0, false)).toBe(true)
  }
  expect(tried(tries, "192.0.2.1", 1, 0)).toEqual([true])
  const own = Array.from({ length: 11 }, () => "at" in tries.begin("192.0.2.2", 0, false))
  expect(own.filter(Boolean)).toHaveLength(10)
})

test("a network that signed in before is not locked out by others, whatever they try; nor does it lock them out", () => {
  const tries = new SignInTries()
  const begun = tries.begin("192.0.2.1", 0, true)
  if (!("at" in begun)) throw new Error("refused")
  tries.succeeded(begun)
  for (let at = 0; at < 400; at++) tries.begin(`2001:db8:0:${at.toString(16)}::1`, 0, true)
  expect(tried(tries, "192.0.2.2", 1, 0)).toEqual([false])
  expect(tried(tries, "192.0.2.1", 11, 0).filter(Boolean)).toHaveLength(10)
  expect(tried(tries, "192.0.2.2", 1, 60_000)).toEqual([true])
})
