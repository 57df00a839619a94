/** Several worker processes on one port and one database, as an operator runs them. docs/guarantees.md#g19, docs/decisions/0024 */
import { afterEach, expect, test } from "bun:test"
import { existsSync } from "node:fs"
import * as Effect from "effect/Effect"
import { keyId } from "../../src/domain/KeySecret.ts"
import { openDatabase } from "../../src/sql/postgresDatabase.ts"
import { chunkOf, configFor } from "../support/host.ts"
import { describePostgres, makeDatabase, redactedUrlOf, urlOf } from "../support/postgres.ts"
import { firstKey, install, type RunningGateway, type StartOptions } from "../support/process.ts"
import { event, lastPart, type Peer, rawHost, streamHead, until } from "../support/rawHost.ts"
import { contentOf, finishesOf, readStrictly } from "../support/strictSse.ts"

const patience = 120_000

/** For processes to start or end, on a busy machine. */
const processMs = 60_000

const closing: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const bare = { discovery: { environment: false, local: false } }

const startOn = async (config: unknown, more: StartOptions = {}) => {
  const installation = install()
  closing.push(installation.remove)
  const database = await makeDatabase()
  const gateway = installation.start({ config, env: { HEADGATE_STORAGE: urlOf(database), ...more.env } })
  return { gateway, database }
}

/** The process ids of the workers that have served, in the order of their numbers. */
const pidsOf = (gateway: RunningGateway): ReadonlyArray<number> =>
  Array.from(gateway.err().matchAll(/"worker \d+ serves" .*?\bpid=(\d+)/g), ([, pid]) => Number(pid))

const serving = (gateway: RunningGateway, workers: number) =>
  until(() => pidsOf(gateway).length === workers, `worker ${workers}`, processMs)

const isAlive = (pid: number): boolean => existsSync(`/proc/${pid}/exe`)

