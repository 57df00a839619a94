/** Several worker processes on one port and one database, as an operator runs them. docs/guarantees.md#g19, docs/decisions/0024 */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { existsSync } from "node:fs"
import * as Effect from "effect/Effect"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import { openDatabase } from "../../../src/sql/postgres/postgresDatabase.ts"
import { contentOf, finishesOf, readStrictly } from "../../support/clients/strictSse.ts"
import { until } from "../../support/clocks/until.ts"
import { firstKey, firstManagementKey, install, type RunningGateway } from "../../support/gateways/process.ts"
import { chunkOf, configFor } from "../../support/hosts/host.ts"
import { event, lastPart, type Peer, rawHost, streamHead } from "../../support/hosts/rawHost.ts"
import { describePostgres, makeDatabase, redactedUrlOf, urlOf } from "../../support/storage/postgres.ts"

const patience = 1_800_000

/** For processes to start or end, on a busy machine. */
const processMs = 550_000

const closing: Array<() => unknown> = []
afterAll(async () => {
  for (const close of closing.toReversed()) await close()
})

const bare = { discovery: { environment: false, local: false } }

const startOn = async (config: unknown, env: Readonly<Record<string, string>> = {}) => {
  const installation = install()
  closing.push(installation.remove)
  const database = await makeDatabase()
  const gateway = installation.start({ config, env: { HEADGATE_STORAGE: urlOf(database), ...env } })
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
  await until(() => gateway.out().includes("curl "), "the keys", processMs)
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
        Effect.flatMap(openDatabase({ url: redactedUrlOf(database), durability: "full" }), ({ ledger }) =>
          ledger.rows(keyId(key), 1000),
        ),
      ),
    )
  return { gateway, url, peers, waiting, rows }
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

/** Streams of all of `words`: all have reached the host when this resolves, and go on when `finish` is called. */
const startStreams = async ({ peers, waiting }: Awaited<ReturnType<typeof twoWorkers>>, count: number) => {
  const answers = await waiting(count, true)
  const hosts = peers.slice(-count)
  sayOn(hosts, streamHead)
  sayOn(hosts, say(words[0] ?? ""))
  const texts = (await Promise.all(answers)).map((response) => response.text())
  const finish = () => {
    for (const word of words.slice(1)) sayOn(hosts, say(word))
    sayOn(hosts, streamEnd)
  }
  const ended = async () => (await Promise.all(texts)).map(readStrictly)
  return { finish, ended }
}

const wholeStreams = (count: number) => Array.from({ length: count }, () => [true, words.join("")])

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

/** Asks again until it ends. A signal that comes at once is taken for a copy of the first. */
const stopNow = async (gateway: RunningGateway): Promise<void> => {
  let isOver = false
  void gateway.exited.then(() => {
    isOver = true
  })
  await until(
    () => {
      if (!isOver) gateway.kill("SIGTERM")
      return isOver
    },
    "the end",
    processMs,
  )
}

