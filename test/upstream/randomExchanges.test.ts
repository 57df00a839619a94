/** Many exchanges at once that are cancelled, paused and broken off at random turns of the event loop: what hosts get, and what is said. */
import { afterAll, expect, setDefaultTimeout, test } from "bun:test"
import * as fc from "effect/FastCheck"
import { randomSequence } from "../../src/domain/structures/randomSequence.ts"
import type { Exchange } from "../../src/upstream/Exchange.ts"
import { type HttpClient, makeHttpClient } from "../../src/upstream/http1/client.ts"
import { until } from "../support/clocks/until.ts"
import { callTo } from "./call.ts"
import { makeAuthority } from "./certificates.ts"
import { type RawRequest, type RawServer, rawServer } from "./rawServer.ts"

// A wait that never ends is named within a minute.
setDefaultTimeout(1_800_000)

const turns = async (count: number): Promise<void> => {
  for (let at = 0; at < count; at++) await new Promise((resolve) => setImmediate(resolve))
}

interface Random {
  readonly chance: (probability: number) => boolean
  /** An integer from 0 to below `bound`. */
  readonly below: (bound: number) => number
}

const randomOf = (seed: number): Random => {
  const next = randomSequence(seed)
  return { chance: (probability) => next() < probability, below: (bound) => Math.floor(next() * bound) }
}

/** One exchange: what was to become of it, and what did. */
interface Asked {
  readonly body: string
  readonly isOnce: boolean
  /** Cancelled within the turn in which it began. */
  unsendable: boolean
  cancelled: boolean
  resends: number
  received: number
  answer: string
  outcomes: Array<"end" | "failed">
}

const bodyOf = (id: number, length: number): string => `${id}:${"é".repeat(length)}`

/** Answers in random pieces, and closes at random turns where `breaks` is set. */
const host = (
  random: Random,
  breaks: boolean,
  asked: ReadonlyArray<Asked>,
  wrong: Array<string>,
  tls?: Bun.TLSOptions,
) =>
  rawServer({
    ...(tls === undefined ? {} : { tls }),
    onRequest: async ({ head, body, peer }: RawRequest) => {
      const text = body.toString()
      const of = asked[Number(text.split(":")[0])]
      if (of === undefined || of.body !== text) wrong.push(`a body of ${text.length} that was not sent so`)
      else of.received += 1
      const lines = head.split("\r\n")
      const isHead =
        lines.length === 6 && lines[0] === "POST /v1 HTTP/1.1" && lines[5] === `content-length: ${body.length}`
      if (!isHead) wrong.push(head)
      if (random.chance(0.5)) await turns(random.below(4))
      if (breaks && random.chance(0.1)) return peer.reset()
      const said = text.split(":")[0] ?? ""
      const answer = `HTTP/1.1 200 OK\r\ncontent-length: ${said.length}\r\n\r\n${said}`
      const cut = random.below(answer.length)
      peer.write(answer.slice(0, cut))
      if (random.chance(0.5)) await turns(random.below(3))
      if (breaks && random.chance(0.1)) return peer.end()
      peer.write(answer.slice(cut))
      if (!breaks || random.chance(0.6)) return
      await turns(random.below(4))
      return random.chance(0.5) ? peer.end() : peer.reset()
    },
  })

const begin = (client: HttpClient, url: string, of: Asked, random: Random): void => {
  let over = false
  const once = (outcome: "end" | "failed") => {
    of.outcomes.push(outcome)
    over = true
  }
  const exchange: Exchange = client.exchange(callTo(`${url}/v1`, { body: of.body, isOnce: of.isOnce }), {
    head: () => {},
    data: (bytes, start, end) => {
      of.answer += Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString()
    },
    end: () => once("end"),
    failed: () => once("failed"),
    resent: () => {
      of.resends += 1
    },
  })
  const cancel = () => {
    if (over) return
    of.cancelled = true
    exchange.cancel()
  }
  const pausing = async () => {
    await turns(random.below(3))
    exchange.pause()
    await turns(random.below(5))
    exchange.resume()
  }
  // A seventh each is cancelled at once, in a microtask, some turns later, or paused for a while. The others are left alone.
  const fate = random.below(7)
  of.unsendable = fate < 2
  if (fate === 0) cancel()
  else if (fate === 1) queueMicrotask(cancel)
  else if (fate === 2) turns(1 + random.below(6)).then(cancel)
  else if (fate === 3) pausing()
}

const run = async (client: HttpClient, seed: number, breaks: boolean, tls?: Bun.TLSOptions): Promise<void> => {
  const random = randomOf(seed)
  const asked: Array<Asked> = []
  const wrong: Array<string> = []
  using server: RawServer = host(random, breaks, asked, wrong, tls)
  for (let step = 0; step < 25; step++) {
    for (let count = random.below(5); count > 0; count--) {
      const length = random.chance(0.05) ? 200_000 : random.below(300)
      const of: Asked = {
        body: bodyOf(asked.length, length),
        isOnce: random.chance(0.2),
        unsendable: false,
        cancelled: false,
        resends: 0,
        received: 0,
        answer: "",
        outcomes: [],
      }
      asked.push(of)
      begin(client, server.url, of, random)
    }
    await turns(random.below(3))
  }
  await until(() => asked.every(({ cancelled, outcomes }) => cancelled || outcomes.length > 0), "every answer")
  await turns(3)
  expect(wrong).toEqual([])
  for (const [id, { unsendable, cancelled, isOnce, resends, received, answer, outcomes }] of asked.entries()) {
    expect(outcomes.length, "an answer for each that was not cancelled").toBe(cancelled ? 0 : 1)
    if (outcomes[0] === "end") expect(answer, "its own answer").toBe(`${id}`)
    expect(received, "sent again only where that is said").toBeLessThanOrEqual(isOnce ? 1 : 1 + resends)
    if (unsendable) expect(received, "nothing of what is cancelled in its turn").toBe(0)
    if (!breaks) expect(outcomes, "no failure where the host closes nothing").toEqual(cancelled ? [] : ["end"])
  }
}

const client = makeHttpClient()
afterAll(client.close)

test.each([
  ["closes nothing", false],
  ["closes at random turns", true],
])("a host that %s gets complete requests, each once unless it is said, and each has one answer", async (_, breaks) => {
  await fc.assert(
    fc.asyncProperty(fc.integer(), (seed) => run(client, seed, breaks)),
    { numRuns: 25 },
  )
})

test("the same over TLS", async () => {
  const authority = makeAuthority()
  const own = makeHttpClient({ ca: authority.ca })
  const identity = authority.identity({ name: "127.0.0.1" })
  await fc.assert(
    fc.asyncProperty(fc.integer(), fc.boolean(), (seed, breaks) => run(own, seed, breaks, identity)),
    { numRuns: 5 },
  )
  own.close()
})