/** A gateway of two workers, whose host keeps its callers waiting. */
const twoWorkers = async (server: Record<string, unknown> = {}) => {
  const peers: Array<Peer> = []
  const host = rawHost((peer) => {
    peers.push(peer)
  })
  closing.push(host.stop)
  const config = configFor({ a: { url: host.url } }, { ...bare, server: { workers: 2, ...server } })
  const { gateway, database } = await startOn(config)
  await serving(gateway, 2)
  const url = await gateway.url()
  const key = firstKey(gateway.out())
  /** Each on a connection of its own, so that the kernel spreads them over the workers. */
  const post = (stream: boolean) =>
    fetch(`${url}/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", connection: "close" },
      body: JSON.stringify({
        model: "acme/small",
        messages: [{ role: "user", content: "hello" }],
        max_tokens: 50,
        stream,
      }),
    })
  /** Requests that all have reached the host. */
  const waiting = async (count: number, stream = false) => {
    const before = peers.length
    const answers = Array.from({ length: count }, () => post(stream))
    await until(() => peers.length === before + count, "the calls", processMs)
    return answers
  }
  const rows = () =>
    Effect.runPromise(
      Effect.scoped(
        Effect.flatMap(
          openDatabase({ url: redactedUrlOf(database), durability: "full", onTaken: () => Effect.void }),
          ({ ledger }) => ledger.rows(keyId(key), 1000),
        ),
      ),
    )
  return { gateway, url, key, peers, post, waiting, rows }
}

const whole = (content: string): string => {
  const body = JSON.stringify({
    ...JSON.parse(chunkOf({ message: { role: "assistant", content }, finish_reason: "stop" })),
    object: "chat.completion",
    usage: { prompt_tokens: 10, completion_tokens: 5 },
  })
  return `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

const words = ["a ", "stream ", "of ", "words"]

const sayOn = (peers: ReadonlyArray<Peer>, bytes: string | Uint8Array) => {
  for (const peer of peers) if (peer.isOpen()) peer.write(bytes)
}

const say = (content: string) => event(chunkOf({ delta: { content }, finish_reason: null }))

const streamEnd = Buffer.concat([
  event(chunkOf({ delta: {}, finish_reason: "stop" }, { usage: { prompt_tokens: 10, completion_tokens: 5 } })),
  event("[DONE]"),
  Buffer.from(lastPart),
])

describePostgres("two workers", () => {
  test(
    "share a port, show the keys once, and log in whole lines",
    async () => {
      const { gateway, url, peers, waiting } = await twoWorkers()
      const base = url.replace("/api/v1", "")
      const probes = ["/healthz", "/readyz"].flatMap((path) =>
        Array.from({ length: 10 }, () => fetch(`${base}${path}`, { headers: { connection: "close" } })),
      )
      expect(new Set((await Promise.all(probes)).map(({ status }) => status))).toEqual(new Set([200]))
      const answers = await waiting(20)
      sayOn(peers, whole("hi"))
      expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(answers.map(() => 200))

      gateway.kill("SIGTERM")
      expect(await gateway.exited).toBe(0)
      expect(gateway.out().match(/headgate listens at|management key|ordinary key/g)).toHaveLength(3)
      for (const line of gateway.err().trimEnd().split("\n"))
        expect(line).toMatch(/^timestamp=\S+ level=\S+ .* worker=\d/)
    },
    patience,
  )

  test(
    "one of which is killed: no request is lost but its own, and another takes its place",
    async () => {
      const { gateway, peers, post, waiting, rows } = await twoWorkers()
      const answers = (await waiting(40)).map((answer) =>
        answer.then(
          ({ status }) => status,
          () => "lost",
        ),
      )
      const [first = 0, second = 0] = pidsOf(gateway)
      process.kill(second, "SIGKILL")
      const lost = () => peers.filter((peer) => !peer.isOpen()).length
      await until(() => !isAlive(second) && lost() > 0, "the end of worker 2")
      sayOn(peers, whole("hi"))
      const statuses = await Promise.all(answers)
      expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(0)
      expect(statuses.filter((status) => status === "lost").length).toBe(lost())
      expect(statuses.filter((status) => status !== "lost" && status !== 200)).toEqual([])

      // The other one serves all that comes until there are two again.
      const later = await Promise.all(
        (await waiting(10)).map((answer, at) => (peers.at(-1 - at)?.write(whole("hi")), answer)),
      )
      expect(later.map(({ status }) => status)).toEqual(later.map(() => 200))
      await serving(gateway, 3)
      expect(pidsOf(gateway)[0]).toBe(first)
      const more = Array.from({ length: 20 }, () => post(false))
      await until(() => peers.length === 70, "the calls", processMs)
      sayOn(peers.slice(50), whole("hi"))
      expect((await Promise.all(more)).map(({ status }) => status)).toEqual(more.map(() => 200))
      gateway.kill("SIGTERM")
      expect(await gateway.exited).toBe(0)
      const finished = (await rows()).filter(({ outcome }) => outcome === "finished")
      expect(finished.length).toBe(70 - lost())
    },
    patience,
  )

  const streams = async (started: Awaited<ReturnType<typeof twoWorkers>>, count: number) => {
    const { peers, waiting } = started
    const answers = await waiting(count, true)
    sayOn(peers, streamHead)
    sayOn(peers, say(words[0] ?? ""))
    const responses = await Promise.all(answers)
    return Promise.all(responses.map((response) => response.text()))
  }

  test(
    "asked to stop amid 100 streams let all of them end, and end with 0",
    async () => {
      const started = await twoWorkers()
      const { gateway, peers, rows, url } = started
      const texts = streams(started, 100)
      await until(() => peers.length === 100, "the calls", processMs)
      gateway.kill("SIGTERM")
      await closed(url)
      for (const word of words.slice(1)) sayOn(peers, say(word))
      sayOn(peers, streamEnd)
      const all = (await texts).map(readStrictly)
      expect(all.map(({ done, events }) => [done, contentOf(events)])).toEqual(all.map(() => [true, words.join("")]))
      expect(await gateway.exited).toBe(0)
      expect(pidsOf(gateway).filter(isAlive)).toEqual([])
      expect((await rows()).map(({ outcome }) => outcome)).toEqual(Array.from({ length: 100 }, () => "finished"))
    },
    patience,
  )

  test(
    "whose supervisor is killed let their streams end, and end",
    async () => {
      const started = await twoWorkers()
      const { gateway, peers, url } = started
      const texts = streams(started, 10)
      await until(() => peers.length === 10, "the calls", processMs)
      gateway.kill("SIGKILL")
      await closed(url)
      for (const word of words.slice(1)) sayOn(peers, say(word))
      sayOn(peers, streamEnd)
      const all = (await texts).map(readStrictly)
      expect(all.map(({ done, events }) => [done, contentOf(events)])).toEqual(all.map(() => [true, words.join("")]))
      await until(() => pidsOf(gateway).every((pid) => !isAlive(pid)), "the end of the workers", processMs)
    },
    patience,
  )

  test(
    "asked twice to stop end the running streams at once",
    async () => {
      const started = await twoWorkers({ drain_s: 3600 })
      const { gateway, url, peers } = started
      const texts = streams(started, 10)
      await until(() => peers.length === 10, "the calls", processMs)
      gateway.kill("SIGTERM")
      await closed(url)
      let ended = false
      void gateway.exited.then(() => {
        ended = true
      })
      await until(
        () => {
          if (!ended) gateway.kill("SIGTERM")
          return ended
        },
        "the end",
        processMs,
      )
      expect(await gateway.exited).toBe(0)
      const ends = (await texts).map((text) => finishesOf(readStrictly(text).events).at(-1))
      expect(ends.filter((end) => end?.["error"] !== undefined).length).toBe(10)
    },
    patience,
  )
})

describePostgres("workers that cannot start", () => {
  const end = async ({ gateway }: { readonly gateway: RunningGateway }) =>
    [await gateway.exited, gateway.err()] as const

  test(
    "because a strategy is not installed end with 78, after one start",
    async () => {
      const config = { ...bare, server: { workers: 2 }, routing: { strategy: "cheapest" } }
      const [code, err] = await end(await startOn(config))
      expect([code, err.match(/^config error: /gm)?.length]).toEqual([78, 1])
      expect(err).toContain("worker 1 ended with exit code 78 before it served")
    },
    patience,
  )

  test(
    "because the database is away end with 69",
    async () => {
      const storage = "postgres://postgres@127.0.0.1:1/headgate"
      const config = { ...bare, server: { workers: 2 } }
      const [code, err] = await end(await startOn(config, { env: { HEADGATE_STORAGE: storage } }))
      expect([code, err]).toEqual([69, expect.stringContaining("cannot be reached")])
    },
    patience,
  )

  test(
    "because another gateway with workers has the port end with 69",
    async () => {
      const config = { ...bare, server: { workers: 2 } }
      const { gateway } = await startOn(config)
      const { port } = new URL(await gateway.url())
      const [code, err] = await end(await startOn(config, { env: { HEADGATE_PORT: port } }))
      expect([code, err]).toEqual([69, expect.stringMatching(/^server: cannot listen: .*\n$/)])
    },
    patience,
  )
})

/** Waits until nothing listens there any more. */
const closed = (url: string) =>
  until(
    () =>
      fetch(url.replace("/api/v1", "/healthz"), { headers: { connection: "close" } }).then(
        () => false,
        () => true,
      ),
    "the port to close",
    processMs,
  )
