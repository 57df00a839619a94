/** The HTTP/1.1 client through the whole gateway: connections and framings as a user meets them. */
import { describe, expect, test } from "bun:test"
import { heldClock } from "../support/clocks/heldClock.ts"
import { until } from "../support/clocks/until.ts"
import { openAccount } from "../support/gateways/account.ts"
import { closeAfterEach, opened, startWatched } from "../support/gateways/watched.ts"
import { configFor, scriptedHost, streamAnswer, wholeAnswer } from "../support/hosts/host.ts"
import { delta, tail, whole } from "../support/hosts/rawAnswers.ts"
import { type Peer, rawHost, streamHead } from "../support/hosts/rawHost.ts"

closeAfterEach()

const start = async (script: (peer: Peer, call: number) => void, more: Record<string, unknown> = {}) => {
  const host = opened(rawHost(script))
  const second = opened(scriptedHost((body) => (body["stream"] === true ? streamAnswer(["two"]) : wholeAnswer("two"))))
  const gateway = await startWatched({ config: configFor({ a: host, b: second }, { server: { drain_s: 0 }, ...more }) })
  const account = await openAccount(gateway)
  const ask = (stream: boolean, init: RequestInit = {}) =>
    gateway.chat(
      {
        model: "acme/small",
        messages: [{ role: "user", content: "hi" }],
        stream,
        max_tokens: 50,
        provider: { order: ["a"] },
      },
      { ...init, headers: { authorization: `Bearer ${account.secret}` } },
    )
  return { host, second, gateway, account, ask }
}

const framings: Record<string, string> = {
  "nothing and a close": "",
  "a body shorter than it says": whole.replace(/content-length: \d+/, "content-length: 100000"),
  "two lengths": whole.replace("content-type", "content-length: 5\r\ncontent-type"),
  "a length and chunks": whole.replace("content-type", "transfer-encoding: chunked\r\ncontent-type"),
  "a negative length": whole.replace(/content-length: \d+/, "content-length: -1"),
  "a folded line": whole.replace("content-type:", "x: a\r\n b\r\ncontent-type:"),
  "a bare line feed": whole.replaceAll("\r\n", "\n"),
  "a status line without HTTP": "200 OK\r\n\r\n",
  "an HTTP/2 preface": "\x00\x00\x12\x04\x00\x00\x00\x00\x00",
  "a chunk size that is none": "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n",
  "a 101": "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n",
  "a 204": "HTTP/1.1 204 No Content\r\n\r\n",
  "a 304": "HTTP/1.1 304 Not Modified\r\n\r\n",
  "twenty-one interim answers": "HTTP/1.1 103 Early\r\n\r\n".repeat(21) + whole,
  "endless headers": `HTTP/1.1 200 OK\r\n${"x: yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n".repeat(500)}`,
  "chunked in HTTP/1.0": "HTTP/1.0 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
}

describe("a host that answers with", () => {
  for (const [name, bytes] of Object.entries(framings))
    for (const stream of [false, true])
      test(`${name}, stream ${stream}: the next host answers`, async () => {
        const { ask, account, host } = await start((peer) => {
          if (bytes !== "") peer.write(bytes)
          peer.end()
        })
        const response = await ask(stream)
        expect([response.status, response.headers.get("x-gw-host")]).toEqual([200, "b"])
        expect(await response.text()).toContain("two")
        expect(await account.reserved()).toBe(0n)
        await until(() => host.open() === 0, "the end of the connection")
      })
})

test("interim answers before the answer are passed over", async () => {
  const { ask } = await start((peer) =>
    peer.write(`HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nlink: x\r\n\r\n${whole}`),
  )
  expect((await ask(false)).headers.get("x-gw-host")).toBe("a")
})

test("a head in single bytes is read", async () => {
  const { ask } = await start((peer) => {
    let at = 0
    const next = () => {
      peer.write(whole.slice(at, ++at))
      if (at < whole.length) setImmediate(next)
    }
    next()
  })
  expect((await ask(false)).headers.get("x-gw-host")).toBe("a")
})

test("200 requests over connections that the host closes right behind its answer: none fails", async () => {
  using _held = heldClock()
  const { ask, account } = await start((peer, call) => {
    peer.write(whole)
    if (call % 2 === 0) setTimeout(() => peer.end(), 1)
  })
  const hosts: Array<string | null> = []
  for (let at = 0; at < 200; at++) {
    const response = await ask(false)
    hosts.push(response.headers.get("x-gw-host"))
    await response.text()
    if (at % 3 === 0) await Bun.sleep(1)
  }
  expect(new Set(hosts)).toEqual(new Set(["a"]))
  expect((await account.rows()).length).toBe(200)
})

test("a host that half-closes behind its stream is not used again, and nothing is lost", async () => {
  const { ask } = await start((peer) => {
    peer.write(Buffer.concat([Buffer.from(streamHead), delta("one"), tail]))
    peer.end()
  })
  for (let at = 0; at < 20; at++) {
    const text = await (await ask(true)).text()
    expect(text).toContain("one")
    expect(text).toContain("[DONE]")
  }
})

test("bytes behind an answer never become the next answer", async () => {
  const { ask } = await start((peer, call) => {
    peer.write(whole.replace("fine", `n${String(call).padStart(3, "0")}`))
    if (call === 1) setTimeout(() => peer.write(whole.replace("fine", "evil")), 5)
  })
  expect(await (await ask(false)).text()).toContain("n001")
  await Bun.sleep(30)
  expect(await (await ask(false)).text()).not.toContain("evil")
})

test("a kept connection that the host resets while the request is sent is tried once more", async () => {
  using _held = heldClock()
  const { ask, host } = await start((peer, call) => {
    if (call === 2) peer.reset()
    else peer.write(whole)
  })
  await (await ask(false)).text()
  const response = await ask(false)
  expect(response.headers.get("x-gw-host")).toBe("a")
  expect(host.requests()).toBe(3)
})

test("an answer that begins before the request is all sent, and ends the connection", async () => {
  const { gateway, account, ask } = await start((peer) => peer.write(whole))
  void ask
  const response = await gateway.chat(
    {
      model: "acme/small",
      messages: [{ role: "user", content: "x".repeat(20_000) }],
      max_tokens: 5,
      provider: { order: ["a"] },
    },
    { headers: { authorization: `Bearer ${account.secret}` } },
  )
  expect(response.status).toBe(200)
})