describePostgres("two workers, from their start to their end:", () => {
  let started: Awaited<ReturnType<typeof twoWorkers>>
  let booked = 0
  beforeAll(async () => {
    started = await twoWorkers()
  }, patience)

  test("both answer on one port; keys and address are shown once", async () => {
    const { gateway, url, peers, waiting } = started
    const base = url.replace("/api/v1", "")
    const probes = ["/healthz", "/readyz"].flatMap((path) =>
      Array.from({ length: 10 }, () => fetch(`${base}${path}`, { headers: { connection: "close" } })),
    )
    expect(new Set((await Promise.all(probes)).map(({ status }) => status))).toEqual(new Set([200]))
    const answers = await waiting(20)
    sayOn(peers, whole("hi"))
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(answers.map(() => 200))
    booked += 20
    expect(gateway.out().match(/headgate listens at|management key|ordinary key/g)).toHaveLength(3)
  })

  test("both read the configuration again, at SIGHUP of the supervisor and when one of them was asked to", async () => {
    const { gateway, url } = started
    const reloads = () => gateway.err().match(/Configuration reloaded from .*worker=\d/g) ?? []
    process.kill(gateway.pid, "SIGHUP")
    await until(() => reloads().length === 2, "the reloads", processMs)
    const headers = { authorization: `Bearer ${firstManagementKey(gateway.out())}` }
    const { status } = await fetch(`${url}/config/reload`, { method: "POST", headers })
    expect(status).toBe(200)
    await until(() => reloads().length === 4, "the reloads", processMs)
    const workers = reloads().map((line) => line.slice(-1))
    expect([new Set(workers.slice(0, 2)).size, new Set(workers.slice(2)).size]).toEqual([2, 2])
  })

  test(
    "another gateway with workers does not take the same port, and ends with 69",
    async () => {
      const { port } = new URL(started.url)
      const { gateway } = await startOn({ ...bare, server: { workers: 2 } }, { HEADGATE_PORT: port })
      expect(await gateway.exited).toBe(69)
      expect(gateway.err()).toMatch(new RegExp(`^server: port ${port} of \\S+ is used by .*\\n$`))
    },
    patience,
  )

  test(
    "one is killed: no request is lost but its own, and another takes its place",
    async () => {
      const { gateway, peers, waiting } = started
      const answers = (await waiting(40)).map((answer) =>
        answer.then(
          ({ status }) => status,
          () => "lost",
        ),
      )
      const hosts = peers.slice(-40)
      const [first = 0, second = 0] = pidsOf(gateway)
      process.kill(second, "SIGKILL")
      const cut = () => hosts.filter((peer) => !peer.isOpen()).length
      await until(() => !isAlive(second) && cut() > 0, "the end of worker 2")
      sayOn(hosts, whole("hi"))
      const statuses = await Promise.all(answers)
      const lost = statuses.filter((status) => status === "lost").length
      booked += 40 - lost
      expect(new Set(statuses)).toEqual(new Set([200, "lost"]))
      await until(() => cut() === lost, "the end of its calls, and of no others")

      // One serves all that comes, until there are two again.
      const answered = async (count: number) => {
        const next = await waiting(count)
        sayOn(peers.slice(-count), whole("hi"))
        expect((await Promise.all(next)).map(({ status }) => status)).toEqual(next.map(() => 200))
        booked += count
      }
      await answered(10)
      await serving(gateway, 3)
      expect(pidsOf(gateway)[0]).toBe(first)
      await answered(20)
    },
    patience,
  )

  test(
    "asked to stop amid 100 streams, they let all of them end, book them, and end with 0",
    async () => {
      const { gateway, url, rows } = started
      const { finish, ended } = await startStreams(started, 100)
      gateway.kill("SIGTERM")
      await closed(url)
      finish()
      expect((await ended()).map(({ done, events }) => [done, contentOf(events)])).toEqual(wholeStreams(100))
      expect(await gateway.exited).toBe(0)
      expect(pidsOf(gateway).filter(isAlive)).toEqual([])
      booked += 100
      expect((await rows()).filter(({ outcome }) => outcome === "finished").length).toBe(booked)
      // Where the machine is slow, progress is told as well.
      const logged = gateway
        .err()
        .trimEnd()
        .split("\n")
        .filter((line) => !line.startsWith("headgate: "))
      for (const line of logged) expect(line).toMatch(/^time=\S+ level=.* worker=\d/)
      const last = /^headgate stopped: SIGTERM; 100 requests ended by themselves, 0 were cut off; it took [\d.]+ s$/m
      expect(gateway.out()).toMatch(last)
      expect(gateway.out().match(/headgate stopped/g)).toHaveLength(1)
    },
    patience,
  )
})

describePostgres("two workers", () => {
  test(
    "whose supervisor is killed let their streams end, and end",
    async () => {
      const started = await twoWorkers()
      const { finish, ended } = await startStreams(started, 10)
      started.gateway.kill("SIGKILL")
      await closed(started.url)
      finish()
      expect((await ended()).map(({ done, events }) => [done, contentOf(events)])).toEqual(wholeStreams(10))
      await until(() => !pidsOf(started.gateway).some(isAlive), "the end of the workers", processMs)
    },
    patience,
  )

  test(
    "asked twice to stop end the running streams at once",
    async () => {
      const started = await twoWorkers({ drain_s: 3600 })
      const { gateway, url } = started
      const { ended } = await startStreams(started, 10)
      gateway.kill("SIGTERM")
      await closed(url)
      await stopNow(gateway)
      expect(await gateway.exited).toBe(0)
      const errors = (await ended()).map(({ events }) => finishesOf(events).at(-1)?.["error"])
      expect(errors.filter((error) => error !== undefined).length).toBe(10)
    },
    patience,
  )

  test(
    "asked to stop serve on together within `drain_delay_s`: none is ready, every answer says Connection: close",
    async () => {
      const { gateway, url, peers, waiting } = await twoWorkers({ drain_delay_s: 3600 })
      const root = url.replace("/api/v1", "")
      /** Each on a connection of its own, so that the kernel spreads them over the workers. */
      const probes = () =>
        Promise.all(Array.from({ length: 20 }, () => fetch(`${root}/readyz`, { headers: { connection: "close" } })))
      gateway.kill("SIGTERM")
      await until(async () => (await probes()).every(({ status }) => status === 503), "both to leave", processMs)
      const answers = await waiting(10)
      sayOn(peers, whole("still here"))
      const served = await Promise.all(answers)
      expect(served.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200))
      expect(served.every(({ headers }) => headers.get("connection") === "close")).toBe(true)
      for (const answer of served) expect(await answer.text()).toContain("still here")
      await stopNow(gateway)
    },
    patience,
  )

  test(
    "end when `drain_delay_s` are over",
    async () => {
      const { gateway } = await twoWorkers({ drain_delay_s: 2 })
      gateway.kill("SIGTERM")
      expect(await gateway.exited).toBe(0)
    },
    patience,
  )

  test(
    "whose strategy is not installed are not started again and again: it ends with 78",
    async () => {
      const { gateway } = await startOn({ ...bare, server: { workers: 2 }, routing: { strategy: "cheapest" } })
      expect(await gateway.exited).toBe(78)
      const [problem, end, ...more] = gateway.err().trimEnd().split("\n")
      expect(problem).toStartWith("config error: routing.strategy: ")
      expect([end, more]).toEqual(["worker 1 ended with exit code 78 before it served", []])
    },
    patience,
  )
})
