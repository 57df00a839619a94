/** What kept a host from being reached, in a word, for log, records and the state of providers. docs/requests.md */
import { afterEach, expect, test } from "bun:test"
import { createServer } from "node:net"
import { until } from "../../support/clocks/until.ts"
import { freePort } from "../../support/gateways/freePort.ts"
import { startGateway } from "../../support/gateways/gateway.ts"
import { configFor } from "../../support/hosts/host.ts"

const closing: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

/** Takes connections, and closes each at its first byte. */
const closer = async (): Promise<number> => {
  const server = createServer((socket) => {
    socket.on("error", () => {})
    socket.once("data", () => socket.end("no\r\n"))
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  closing.push(() => server.close())
  const address = server.address()
  return typeof address === "object" && address !== null ? address.port : 0
}

test.each<[string, () => string | Promise<string>]>([
  ["dns", () => "http://nowhere.invalid/v1"],
  ["refused", () => `http://127.0.0.1:${freePort()}/v1`],
  ["tls", async () => `https://127.0.0.1:${await closer()}/v1`],
])(
  "%s was told as unreachable alone",
  async (fault, address) => {
    const url = await address()
    const gateway = await startGateway({ config: configFor({ a: { url } }) })
    closing.push(gateway.stop)
    const answer = await gateway.chat({ model: "acme/small", messages: [{ role: "user", content: "hello" }] })
    const text = await answer.text()
    expect(answer.status).toBe(502)
    expect(text).not.toContain(new URL(url).host)
    const read = async (path: string) => {
      const response = await gateway.call(path, { headers: { authorization: `Bearer ${gateway.managementKey}` } })
      return response.text()
    }
    expect(await read("/providers/state")).toContain(`"why":"unreachable: ${fault}"`)
    await until(async () => (await read("/requests")).includes(`a: ${fault}.`), "the record")
  },
  600_000,
)
