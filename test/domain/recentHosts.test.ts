import { describe, expect, test } from "bun:test"
import * as fc from "effect/FastCheck"
import { HostTag, KeyId, ModelId } from "../../src/domain/ids.ts"
import { RecentHosts } from "../../src/domain/routing/RecentHosts.ts"
import { hostFor } from "../support/recordings/recordings.ts"

const host = (tag: string, model = "acme/small") => ({
  ...hostFor("upstream"),
  tag: HostTag.make(tag),
  model: ModelId.make(model),
})
const [one, other] = [KeyId.make("one"), KeyId.make("other")]
const tagsOf = (hosts: RecentHosts, hash: bigint, key = one) => hosts.of(key, hash).map(({ tag }) => String(tag))

describe("recent hosts", () => {
  test("the newest comes first, each host once, and four are kept", () => {
    const hosts = new RecentHosts(10)
    for (const [at, tag] of ["a", "b", "c", "a", "d", "e"].entries()) hosts.add(one, 1n, host(tag), at, true)
    expect(tagsOf(hosts, 1n)).toEqual(["e", "d", "a", "c"])
    expect(hosts.of(one, 1n)[2]?.at).toBe(3)
  })

  test("a replacement takes the place of the hosts of its model", () => {
    const hosts = new RecentHosts(10)
    hosts.replace(one, 1n, host("a"), 1, true)
    hosts.replace(one, 1n, host("a", "acme/large"), 2, true)
    hosts.replace(one, 1n, host("b"), 3, true)
    expect(hosts.of(one, 1n).map(({ model, tag }) => `${model} ${tag}`)).toEqual(["acme/small b", "acme/large a"])
  })

  test("equal hashes of two keys show neither what the other left", () => {
    const hosts = new RecentHosts(10)
    hosts.add(one, 1n, host("a"), 1, true)
    expect(tagsOf(hosts, 1n, other)).toEqual([])
    hosts.remove(other, 1n, host("a"))
    expect(tagsOf(hosts, 1n)).toEqual(["a"])
    hosts.add(other, 1n, host("b"), 2, true)
    expect([tagsOf(hosts, 1n), tagsOf(hosts, 1n, other)]).toEqual([[], ["b"]])
  })

  test("removing the last host of an entry removes the entry", () => {
    const hosts = new RecentHosts(10)
    hosts.add(one, 1n, host("a"), 1, true)
    hosts.add(one, 1n, host("b"), 1, true)
    hosts.remove(one, 1n, host("a"))
    expect([tagsOf(hosts, 1n), hosts.size]).toEqual([["b"], 1])
    hosts.remove(one, 1n, host("b"))
    expect(hosts.size).toBe(0)
  })

  test("a key that filled it pushed out what all others had left: it gives up its own", () => {
    const hosts = new RecentHosts(100)
    hosts.add(other, 1n, host("a"), 1, true)
    for (let at = 0; at < 1000; at++) hosts.add(one, BigInt(1000 + at), host("b"), at, true)
    expect([tagsOf(hosts, 1n, other), hosts.size]).toEqual([["a"], 100])
    expect([tagsOf(hosts, 1999n), tagsOf(hosts, 1900n), tagsOf(hosts, 1000n)]).toEqual([["b"], [], []])
    // Keys that come later get their equal share of it.
    for (let at = 0; at < 200; at++) hosts.add(other, BigInt(5000 + at), host("c"), 1000 + at, true)
    const kept = (key: KeyId, from: number, many: number) =>
      Array.from({ length: many }, (_, at) => tagsOf(hosts, BigInt(from + at), key).length).filter(Boolean).length
    expect([kept(one, 1000, 1000), kept(other, 5000, 200)]).toEqual([50, 50])
  })

  test("what nobody has written for an hour goes first", () => {
    const hosts = new RecentHosts(3)
    hosts.add(other, 1n, host("a"), 0, true)
    for (const at of [1, 2, 3]) hosts.add(one, BigInt(10 + at), host("b"), 3_600_000 + at, true)
    expect([tagsOf(hosts, 1n, other), tagsOf(hosts, 11n), tagsOf(hosts, 13n)]).toEqual([[], ["b"], ["b"]])
  })

  test("it never has more entries than it may, and those that were written last", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5 }), fc.array(fc.integer({ min: 0, max: 9 })), (most, written) => {
        const hosts = new RecentHosts(most)
        for (const [at, hash] of written.entries()) hosts.add(one, BigInt(hash), host("a"), at, true)
        const newest = [...new Set(written.toReversed())].slice(0, most)
        const kept = Array.from({ length: 10 }, (_, hash) => hash).filter((hash) => tagsOf(hosts, BigInt(hash)).length)
        expect(kept).toEqual(newest.toSorted((a, b) => a - b))
        expect(hosts.size).toBe(kept.length)
      }),
    )
  })
})
