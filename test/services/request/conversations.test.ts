/** What is hashed and kept of conversations, and when. Which host a turn goes to is in test/http/routing/conversations.test.ts. */
import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import { HostTag, KeyId } from "../../../src/domain/ids.ts"
import { freePricing } from "../../../src/domain/price/price.ts"
import { noUsage } from "../../../src/domain/price/Usage.ts"
import { Conversations } from "../../../src/services/request/Conversations.ts"
import { ManualClock } from "../../support/clocks/manualClock.ts"
import { hostFor, requestWith } from "../../support/recordings/recordings.ts"

const clock = new ManualClock()
const service = () => Effect.runSync(Effect.provide(Conversations, Conversations.layer).pipe(Effect.withClock(clock)))

const priced = (tag: string, read: bigint | null, write: bigint | null = null, implicit = false) => ({
  ...hostFor("upstream"),
  tag: HostTag.make(tag),
  supportsImplicitCaching: implicit,
  pricing: { ...freePricing, prompt: 100n, inputCacheRead: read, inputCacheWrite: write },
})
const [plain, caching, marked] = [priced("plain", null), priced("caching", 10n), priced("marked", 10n, 125n)]
const key = KeyId.make("a key")
const turn = (text = "a secret prompt") => requestWith({ messages: [{ role: "user", content: text }] })

/** A request whose prompt may not be looked at. */
const sealed = () => {
  const { routing, bounds } = turn()
  return {
    routing,
    bounds,
    get payload(): never {
      throw new Error("the prompt was read")
    },
  }
}

describe("the prompt is not read", () => {
  test("where no host charges less for what it reads from a cache", () => {
    const conversation = service().of(key, sealed())
    expect(conversation.stickyFirst([plain, plain])).toEqual([plain, plain])
    expect(conversation.record()).toBeUndefined()
  })

  test("before anything is asked", () => {
    expect(() => service().of(key, sealed()).stickyFirst([caching])).toThrow("the prompt was read")
    expect(() => service().of(key, sealed()).warm(caching)).toThrow("the prompt was read")
  })
})

test("neither a record nor the memory has anything of the prompt, and of the session", () => {
  const conversations = service()
  const asked = turn("swordfish ".repeat(1000))
  const conversation = conversations.of(key, { ...asked, routing: { ...asked.routing, session: "swordfish" } })
  conversation.stickyFirst([caching])
  conversation.warm(caching)
  const record = conversation.record()
  record?.succeeded(caching, undefined)
  const kept = Bun.inspect(record, { depth: 20 })
  expect(kept).toContain("caching")
  expect(kept).not.toContain("swordfish")
})

describe("a prompt is taken to be cached", () => {
  const isWarm = (host: ReturnType<typeof priced>, usage: typeof noUsage | undefined): boolean => {
    const conversations = service()
    const first = conversations.of(key, turn())
    first.warm(host)
    first.record()?.succeeded(host, usage)
    return conversations.of(key, turn()).warm(host) !== undefined
  }

  test.each([
    ["by a host with a lower price for reading", caching, noUsage, true],
    ["by one that did not count", caching, undefined, true],
    ["not by one without such a price", plain, noUsage, false],
    ["not by one that charges for writing, and wrote nothing", marked, noUsage, false],
    ["not by one that charges for writing, and did not count", marked, undefined, false],
    ["by one that wrote it", marked, { ...noUsage, promptTokens: 9, cacheWriteTokens: 9 }, true],
    ["by one that read it", marked, { ...noUsage, promptTokens: 9, cachedTokens: 9 }, true],
    ["by one that caches by itself", priced("implicit", 10n, 125n, true), noUsage, true],
  ] as const)("%s", (_name, host, usage, expected) => {
    expect(isWarm(host, usage)).toBe(expected)
  })
})

test("the last turn is known whichever host answered, and the longest prompt of each host", () => {
  const conversations = service()
  const asked = (...texts: ReadonlyArray<string>) =>
    requestWith({
      messages: texts.map((content, at) => ({ role: at % 2 === 0 ? "user" : "assistant", content })),
    })
  const serve = (host: typeof plain, ...texts: ReadonlyArray<string>) => {
    const conversation = conversations.of(key, asked(...texts))
    conversation.warm(host)
    conversation.record()?.succeeded(host, undefined)
    clock.advance(1000)
  }
  serve(caching, "x".repeat(400))
  serve(plain, "x".repeat(400), "y".repeat(40), "z".repeat(40))
  const now = conversations.of(key, asked("x".repeat(400), "y".repeat(40), "z".repeat(40), "a", "b"))
  expect(now.warm(caching)).toEqual({ tokens: 100, agoMs: 2000 })
  expect(now.warm(plain)).toBeUndefined()
  expect(now.last()).toEqual({ tokens: 120, agoMs: 1000 })
  expect(conversations.of(KeyId.make("another"), asked("x".repeat(400))).last()).toBeUndefined()
})
