/** Streams over real sockets: several answers in one stream, callers who leave at odd moments, framings of callers. */
import { describe, expect, test } from "bun:test"
import { answersIn, rawCaller, requestOf } from "../support/clients/rawCaller.ts"
import { until } from "../support/clocks/until.ts"
import { openAccount } from "../support/gateways/account.ts"
import { closeAfterEach, opened, startWatched } from "../support/gateways/watched.ts"
import { chunkOf, configFor } from "../support/hosts/host.ts"
import { event, lastPart, openHead, type Peer, part, rawHost, streamHead } from "../support/hosts/rawHost.ts"

closeAfterEach()

const delta = (content: string, index = 0) => event(chunkOf({ index, delta: { content }, finish_reason: null }))
const finish = (index = 0) => event(chunkOf({ index, delta: {}, finish_reason: "stop" }))
const usage = event(JSON.stringify({ choices: [], usage: { prompt_tokens: 10, completion_tokens: 5 } }))
const done = event("[DONE]")

const start = async (script: (peer: Peer, call: number) => void, more: Record<string, unknown> = {}) => {
  const host = opened(rawHost(script))
  const gateway = await startWatched({
    config: configFor({ a: { url: host.url } }, { server: { drain_s: 0 }, ...more }),
  })
  const account = await openAccount(gateway)
  const body = (extra: Record<string, unknown> = {}) => ({
    model: "acme/small",
    messages: [{ role: "user", content: "hi" }],
    stream: true,
    max_tokens: 50,
    ...extra,
  })
  const headers = { Authorization: `Bearer ${account.secret}`, "Content-Type": "application/json" }
  const ask = (extra: Record<string, unknown> = {}, init: RequestInit = {}) =>
    gateway.chat(body(extra), { ...init, headers })
  return { host, gateway, account, ask, body, headers }
}

describe("two answers in one stream", () => {
  test("a host that breaks off in the second answer failed, though the first is complete", async () => {
    const { ask, account } = await start((peer) => {
      peer.write(streamHead)
      peer.write(delta("one", 0))
      peer.write(delta("half", 1))
      peer.write(finish(0))
      setTimeout(() => peer.reset(), 30)
    })
    const text = await (await ask({ n: 2 })).text()
    expect(text).toContain('"error"')
    expect((await account.rows()).map(({ outcome }) => outcome)).toEqual(["host-failed"])
  })

  test("an error event in the second answer is an error, though the first is complete", async () => {
    const { ask, account } = await start((peer) => {
      peer.write(streamHead)
      peer.write(delta("one", 0))
      peer.write(delta("half", 1))
      peer.write(finish(0))
      peer.write(event(JSON.stringify({ error: { message: "boom", code: 500 } })))
      peer.write(lastPart)
    })
    const text = await (await ask({ n: 2 })).text()
    expect(text).toContain('"error"')
    expect((await account.rows()).map(({ outcome }) => outcome)).toEqual(["host-failed"])
  })

  test("the end of the connection in the second answer is a failure", async () => {
    const { ask } = await start((peer) => {
      peer.write(openHead)
      for (const line of [
        chunkOf({ index: 0, delta: { content: "one" }, finish_reason: null }),
        chunkOf({ index: 1, delta: { content: "half" }, finish_reason: null }),
        chunkOf({ index: 0, delta: {}, finish_reason: "stop" }),
      ])
        peer.write(`data: ${line}\n\n`)
      peer.end()
    })
    const text = await (await ask({ n: 2 })).text()
    expect(text).toContain('"error"')
  })
})

describe("a caller who leaves just when the first event comes", () => {
  for (const gap of [0, 1, 5, 20]) {
    test(`is noticed, ${gap} ms between`, async () => {
      const peers: Array<Peer> = []
      const { host, gateway, account, body, headers } = await start((peer) => {
        peers.push(peer)
        peer.write(streamHead)
      })
      const callers = Array.from({ length: 10 }, () => {
        const caller = rawCaller(gateway.url)
        caller.send(requestOf("POST /api/v1/chat/completions", headers, JSON.stringify(body())))
        return caller
      })
      await until(() => host.requests() === 10, "the calls")
      for (const caller of callers) caller.hangUp()
      if (gap > 0) await Bun.sleep(gap)
      for (const peer of peers) peer.write(delta("late"))
      // The host goes on for ever: only a caller's leaving ends it.
      const more = setInterval(() => {
        for (const peer of peers) if (peer.isOpen()) peer.write(delta("more"))
      }, 20)
      try {
        await until(() => host.open() === 0, "the end of the host's connections")
        await until(async () => (await account.reserved()) === 0n, "the release")
      } finally {
        clearInterval(more)
      }
      const rows = await account.rows()
      expect(rows.map(({ outcome }) => outcome)).toEqual(Array.from({ length: 10 }, () => "caller-gone"))
    })
  }
})

