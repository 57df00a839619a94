/**
 * Callers who leave in the middle, and callers who do not read: on real sockets. docs/guarantees.md#g5, #g6, #g15 and
 * #g18
 */
import { afterEach, describe, expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import { contentOf, finishesOf, readStrictly } from "../../support/clients/strictSse.ts"
import { until } from "../../support/clocks/until.ts"
import { openAccount, type TestAccount } from "../../support/gateways/account.ts"
import { gatewayWithoutSocket, startGateway, type TestGateway } from "../../support/gateways/gateway.ts"
import { chunkOf, configFor } from "../../support/hosts/host.ts"
import { event, lastPart, type Peer, part, type RawHost, rawHost, streamHead } from "../../support/hosts/rawHost.ts"
import { gatedStorage } from "../../support/storage/gatedStorage.ts"

const ask = { model: "acme/small", messages: [{ role: "user", content: "hello" }], stream: true, max_tokens: 50 }
const delta = (content: string) => event(chunkOf({ delta: { content }, finish_reason: null }))
const finish = event(chunkOf({ delta: {}, finish_reason: "stop" }))
const usage = event(JSON.stringify({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 5 } }))
const done = event("[DONE]")
const ending = Buffer.concat([finish, usage, done, Buffer.from(lastPart)])
const costOfUsage = 20_000_000n

const closing: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

interface Scene {
  readonly gateway: TestGateway
  readonly account: TestAccount
  readonly host: RawHost
  readonly gates: ReturnType<typeof gatedStorage>["gates"]
  /** Another gateway on the same storage, with nothing cached yet. */
  readonly another: () => Promise<TestGateway>
  readonly request: (init?: RequestInit) => Promise<Response>
}

const scene = async (
  script: (peer: Peer, call: number) => void,
  limits: Record<string, number> = {},
  start = startGateway,
): Promise<Scene> => {
  const host = rawHost(script)
  closing.push(host.stop)
  const { layer, gates } = gatedStorage()
  const another = async () => {
    const gateway = await start({ config: configFor({ a: { url: host.url } }, { limits }), storage: layer })
    closing.push(gateway.stop)
    return gateway
  }
  const gateway = await another()
  const account = await openAccount(gateway)
  const authorization = `Bearer ${account.secret}`
  return {
    gateway,
    account,
    host,
    gates,
    another,
    request: (init) => gateway.chat(ask, { ...init, headers: { authorization } }),
  }
}

/**
 * Waits until the rows are written, nothing is reserved and the host's connection is closed. Checks that no row comes
 * later.
 */
const expectSettled = async ({ account, host }: Scene, rows: number) => {
  await until(async () => (await account.rows()).length >= rows, "the row")
  await until(async () => (await account.reserved()) === 0n, "the release of what was reserved")
  await until(() => host.open() === 0, "the end of the host's connection")
  expect((await account.rows()).length).toBe(rows)
}

/** A raw HTTP/1.1 connection of a caller. */
const dial = async ({ gateway, account }: Scene, more: { readonly pause?: boolean } = {}) => {
  const text: Array<string> = []
  let over = false
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port: Number(new URL(gateway.url).port),
    allowHalfOpen: true,
    socket: {
      data: (self, bytes) => {
        text.push(bytes.toString("latin1"))
        if (more.pause === true) self.pause()
      },
      close: () => {
        over = true
      },
      error: () => {},
    },
  })
  closing.push(() => socket.terminate())
  const body = JSON.stringify(ask)
  const head = `POST /api/v1/chat/completions HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${account.secret}`
  return {
    socket,
    ask: () =>
      socket.write(`${head}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`),
    text: () => text.join(""),
    isOver: () => over,
  }
}

