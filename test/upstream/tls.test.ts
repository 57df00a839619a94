/** TLS to hosts: who is believed, and what an operator reads where it fails. */
import { afterAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { createSecureServer } from "node:http2"
import type { AddressInfo } from "node:net"
import { createServer } from "node:tls"
import { makeHttpClient } from "../../src/upstream/http1/client.ts"
import { until } from "../support/clocks/until.ts"
import { answerOf, callTo, causeOf, record } from "./call.ts"
import { type Identity, makeAuthority } from "./certificates.ts"
import { rawServer } from "./rawServer.ts"

// A wait that never ends is named within a minute.
setDefaultTimeout(1_800_000)

const authority = makeAuthority()
const good = authority.identity({ name: "good.test" })
const toLoopback = { lookup: async () => [{ address: "127.0.0.1" }] }
const client = makeHttpClient({ ca: authority.ca, ...toLoopback })
afterAll(client.close)

const hello = "HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"
const serving = (tls: Identity) => rawServer({ tls, onRequest: ({ peer }) => peer.write(hello) })

describe("a host's certificate", () => {
  test("of the name that was called is accepted, and the connection kept", async () => {
    using server = serving(good)
    for (let calls = 0; calls < 3; calls++) {
      const answer = await answerOf(client.exchange, callTo(`https://good.test:${server.port}/`))
      expect([causeOf(answer), answer.body.toString()]).toEqual(["no failure", "hello"])
    }
    expect([server.connections(), server.requests()]).toEqual([1, 3])
  })

  test("of an address is accepted where the address was called", async () => {
    using server = serving(authority.identity({ name: "127.0.0.1" }))
    const answer = await answerOf(client.exchange, callTo(`https://127.0.0.1:${server.port}/`))
    expect(causeOf(answer)).toBe("no failure")
  })

  test("holds for the name without a final dot", async () => {
    using server = serving(good)
    const answer = await answerOf(client.exchange, callTo(`https://good.test.:${server.port}/`))
    expect(causeOf(answer)).toBe("no failure")
  })

  test.each([
    ["of another name", authority.identity({ name: "other.test" }), /altnames|does not match/i],
    ["that has expired", authority.identity({ name: "good.test", valid: [-20, -10] }), /expired/],
    ["that is not valid yet", authority.identity({ name: "good.test", valid: [10, 20] }), /not yet valid/],
    ["that signed itself", authority.identity({ name: "good.test", selfSigned: true }), /self[- ]signed/],
    ["of another authority", makeAuthority().identity({ name: "good.test" }), /unable to|certificate/],
  ])("%s is refused", async (_, identity, cause) => {
    using server = serving(identity)
    const answer = await answerOf(client.exchange, callTo(`https://good.test:${server.port}/`))
    expect(answer.failure?.reason).toBe("unreachable")
    expect(causeOf(answer)).toMatch(cause)
    expect(server.requests()).toBe(0)
    await until(() => server.open() === 0, "the connection closed")
  })

  test("of an unknown authority is refused, whatever the environment says", async () => {
    const own = makeHttpClient(toLoopback)
    using server = serving(good)
    process.env["NODE_TLS_REJECT_UNAUTHORIZED"] = "0"
    const answer = await answerOf(own.exchange, callTo(`https://good.test:${server.port}/`))
    delete process.env["NODE_TLS_REJECT_UNAUTHORIZED"]
    own.close()
    expect([answer.failure?.reason, server.requests()]).toEqual(["unreachable", 0])
  })

  test("is accepted where NODE_EXTRA_CA_CERTS or SSL_CERT_FILE names its authority", async () => {
    using server = serving(good)
    const file = `${process.env["TMPDIR"] ?? "/tmp"}/headgate-ca-${process.pid}.pem`
    await Bun.write(file, authority.ca)
    const script = `
      import { makeHttpClient } from ${JSON.stringify(`${import.meta.dir}/../../src/upstream/http1/client.ts`)}
      import { answerOf, callTo, causeOf } from ${JSON.stringify(`${import.meta.dir}/call.ts`)}
      for (const ca of [undefined, ${JSON.stringify(makeAuthority().ca)}]) {
        const client = makeHttpClient({ ca, lookup: async () => [{ address: "127.0.0.1" }] })
        console.log(causeOf(await answerOf(client.exchange, callTo("https://good.test:${server.port}/"))))
        client.close()
      }`
    for (const variable of ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"]) {
      const env = { PATH: process.env["PATH"] ?? "", [variable]: file }
      const { stdout } = Bun.spawn([process.execPath, "-e", script], { env, stderr: "inherit" })
      expect(await new Response(stdout).text()).toBe("no failure\nno failure\n")
    }
    await Bun.file(file).delete()
  })

  test("option that is no certificate fails the calls and nothing else", async () => {
    const own = makeHttpClient({
      ca: "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----",
      ...toLoopback,
    })
    using server = serving(good)
    const answer = await answerOf(own.exchange, callTo(`https://good.test:${server.port}/`))
    own.close()
    expect(answer.failure?.reason).toBe("unreachable")
  })
})

describe("a host's protocol", () => {
  test("that is HTTP/2 only is named in the failure", async () => {
    const server = createSecureServer({ ...good, allowHTTP1: false })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const { port } = server.address() as AddressInfo // of a TCP server
    const answer = await answerOf(client.exchange, callTo(`https://good.test:${port}/`))
    server.close()
    expect(causeOf(answer)).toMatch(/HTTP\/2/)
  })

  test("below TLS 1.2 is refused", async () => {
    const server = createServer({ ...good, minVersion: "TLSv1.1", maxVersion: "TLSv1.1" })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const { port } = server.address() as AddressInfo // of a TCP server
    const answer = await answerOf(client.exchange, callTo(`https://good.test:${port}/`))
    server.close()
    expect(causeOf(answer)).toBe("unreachable: the host speaks no TLS version from 1.2 on")
  })

  test("without TLS is a failure", async () => {
    using server = rawServer({ onConnection: (peer) => peer.write("HTTP/1.1 400 Bad Request\r\n\r\n") })
    const answer = await answerOf(client.exchange, callTo(`https://good.test:${server.port}/`))
    expect(answer.failure?.reason).toBe("unreachable")
  })

  test("that is TLS although we were given http is named in the failure", async () => {
    using server = serving(good)
    const answer = await answerOf(client.exchange, callTo(`http://good.test:${server.port}/`))
    expect(["malformed: the host speaks TLS on this port", "unreachable: the host closed the connection"]).toContain(
      causeOf(answer),
    )
  })
})

describe("over TLS", () => {
  test("a large request and a large answer arrive whole", async () => {
    const large = Buffer.alloc(8_000_000, "0123456789abcdef")
    using server = rawServer({
      tls: good,
      onRequest: ({ peer, body }) => {
        peer.write(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n`)
        peer.write(body)
      },
    })
    const answer = await answerOf(client.exchange, callTo(`https://good.test:${server.port}/`, { body: large }))
    expect([causeOf(answer), answer.body.equals(large)]).toEqual(["no failure", true])
  })

  test("a stale connection is replaced once and nobody notices", async () => {
    using server = rawServer({
      tls: good,
      onRequest: ({ peer, nth }) => (nth === 1 ? peer.write(hello) : peer.end()),
    })
    for (let calls = 0; calls < 5; calls++) {
      const answer = await answerOf(client.exchange, callTo(`https://good.test:${server.port}/`))
      expect(causeOf(answer)).toBe("no failure")
    }
  })

  test("a cancelled exchange closes its connection", async () => {
    using server = rawServer({ tls: good })
    const { exchange } = record(client.exchange, callTo(`https://good.test:${server.port}/`))
    await until(() => server.requests() === 1, "the request")
    exchange.cancel()
    await until(() => server.open() === 0, "the connection closed")
  })

  test.each([
    ["it was idle", "keep-alive: timeout=2"],
    ["its answer was the last one", "connection: close"],
  ])("a connection is closed because %s, although the host does not close its side", async (_, header) => {
    using server = rawServer({
      tls: good,
      // Keeps its side open. It can be written to in vain only if the other side is really closed.
      onEnd: (peer) => peer.write("are you there?"),
      onRequest: ({ peer }) => peer.write(`HTTP/1.1 200 OK\r\n${header}\r\ncontent-length: 0\r\n\r\n`),
    })
    await answerOf(client.exchange, callTo(`https://good.test:${server.port}/`))
    await until(() => server.open() === 0, "the connection closed")
  })
})
