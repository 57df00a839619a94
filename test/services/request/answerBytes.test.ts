/** Bytes of answers that are kept in memory: nothing bounded them, so that one key's embeddings took 6.3 GB. docs/guarantees.md#g23 */
import { describe, expect, test } from "bun:test"
import * as fc from "effect/FastCheck"
import { KeyId } from "../../../src/domain/ids.ts"
import { AnswerBytes, type HeldAnswer } from "../../../src/services/request/AnswerBytes.ts"

const bounds = { ofKey: 1_000_000, ofProcess: 3_000_000 }

/** An answer that a host sends in reads of `read` bytes as long as it is read. */
class Sent {
  isRead = true
  readonly held: HeldAnswer

  constructor(all: AnswerBytes, key: string) {
    this.held = all.begin(KeyId.make(key), {
      holdBack: () => {
        this.isRead = false
      },
      goOn: () => {
        this.isRead = true
      },
    })
  }
}

describe("bytes of answers in flight", () => {
  test("beyond the bound of a key its later answers are not read, and the oldest is read to its end", () => {
    const all = new AnswerBytes(bounds)
    const [oldest, later, other] = [new Sent(all, "a"), new Sent(all, "a"), new Sent(all, "b")]
    later.held.add(900_000)
    oldest.held.add(5_000)
    expect([oldest.isRead, later.isRead]).toEqual([true, true])
    later.held.add(200_000)
    expect([oldest.isRead, later.isRead, other.isRead]).toEqual([true, false, true])
    oldest.held.add(900_000)
    expect(oldest.isRead).toBe(true)
    oldest.held.release()
    // Now it is the oldest.
    expect(later.isRead).toBe(true)
    expect(all.bytes).toBe(1_100_000)
  })

  test("one that was read and waits for a slow caller keeps its own key waiting, and nobody else", () => {
    const all = new AnswerBytes(bounds)
    const [slow, later, other] = [new Sent(all, "a"), new Sent(all, "a"), new Sent(all, "b")]
    slow.held.add(3_500_000)
    slow.held.wasRead()
    later.held.add(10)
    expect(later.isRead).toBe(false)
    other.held.add(2_000_000)
    expect(other.isRead).toBe(true)
    slow.held.release()
    expect(later.isRead).toBe(true)
  })

  test("callers of many keys who take theirs slowly: beyond twice the bound of the process the oldest are cut", () => {
    const all = new AnswerBytes(bounds)
    const cuts: Array<number> = []
    for (let at = 0; at < 100; at++) {
      const { held } = new Sent(all, `key ${at}`)
      held.add(900_000)
      held.wasRead()
      held.cut = () => {
        if (!cuts.includes(at)) cuts.push(at)
        held.release()
      }
      expect(all.bytes).toBeLessThanOrEqual(2 * bounds.ofProcess)
    }
    expect(cuts).toEqual(Array.from({ length: 94 }, (_, at) => at))
  })

  test("no more of them are cut than are enough, although their requests end later", () => {
    const all = new AnswerBytes(bounds)
    const cuts = new Set<number>()
    for (let at = 0; at < 7; at++) {
      const { held } = new Sent(all, `key ${at}`)
      held.add(900_000)
      held.wasRead()
      held.cut = () => cuts.add(at)
    }
    const next = new Sent(all, "next")
    for (let at = 0; at < 5; at++) next.held.add(1000)
    expect([...cuts]).toEqual([0])
  })

  test("any answers of any keys: all are read to their ends, and no more is kept than the bounds and one read of each", () => {
    const one = fc.record({ key: fc.constantFrom("a", "b", "c", "d"), bytes: fc.integer({ min: 1, max: 2_000_000 }) })
    fc.assert(
      fc.property(fc.array(one, { minLength: 1, maxLength: 30 }), fc.infiniteStream(fc.nat(1000)), (answers, dice) => {
        const all = new AnswerBytes(bounds)
        const running = answers.map(({ key, bytes }) => ({ sent: new Sent(all, key), left: bytes }))
        const read = 50_000
        while (running.length > 0) {
          const readable = running.filter(({ sent }) => sent.isRead)
          expect(readable.length).toBeGreaterThan(0)
          const next = readable[(dice.next().value ?? 0) % readable.length]
          if (next === undefined) break
          const bytes = Math.min(read, next.left)
          next.left -= bytes
          next.sent.held.add(bytes)
          if (next.left === 0) {
            next.sent.held.wasRead()
            next.sent.held.release()
            running.splice(running.indexOf(next), 1)
          }
          expect(all.bytes).toBeLessThanOrEqual(bounds.ofProcess + 2_000_000 + answers.length * read)
        }
        expect(all.bytes).toBe(0)
      }),
      { numRuns: 200 },
    )
  })
})