describe("a caller who leaves", () => {
  test("while the host's head is awaited: the host's connection is closed, and the prompt is charged once", async () => {
    // The gateway's own head comes after ten seconds, if the host's does not.
    const stage = await scene(() => {}, { commit_after_ms: 120_000 })
    const leave = new AbortController()
    const response = stage.request({ signal: leave.signal }).catch(() => undefined)
    await until(() => stage.host.requests() === 1, "the call")
    expect(await stage.account.reserved()).toBeGreaterThan(0n)
    leave.abort()
    expect(await response).toBeUndefined()
    await expectSettled(stage, 1)
    const [row] = await stage.account.rows()
    expect(row).toMatchObject({ outcome: "caller-gone", completionTokens: 0, estimated: true, streamed: true })
    expect(row?.cost).toBeGreaterThan(0n)
    expect(await stage.account.total()).toBe(row?.cost ?? -1n)
  })

  test("after the head, without reading: charged for the output so far", async () => {
    const stage = await scene((peer) => peer.write(Buffer.concat([Buffer.from(streamHead), delta("12345678")])))
    const leave = new AbortController()
    await stage.request({ signal: leave.signal })
    leave.abort()
    await expectSettled(stage, 1)
    expect(await stage.account.rows()).toMatchObject([{ outcome: "caller-gone", completionTokens: 2, estimated: true }])
  })

  test("a hundred callers who leave before content: every connection to the host is closed, and each is booked once", async () => {
    const role = event(chunkOf({ delta: { role: "assistant", content: "" }, finish_reason: null }))
    const stage = await scene((peer, call) => {
      if (call % 2 === 0) peer.write(Buffer.concat([Buffer.from(streamHead), role]))
    })
    const leave = new AbortController()
    const asked = Array.from({ length: 100 }, () => stage.request({ signal: leave.signal }).catch(() => undefined))
    await until(() => stage.host.requests() === 100, "the calls")
    leave.abort()
    await Promise.all(asked)
    await expectSettled(stage, 100)
  })

  test("in the middle, by cancelling the body", async () => {
    const stage = await scene((peer) => {
      peer.write(streamHead)
      const more = setInterval(() => (peer.isOpen() ? peer.write(delta("word ")) : clearInterval(more)), 5)
    })
    const response = await stage.request()
    let seen = ""
    for await (const bytes of response.body ?? []) {
      seen += new TextDecoder().decode(bytes)
      if (seen.split("word").length > 4) break
    }
    await expectSettled(stage, 1)
    expect(await stage.account.rows()).toMatchObject([{ outcome: "caller-gone", estimated: true }])
  })

  test("between the finish and its cost: booked as finished, by the host's own count", async () => {
    const stage = await scene((peer) => peer.write(Buffer.concat([Buffer.from(streamHead), delta("Hello"), ending])))
    stage.gates.append.close()
    const leave = new AbortController()
    const response = await stage.request({ signal: leave.signal })
    const reading = response.text().catch(() => "left")
    await until(() => stage.gates.append.waiting() === 1, "the row")
    leave.abort()
    expect(await reading).toBe("left")
    stage.gates.append.open()
    await until(async () => (await stage.account.rows()).length === 1, "the row")
    await until(async () => (await stage.account.reserved()) === 0n, "the release of what was reserved")
    expect(await stage.account.rows()).toMatchObject([{ outcome: "finished", cost: costOfUsage }])
  })

  test("before any host was called: pays nothing, and no host is called", async () => {
    const stage = await scene(() => {})
    stage.gates.spend.close()
    const caller = await dial(stage)
    caller.ask()
    await until(() => stage.gates.spend.waiting() === 1, "the request")
    caller.socket.terminate()
    await stage.gateway.call("/nothing-here")
    stage.gates.spend.open()
    await until(async () => (await stage.account.reserved()) === 0n, "the release of what was reserved")
    expect(await stage.account.rows()).toEqual([])
    expect(stage.host.requests()).toBe(0)
  })

  test("while the key is looked up: pays nothing, and no host is called", async () => {
    const stage = await scene(() => {})
    const gateway = await stage.another()
    stage.gates.findKey.close()
    const caller = await dial({ ...stage, gateway })
    caller.ask()
    await until(() => stage.gates.findKey.waiting() === 1, "the request")
    caller.socket.terminate()
    await gateway.call("/nothing-here")
    stage.gates.findKey.open()
    // The request that was let through is over once later requests have come and gone.
    for (let after = 0; after < 5; after++) await gateway.call("/nothing-here")
    expect(stage.host.requests()).toBe(0)
    expect(await stage.account.rows()).toEqual([])
  })

  test.each(["a half-closed connection", "a reset"] as const)("by %s, in the middle of the stream", async (how) => {
    const stage = await scene((peer) => peer.write(Buffer.concat([Buffer.from(streamHead), delta("Hello")])))
    const caller = await dial(stage)
    caller.ask()
    await until(() => caller.text().includes("Hello"), "the text")
    if (how === "a reset") caller.socket.terminate()
    else caller.socket.shutdown()
    await expectSettled(stage, 1)
    expect(await stage.account.rows()).toMatchObject([{ outcome: "caller-gone" }])
  })

  test("by half-closing while the host's head is awaited", async () => {
    const stage = await scene(() => {})
    const caller = await dial(stage)
    caller.ask()
    await until(() => stage.host.requests() === 1, "the call")
    caller.socket.shutdown()
    await expectSettled(stage, 1)
  })

  test("three hundred times at any moment: each is booked once at most, and nothing is left of them", async () => {
    const atOnce = 12
    let answersAll = true
    const stage = await scene(
      (peer, call) => {
        const parts = [Buffer.from(streamHead), delta("one "), delta("two "), delta("three "), ending]
        const next = () => {
          const each = parts.shift()
          if (each === undefined || !peer.isOpen()) return
          peer.write(each)
          if (call % 7 === 0) next()
          else setTimeout(next, call % 4)
        }
        if (answersAll || call % 5 !== 0) next()
      },
      { max_in_flight: atOnce },
    )
    const moments = FastCheck.sample(FastCheck.integer({ min: 0, max: 14 }), { numRuns: 300, seed: 7 })
    const one = async (milliseconds: number): Promise<number> => {
      const leave = new AbortController()
      const timer = setTimeout(() => leave.abort(), milliseconds)
      const status = await stage.request({ signal: leave.signal }).then(
        async (response) => {
          await response.text().catch(() => "")
          return response.status
        },
        () => 0,
      )
      // Answers that never come are abandoned too.
      leave.abort()
      clearTimeout(timer)
      return status
    }
    // A busy machine takes longer for every step of a request.
    const begun = performance.now()
    for (let calls = 0; calls < atOnce; calls++) expect(await one(60_000)).toBe(200)
    const slowness = Math.max(1, (performance.now() - begun) / atOnce / 10)
    answersAll = false
    const statuses: Array<number> = []
    const caller = async () => {
      for (let next = moments.pop(); next !== undefined; next = moments.pop()) {
        const status = await one(next * slowness)
        // The request before may still be in flight when its caller sends the next one.
        if (status === 503) moments.push(next)
        else statuses.push(status)
      }
    }
    await Promise.all(Array.from({ length: 6 }, caller))
    expect(statuses.length).toBe(300)

    await until(async () => (await stage.account.reserved()) === 0n, "the release of what was reserved")
    const rows = await stage.account.rows()
    expect(rows.length).toBeLessThanOrEqual(300 + atOnce)
    expect(new Set(rows.map(({ requestId }) => requestId)).size).toBe(rows.length)
    // There are both kinds; how many of each is the machine's doing.
    expect(rows.filter(({ outcome }) => outcome === "caller-gone").length).toBeGreaterThan(0)
    expect(rows.filter(({ outcome }) => outcome === "finished").length).toBeGreaterThan(atOnce)
    expect(await stage.account.total()).toBe(rows.reduce((sum, { cost }) => sum + cost, 0n))

    // As many requests as may be in flight at once: so none of the earlier ones is in flight any more.
    const answers = await Promise.all(Array.from({ length: atOnce }, () => one(2000 * slowness)))
    expect(answers.filter((status) => status === 503)).toEqual([])
  })
})

