/** docs/deployment.md#address: the caller's address through a real nginx with the lines of the page. Skipped where nginx is not installed. */
import { expect, test } from "bun:test"
import { request } from "node:http"
import { until } from "../support/clocks/until.ts"
import { freePort } from "../support/gateways/freePort.ts"
import { startGateway } from "../support/gateways/gateway.ts"
import { observe } from "../support/gateways/observed.ts"
import { configFor, scriptedHost, streamAnswer, wholeAnswer } from "../support/hosts/host.ts"
import { nginx, startNginx } from "./rollingRestart.ts"

if (nginx === null) console.warn("1 test is skipped: the caller's address through nginx (it is not installed)")

interface Sent {
  readonly key: string
  /** The caller's own address, of this machine. */
  readonly from: string
  readonly stream: boolean
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends a chat to that port, and reads the answer to its end: its status. */
const chat = (port: number, { key, from, stream, headers = {} }: Sent): Promise<number> =>
  new Promise((resolve, reject) => {
    const body = JSON.stringify({ model: "acme/small", stream, messages: [{ role: "user", content: "hi" }] })
    const asked = request(
      {
        ...{ host: "127.0.0.1", port, localAddress: from, path: "/api/v1/chat/completions", method: "POST" },
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
      },
      (answer) => {
        answer.on("end", () => resolve(answer.statusCode ?? 0))
        answer.on("error", reject)
        answer.resume()
      },
    )
    asked.on("error", reject)
    asked.end(body)
  })

test.skipIf(nginx === null)(
  "behind nginx the address is that of its caller, whatever the caller says of itself, and a key's ranges go by it",
  async () => {
    const host = scriptedHost((body) => (body["stream"] === true ? streamAnswer(["fine"]) : wholeAnswer("fine")))
    const server = { trusted_proxies: ["127.0.0.1"] }
    const gateway = await startGateway({ config: { ...configFor({ a: host }), server } })
    const ends = await observe(gateway)
    const front = freePort()
    const proxy = startNginx(front, [Number(new URL(gateway.url).port)], false)
    try {
      await until(
        () =>
          fetch(`http://127.0.0.1:${front}/healthz`).then(
            ({ status }) => status === 200,
            () => false,
          ),
        "nginx",
      )
      const restricted = await gateway.newKey({ allowedAddresses: ["127.0.0.2"] })
      const lie = { "x-forwarded-for": "127.0.0.2, 203.0.113.7", forwarded: "for=127.0.0.2" }
      const cases: ReadonlyArray<readonly [Sent, number]> = [false, true].flatMap((stream) => [
        [{ key: gateway.key, from: "127.0.0.2", stream }, 200],
        [{ key: gateway.key, from: "127.0.0.3", stream, headers: lie }, 200],
        [{ key: restricted, from: "127.0.0.2", stream }, 200],
        [{ key: restricted, from: "127.0.0.3", stream, headers: lie }, 403],
      ])
      for (const [sent, status] of cases) {
        const before = ends.length
        expect(await chat(front, sent)).toBe(status)
        await until(() => ends.length > before, "the end of a request")
        const { address, outcome } = ends.at(-1) ?? expect.unreachable()
        expect([address, outcome]).toEqual([sent.from, status === 200 ? "ok" : "policy_address"])
      }
    } finally {
      await proxy.stop()
      await gateway.stop()
      await host.stop()
    }
  },
  1_800_000,
)