describe("framing of callers", () => {
  const whole = (peer: Peer) => {
    peer.write(streamHead)
    let at = 0
    const next = () => {
      if (at < 40) {
        peer.write(delta(`w${at++} `))
        setTimeout(next, 2)
      } else peer.write(Buffer.concat([finish(), usage, done, Buffer.from(lastPart)]))
    }
    next()
  }
  const words = Array.from({ length: 40 }, (_, at) => `w${at} `).join("")
  const said = (text: string) =>
    [...text.matchAll(/^data: (\{.*\})$/gm)]
      .map(([, json]) => JSON.parse(json ?? "").choices?.[0]?.delta?.content ?? "")
      .join("")

  test("HTTP/1.0 gets no chunked framing, and everything", async () => {
    const { gateway, body, headers } = await start(whole)
    const caller = rawCaller(gateway.url)
    const json = JSON.stringify(body())
    caller.send(requestOf("POST /api/v1/chat/completions", headers, json).replace("HTTP/1.1", "HTTP/1.0"))
    await caller.until((text) => text.includes("[DONE]"))
    const text = await caller.closed
    expect(said(text)).toBe(words)
    expect(text.toLowerCase()).not.toContain("transfer-encoding: chunked")
  })

  test("Connection: close gets everything and a closed connection", async () => {
    const { gateway, body, headers } = await start(whole)
    const caller = rawCaller(gateway.url)
    caller.send(requestOf("POST /api/v1/chat/completions", { ...headers, Connection: "close" }, JSON.stringify(body())))
    const text = await caller.closed
    const [answer] = answersIn(text)
    expect(said((await answer?.text()) ?? "")).toBe(words)
  })

  test("keep-alive: ten streams one after the other on one connection", async () => {
    const { gateway, body, headers } = await start(whole)
    const caller = rawCaller(gateway.url)
    for (let at = 1; at <= 10; at++) {
      caller.send(requestOf("POST /api/v1/chat/completions", headers, JSON.stringify(body())))
      await caller.until((text) => answersIn(text).length === at)
    }
    const answers = answersIn(await caller.until(() => true))
    for (const answer of answers) expect(said(await answer.text())).toBe(words)
    caller.hangUp()
  })

  test("a caller who is slow but takes bytes gets all, in order, with the end", async () => {
    const count = 3000
    const pad = "x".repeat(2000)
    const { gateway, body, headers, account } = await start((peer) => {
      peer.write(streamHead)
      for (let at = 0; at < count; at++) peer.write(delta(`${at}:${pad};`))
      peer.write(Buffer.concat([finish(), usage, done, Buffer.from(lastPart)]))
    })
    const received: Array<Uint8Array> = []
    let over = false
    const socket = await Bun.connect({
      hostname: "127.0.0.1",
      port: Number(new URL(gateway.url).port),
      socket: {
        data: (_, bytes) => {
          received.push(Uint8Array.from(bytes))
        },
        close: () => {
          over = true
        },
      },
    })
    socket.write(
      requestOf("POST /api/v1/chat/completions", { ...headers, Connection: "close" }, JSON.stringify(body())),
    )
    for (let at = 0; at < 12 && !over; at++) {
      socket.pause()
      await Bun.sleep(60)
      socket.resume()
      await Bun.sleep(5)
    }
    await until(() => over, "the end")
    const [answer] = answersIn(Buffer.concat(received).toString("latin1"))
    const text = (await answer?.text()) ?? ""
    const numbers = [...said(text).matchAll(/(\d+):x+;/g)].map(([, n]) => Number(n))
    expect(numbers).toEqual(Array.from({ length: count }, (_, at) => at))
    expect(text).toContain("[DONE]")
    expect(await account.reserved()).toBe(0n)
  })
})

test("a stalled caller's connection does not end like a complete answer", async () => {
  const pad = "x".repeat(60_000)
  const { gateway, body, headers, host } = await start(
    (peer) => {
      peer.write(streamHead)
      for (let at = 0; at < 400; at++) peer.write(delta(pad))
    },
    { limits: { client_stall_ms: 500 } },
  )
  const received: Array<Uint8Array> = []
  let over = false
  const socket = await Bun.connect({
    hostname: "127.0.0.1",
    port: Number(new URL(gateway.url).port),
    socket: {
      data: (_, bytes) => {
        received.push(Uint8Array.from(bytes))
      },
      close: () => {
        over = true
      },
    },
  })
  socket.write(requestOf("POST /api/v1/chat/completions", headers, JSON.stringify(body())))
  await until(() => received.length > 0, "the head")
  socket.pause()
  await until(() => host.open() === 0, "the cut")
  socket.resume()
  await until(() => over, "the end of the connection")
  const text = Buffer.concat(received).toString("latin1")
  expect(text.endsWith("0\r\n\r\n")).toBe(false)
})

test("one huge event just below the limit arrives whole", async () => {
  const big = "y".repeat(1_000_000)
  const { ask } = await start((peer) => {
    peer.write(
      Buffer.concat([Buffer.from(streamHead), delta(big), delta("z"), finish(), usage, done, Buffer.from(lastPart)]),
    )
  })
  const text = await (await ask()).text()
  expect(text).toContain(big)
  expect(text).toContain("[DONE]")
})

test("one byte per read gives the same", async () => {
  const all = Buffer.concat([delta("ä€😀"), delta("b"), delta("c"), finish(), usage, done, Buffer.from(lastPart)])
  const { ask } = await start((peer) => {
    peer.write(streamHead)
    let at = 0
    const next = () => {
      for (let k = 0; k < 5 && at < all.length; k++) peer.write(all.subarray(at, ++at))
      if (at < all.length) setImmediate(next)
    }
    next()
  })
  const text = await (await ask()).text()
  expect(text).toContain("ä€😀")
  expect(text).toContain("[DONE]")
  void part
})
