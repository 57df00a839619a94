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