describe("a caller who does not read", () => {
  const endless = (peer: Peer) => {
    const block = Buffer.concat(Array.from({ length: 100 }, () => delta("word ".repeat(100))))
    peer.write(streamHead)
    const more = () => {
      if (!peer.isOpen()) return
      // At most a few blocks wait in the host itself.
      if (written - peer.sent() < 4 * block.length) {
        peer.write(block)
        written += block.length
      }
      setTimeout(more, 0)
    }
    let written = streamHead.length
    more()
  }

  /** How many bytes the host could send until the gateway took no more. */
  const taken = async ({ host }: Scene): Promise<number> => {
    let before = -1
    let still = 0
    await until(() => {
      const sent = host.peer().sent()
      still = sent === before ? still + 1 : 0
      before = sent
      return still >= 40
    }, "the end of the sending")
    return before
  }

  test("pauses the host: no more is read than the sockets' buffers hold", async () => {
    const stage = await scene(endless, {}, gatewayWithoutSocket)
    const response = await stage.request()
    const reader = response.body?.getReader()
    const first = await taken(stage)
    expect(first).toBeLessThan(16 * 1_048_576)
    // A few reads make room for a few more bytes, not for everything.
    await reader?.read()
    await reader?.read()
    expect((await taken(stage)) - first).toBeLessThan(16 * 1_048_576)
    await reader?.cancel()
    await expectSettled(stage, 1)
  })

  test("on a socket too, is cut after a while, and pays", async () => {
    const stage = await scene(endless, { client_stall_ms: 400 })
    const caller = await dial(stage, { pause: true })
    caller.ask()
    await until(() => stage.host.requests() === 1, "the call")
    expect(await taken(stage)).toBeLessThan(32 * 1_048_576)
    await expectSettled(stage, 1)
    const [row] = await stage.account.rows()
    expect(row).toMatchObject({ outcome: "cut", estimated: true })
    expect(row?.cost).toBeGreaterThan(0n)
    expect(row?.cost).toBe(row?.upstreamCost ?? -1n)
  })

  test("but reads slowly gets all of it", async () => {
    const words = Array.from({ length: 400 }, (_, at) => `word${at} `.repeat(50))
    const stage = await scene((peer) => {
      peer.write(streamHead)
      for (const word of words) peer.write(delta(word))
      peer.write(ending)
    })
    const response = await stage.request()
    const pieces: Array<Uint8Array> = []
    for await (const bytes of response.body ?? []) {
      pieces.push(bytes)
      await new Promise((resolve) => setImmediate(resolve))
    }
    const { events, done: isDone } = readStrictly(Buffer.concat(pieces))
    expect([isDone, contentOf(events)]).toEqual([true, words.join("")])
    expect(finishesOf(events)).toMatchObject([{ usage: { cost: 0.00002 } }])
    await until(async () => (await stage.account.reserved()) === 0n, "the release of what was reserved")
    expect(await stage.account.rows()).toMatchObject([{ outcome: "finished", cost: costOfUsage }])
  })
})

test("a line of one megabyte in the making is not kept once its caller has left", async () => {
  const stage = await scene((peer) => {
    peer.write(Buffer.concat([Buffer.from(streamHead), delta("Hello"), part(`data: ${"x".repeat(900_000)}`)]))
  })
  const response = await stage.request()
  await response.body?.cancel()
  await expectSettled(stage, 1)
})
