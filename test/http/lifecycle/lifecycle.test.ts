/** Starting and stopping: running streams, money, and an operator's mistakes. docs/guarantees.md#g3, #g19 and #g20 */
import { afterAll, afterEach, describe, expect, test } from "bun:test"
import { existsSync, mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import { isJsonObject } from "../../../src/domain/json/json.ts"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import type { LedgerRow } from "../../../src/services/storage/ledger.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { contentOf, finishesOf, readStrictly } from "../../support/clients/strictSse.ts"
import { until } from "../../support/clocks/until.ts"
import { openAccount } from "../../support/gateways/account.ts"
import { startGateway } from "../../support/gateways/gateway.ts"
import {
  costsBeforeKill,
  firstKey,
  type Installation,
  install,
  killPatience,
  type RunningGateway,
  reportKills,
} from "../../support/gateways/process.ts"
import { chunkOf, configFor, scriptedHost, streamAnswer, wholeAnswer } from "../../support/hosts/host.ts"
import { delta, tail } from "../../support/hosts/rawAnswers.ts"
import { type Peer, rawHost, streamHead } from "../../support/hosts/rawHost.ts"

const ask = { model: "acme/small", messages: [{ role: "user", content: "hello" }], stream: true, max_tokens: 50 }

const closing: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

/** The cost in an answer, in picodollars. */
const reportedCost = (answer: unknown): bigint | undefined => {
  const usage = isJsonObject(answer) ? answer["usage"] : undefined
  const cost = isJsonObject(usage) ? usage["cost"] : undefined
  return typeof cost === "number" ? BigInt(Math.round(cost * 1e12)) : undefined
}

describe("a gateway that stops", () => {
  /** A gateway with one stream that has sent a word; `peers` are the connections to its host. */
  const running = async (drainSeconds: number) => {
    const peers: Array<Peer> = []
    const host = rawHost((peer) => {
      peers.push(peer)
      peer.write(streamHead)
      peer.write(delta("Hello"))
    })
    closing.push(host.stop)
    const gateway = await startGateway({
      config: configFor({ a: { url: host.url } }, { server: { drain_s: drainSeconds } }),
    })
    closing.push(gateway.stop)
    const account = await openAccount(gateway)
    const request = () => gateway.chat(ask, { headers: { authorization: `Bearer ${account.secret}` } })
    const response = await request()
    return { gateway, host, peers, account, response, request }
  }

  /** A caller who writes raw HTTP over one connection. */
  const dial = async (url: string, secret: string) => {
    let text = ""
    let over = false
    const socket = await Bun.connect({
      hostname: "127.0.0.1",
      port: Number(new URL(url).port),
      socket: {
        data: (_, bytes) => {
          text += bytes.toString("latin1")
        },
        close: () => {
          over = true
        },
        error: () => {},
      },
    })
    closing.push(() => socket.terminate())
    const body = JSON.stringify(ask)
    const post = () => {
      socket.write(
        `POST /api/v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${secret}\r\n` +
          `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      )
    }
    return { post, text: () => text, isOver: () => over }
  }

  test("lets a stream end, and accepts no new request, neither on the same connection nor on another", async () => {
    const { gateway, host, peers, account, response } = await running(20)
    const caller = await dial(gateway.url, account.secret)
    caller.post()
    await until(() => caller.text().includes("Hello"), "the text")

    const stopped = gateway.stop()
    const refused = fetch(`${gateway.url}/models`).then(
      () => "answered",
      () => "refused",
    )
    expect(await refused).toBe("refused")
    for (const peer of peers) peer.write(Buffer.concat([delta(" world"), tail]))
    const { events, done } = readStrictly(await response.text())
    expect([done, contentOf(events)]).toEqual([true, "Hello world"])

    // Kept connections are closed after their answer: a later request on them is not read.
    await until(() => caller.text().includes("data: [DONE]"), "the end of the stream")
    caller.post()
    await until(caller.isOver, "the end of the connection")
    expect(caller.text().match(/^HTTP\/1\.1 /gm)?.length).toBe(1)

    await stopped
    expect(host.requests()).toBe(2)
    expect((await account.rows()).map(({ outcome, cost }) => [outcome, cost])).toEqual([
      ["finished", 20_000_000n],
      ["finished", 20_000_000n],
    ])
    expect(await account.reserved()).toBe(0n)
  })

  test("ends the remaining streams with a 503 in the stream, and charges them", async () => {
    const { gateway, host, account, response } = await running(0)
    const reading = response.text()
    await gateway.stop()
    const { events, done } = readStrictly(await reading)
    const last = events.at(-1)
    expect([done, contentOf(events)]).toEqual([true, "Hello"])
    expect(last).toMatchObject({
      error: { code: 503, metadata: { error_type: "draining" } },
      choices: [{ index: 0, delta: { content: "" }, finish_reason: "error" }],
    })
    const [row, ...more] = await account.rows()
    expect([row, more]).toMatchObject([{ outcome: "cut", estimated: true }, []])
    expect(row?.cost).toBeGreaterThan(0n)
    expect(reportedCost(last)).toBe(row?.cost ?? -1n)
    expect(await account.reserved()).toBe(0n)
    await until(() => host.open() === 0, "the end of the host's connection")
  })

  test("ends answers that have not begun with a 503, free of charge", async () => {
    const host = rawHost(() => {})
    closing.push(host.stop)
    const gateway = await startGateway({ config: configFor({ a: { url: host.url } }, { server: { drain_s: 0 } }) })
    closing.push(gateway.stop)
    const account = await openAccount(gateway)
    const response = gateway.chat(ask, { headers: { authorization: `Bearer ${account.secret}` } })
    await until(() => host.requests() === 1, "the call")
    await gateway.stop()
    expect((await response).status).toBe(503)
    expect(await account.rows()).toEqual([])
    expect(await account.reserved()).toBe(0n)
  })

  test("does not wait for a caller who does not read", async () => {
    const { gateway, account, response } = await running(0)
    await gateway.stop()
    expect(await account.rows()).toMatchObject([{ outcome: "cut" }])
    await response.body?.cancel()
  })
})

// --- the process

/** Processes are tested concurrently, so each test closes only what it opened itself. */
const closingAtEnd: Array<() => unknown> = []
afterAll(() => Promise.all(closingAtEnd.map((close) => close())))

const installed = (): Installation => {
  const installation = install()
  closingAtEnd.push(installation.remove)
  return installation
}

const hostFor = (answer: Parameters<typeof scriptedHost>[0]) => {
  const host = scriptedHost(answer)
  closingAtEnd.push(host.stop)
  return host
}

/** A key's ledger rows and spend. Read together, since opening the database takes longer than either query. */
const accountOf = (installation: Installation, secret: string) =>
  installation.ask(
    Effect.flatMap(Storage, (storage) =>
      Effect.all({
        rows: storage.ledger.rows(keyId(secret), 100_000),
        spent: storage.ledger.spend(keyId(secret), Date.now()),
      }),
    ),
  )

const rowsOf = async (installation: Installation, secret: string): Promise<ReadonlyArray<LedgerRow>> =>
  (await accountOf(installation, secret)).rows

const post = (url: string, secret: string, body: unknown): Promise<Response> =>
  fetch(`${url}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${secret}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  })

/** Every cost that was reported is in the ledger, once, to the picodollar. */
const expectBooked = (rows: ReadonlyArray<LedgerRow>, reported: ReadonlyMap<unknown, bigint>) => {
  const booked = new Map(rows.map((row) => [row.generationId as unknown, row.cost]))
  expect(booked.size).toBe(rows.length)
  for (const [generation, cost] of reported) expect([generation, booked.get(generation)]).toEqual([generation, cost])
}

describe.concurrent("the process", () => {
  const patience = 1_800_000

  test(
    "shows two keys and a line that works at its first start, and never again",
    async () => {
      const installation = installed()
      const first = installation.start({ config: { discovery: { environment: false, local: false } } })
      await first.url()
      await until(() => first.out().includes("curl "), "the line")
      const key = firstKey(first.out())
      expect(key).toMatch(/^sk-gw-[A-Za-z0-9]{49}$/)
      expect(first.out().match(/sk-gwm-[A-Za-z0-9]{49}/g)?.length).toBe(1)
      expect(first.out().split(key).length - 1).toBe(2)
      expect(first.err()).not.toContain("sk-gw")

      const line = /^ *(curl .*)$/m.exec(first.out())?.[1] ?? ""
      const shell = Bun.spawn(["sh", "-c", line], { stdout: "pipe", stderr: "ignore" })
      expect(JSON.parse(await new Response(shell.stdout).text())).toMatchObject({
        choices: [{ message: { content: "Hello, gateway!" } }],
      })
      first.kill("SIGTERM")
      expect(await first.exited).toBe(0)
      expect((await rowsOf(installation, key)).length).toBe(1)

      const second = installation.start()
      expect((await post(await second.url(), key, { model: "headgate/echo", messages: ask.messages })).status).toBe(200)
      expect(second.out()).not.toContain("sk-gw")
      expect(second.out()).not.toContain("curl")
      second.kill("SIGTERM")
      expect(await second.exited).toBe(0)
    },
    patience,
  )

  test(
    "asked to stop amid streams, ends with 0, and every cost that a caller saw is in the ledger",
    async () => {
      const finishing: Array<() => void> = []
      const encoder = new TextEncoder()
      // Every second stream ends once the gateway was asked to stop. The others would never end.
      const host = hostFor((_, __, call) => {
        const body = new ReadableStream<Uint8Array>({
          start: (controller) => {
            controller.enqueue(encoder.encode(`data: ${chunkOf({ delta: { content: "Hello" } })}\n\n`))
            if (call % 2 === 0) return
            finishing.push(() => {
              controller.enqueue(encoder.encode(`data: ${chunkOf({ delta: {}, finish_reason: "stop" })}\n\n`))
              controller.enqueue(encoder.encode("data: [DONE]\n\n"))
              controller.close()
            })
          },
        })
        return new Response(body, { headers: { "content-type": "text/event-stream" } })
      })
      const installation = installed()
      const gateway = installation.start({ config: configFor({ a: { url: host.url } }, { server: { drain_s: 10 } }) })
      const url = await gateway.url()
      await until(() => gateway.out().includes("curl "), "the keys")
      const key = firstKey(gateway.out())
      const responses = await Promise.all(Array.from({ length: 20 }, () => post(url, key, ask)))
      const texts = responses.map((response) => response.text())
      gateway.kill("SIGTERM")
      for (const end of finishing) end()
      const streams = (await Promise.all(texts)).map(readStrictly)
      expect(await gateway.exited).toBe(0)

      const ends = streams.map(({ events }) => finishesOf(events).at(-1))
      expect(streams.every(({ done, events }) => done && contentOf(events) === "Hello")).toBe(true)
      expect(ends.filter((end) => end?.["error"] === undefined).length).toBe(10)
      expect(ends.filter((end) => end?.["error"] !== undefined).length).toBe(10)
      const rows = await rowsOf(installation, key)
      expect(rows.length).toBe(20)
      expectBooked(rows, new Map(ends.map((end) => [end?.["id"], reportedCost(end) ?? -1n])))
      expect(rows.filter(({ outcome }) => outcome === "cut").length).toBe(10)
    },
    patience,
  )

  test(
    "killed at any moment, has written every cost that a caller saw",
    async () => {
      const words = Array.from({ length: 5 }, (_, at) => `word${at} `)
      const host = hostFor((body) => (body["stream"] === true ? streamAnswer(words) : wholeAnswer("Hello")))
      const installation = installed()
      const reported = new Map<unknown, bigint>()
      let key = ""
      let config: unknown = configFor({ a: { url: host.url } })

      const round = async (least: number) => {
        const gateway: RunningGateway = installation.start(config === undefined ? {} : { config })
        config = undefined
        const url = await gateway.url()
        if (key === "") {
          await until(() => gateway.out().includes("curl "), "the keys")
          key = firstKey(gateway.out())
        }
        const before = reported.size
        let killed = false
        const hear = (answer: unknown) => {
          const cost = reportedCost(answer)
          if (isJsonObject(answer) && cost !== undefined) reported.set(answer["id"], cost)
          if (reported.size - before < least || killed) return
          killed = true
          gateway.kill("SIGKILL")
        }
        const caller = async (stream: boolean) => {
          while (!killed) {
            const response = await post(url, key, { ...ask, stream })
            // The stream ends with its connection. An event that did not arrive whole does not count.
            const text = await response.text()
            if (stream) for (const end of finishesOf(readStrictly(text).events)) hear(end)
            else hear(JSON.parse(text))
          }
        }
        await Promise.allSettled(Array.from({ length: 12 }, (_, at) => caller(at % 2 === 0)))
        expect(await gateway.exited).toBe(137)
        expect(reported.size - before).toBeGreaterThanOrEqual(least)
        const { rows, spent } = await accountOf(installation, key)
        expectBooked(rows, reported)
        expect(spent.total).toBe(rows.reduce((sum, { cost }) => sum + cost, 0n))
      }
      for (const least of costsBeforeKill()) await round(least)
      expect(reported.size).toBeGreaterThan(200)
      const { rows, spent } = await accountOf(installation, key)
      const sum = rows.reduce((total, { cost }) => total + cost, 0n)
      reportKills("SQLite, killed", { answered: reported.size, rows: rows.length, spent: spent.total, sum })
    },
    killPatience,
  )

  test(
    "a second one on the same file does not start, and names the first",
    async () => {
      const installation = installed()
      const config = { discovery: { environment: false, local: false } }
      const first = installation.start({ config })
      const url = await first.url()
      const second = installation.start()
      expect(await second.exited).toBe(73)
      expect(second.err()).toContain(`already in use by pid ${first.pid}`)
      expect(second.err()).toContain(installation.database)
      expect(second.out()).toBe("")
      expect((await fetch(`${url}/models`)).status).toBe(401)
      first.kill("SIGTERM")
      expect(await first.exited).toBe(0)
    },
    patience,
  )

  test(
    "asked twice to stop ends the running requests at once, and books them",
    async () => {
      const host = hostFor(() => {
        const body = new ReadableStream<Uint8Array>({
          start: (controller) =>
            controller.enqueue(new TextEncoder().encode(`data: ${chunkOf({ delta: { content: "Hello" } })}\n\n`)),
        })
        return new Response(body, { headers: { "content-type": "text/event-stream" } })
      })
      const installation = installed()
      const config = configFor({ a: { url: host.url } }, { server: { drain_s: 3600 } })
      const gateway = installation.start({ config })
      const url = await gateway.url()
      await until(() => gateway.out().includes("curl "), "the keys")
      const key = firstKey(gateway.out())
      const text = (await post(url, key, ask)).text()
      gateway.kill("SIGTERM")
      await until(
        () =>
          fetch(url.replace("/api/v1", "/healthz")).then(
            () => false,
            () => true,
          ),
        "the port to close",
      )
      let ended = false
      void gateway.exited.then(() => {
        ended = true
      })
      // A signal that comes at once is taken for a copy of the first.
      await until(() => {
        if (!ended) gateway.kill("SIGTERM")
        return ended
      }, "the end")
      const { events, done } = readStrictly(await text)
      expect([done, contentOf(events)]).toEqual([true, "Hello"])
      expect(await gateway.exited).toBe(0)
      expect((await rowsOf(installation, key)).map(({ outcome }) => outcome)).toEqual(["cut"])
    },
    patience,
  )

  test(
    "on a port that is taken says so in one line",
    async () => {
      const installation = installed()
      const taken = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => {} } })
      closingAtEnd.push(() => taken.stop(true))
      const config = { discovery: { environment: false, local: false } }
      const gateway = installation.start({ config, env: { HEADGATE_PORT: `${taken.port}` } })
      expect(await gateway.exited).toBe(69)
      expect(gateway.err().trim().split("\n").at(-1)).toMatch(
        new RegExp(`^server: port ${taken.port} of 127\\.0\\.0\\.1 is used by another program \\(pid ${process.pid}: `),
      )
    },
    patience,
  )

  test(
    "outlives an unhandled rejection in a plugin",
    async () => {
      const installation = installed()
      const folder = join(installation.folder, "plugins")
      mkdirSync(join(folder, "strategies", "careless"), { recursive: true })
      writeFileSync(
        join(folder, "strategies", "careless", "index.ts"),
        'void Promise.reject(new Error("forgotten"))\nexport default 1\n',
      )
      const config = { discovery: { environment: false, local: false }, plugins: { folders: [folder] } }
      const gateway = installation.start({ config })
      const url = await gateway.url()
      expect((await fetch(url.replace("/api/v1", "/healthz"))).status).toBe(200)
      await until(() => gateway.err().includes("unhandled rejection: Error: forgotten"), "the line of the log")
      gateway.kill("SIGTERM")
      expect(await gateway.exited).toBe(0)
    },
    patience,
  )

  test(
    "with mistakes in its configuration reports all of them, opens no port and makes no file",
    async () => {
      const installation = installed()
      // A gateway that tried to listen on this port would fail with another message.
      const taken = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data: () => {} } })
      closingAtEnd.push(() => taken.stop(true))
      const config = {
        server: { prot: 1, drain_s: "soon" },
        limits: { idle_ms: -5 },
        providers: {
          a: { plugin: "openai-compatible", base_url: "http://198.51.100.7/v1", api_key: "sk-very-secret" },
        },
      }
      const gateway = installation.start({
        config,
        env: { HEADGATE_PORT: String(taken.port), HEADGATE_STORAGE: "oracle:x" },
      })
      expect(await gateway.exited).toBe(78)
      const lines = gateway.err().trimEnd().split("\n")
      expect(lines.every((line) => line.startsWith("config error: "))).toBe(true)
      for (const path of [
        "server.prot",
        "server.drain_s",
        "limits.idle_ms",
        "providers.a.base_url",
        "HEADGATE_STORAGE",
      ])
        expect(lines.filter((line) => line.startsWith(`config error: ${path}: `)).length).toBe(1)
      expect(gateway.err()).toContain('did you mean "port"?')
      expect(gateway.err()).not.toContain("sk-very-secret")
      expect([gateway.out(), existsSync(installation.database)]).toEqual(["", false])
    },
    patience,
  )

  test(
    "warns of an unsuitable environment, and not of a suitable one",
    async () => {
      const config = { discovery: { environment: false, local: false }, storage: "memory:" }
      const started = async (env: Readonly<Record<string, string>>) => {
        const gateway = installed().start({ config, env: { HEADGATE_STORAGE: "memory:", ...env } })
        await gateway.url()
        gateway.kill("SIGTERM")
        expect(await gateway.exited).toBe(0)
        return gateway.err()
      }
      const poor = await started({ BUN_CONFIG_MAX_HTTP_REQUESTS: "", HTTP_PROXY: "http://127.0.0.1:9" })
      expect(poor).toContain("BUN_CONFIG_MAX_HTTP_REQUESTS=4096")
      expect(poor).toContain("HTTP_PROXY")
      const rich = await started({ BUN_CONFIG_MAX_HTTP_REQUESTS: "2048" })
      expect(rich).not.toContain("BUN_CONFIG_MAX_HTTP_REQUESTS")
      expect(rich).not.toContain("HTTP_PROXY")
    },
    patience,
  )
})
