/** What kept a host from being reached, in a word, for log, records and the state of providers. docs/requests.md */
import { afterEach, expect, setDefaultTimeout, test } from "bun:test"
import { createServer } from "node:net"
import * as Logger from "effect/Logger"
import { until } from "../../support/clocks/until.ts"
import { freePort } from "../../support/gateways/freePort.ts"
import { startGateway, type TestGateway } from "../../support/gateways/gateway.ts"
import { configFor, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"

setDefaultTimeout(1_800_000)

const closing: Array<() => unknown> = []
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const question = { model: "acme/small", messages: [{ role: "user", content: "hello" }] }

const readerOf =
  ({ call, managementKey }: TestGateway) =>
  async (path: string) =>
    (await call(path, { headers: { authorization: `Bearer ${managementKey}` } })).text()

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
    const lines: Array<string> = []
    const setting = Logger.add(
      Logger.make(({ logLevel, message }) => lines.push(`${logLevel.label} ${JSON.stringify(message)}`)),
    )
    const gateway = await startGateway({ config: configFor({ a: { url } }), setting })
    closing.push(gateway.stop)
    const answer = await gateway.chat(question)
    const text = await answer.text()
    expect(answer.status).toBe(502)
    expect(text).not.toContain(new URL(url).host)
    const read = readerOf(gateway)
    expect(await read("/providers/state")).toContain(`"why":"unreachable: ${fault}"`)
    await until(async () => (await read("/requests")).includes(`a: ${fault}.`), "the record")
    const attempt = `"host":"a","outcome":"unreachable","status":null`
    expect(await read("/requests")).toMatch(new RegExp(`${attempt},"duration_ms":[\\d.]+,"fault":"${fault}"`))
    expect(lines.find((line) => line.startsWith("INFO") && line.includes('"attempts":'))).toContain(
      `"fault":"${fault}"`,
    )
  },
  1_800_000,
)

test("of a request that another host answered it was kept nowhere", async () => {
  const b = scriptedHost(() => wholeAnswer("hello"))
  closing.push(b.stop)
  const gateway = await startGateway({ config: configFor({ a: { url: `http://127.0.0.1:${freePort()}/v1` }, b }) })
  closing.push(gateway.stop)
  const answer = await gateway.chat({ ...question, provider: { order: ["a", "b"] } })
  expect(answer.status).toBe(200)
  await answer.text()
  const read = readerOf(gateway)
  expect(await read("/requests")).toContain('"fault":"refused"')
  const one = await read(`/generation?id=${answer.headers.get("x-gw-request-id")}`)
  expect(one).toContain('"host":"a","outcome":"unreachable","fault":"refused"')
  expect(one).toContain('"host":"b","outcome":"finished","fault":null')
  expect(JSON.parse(one)).toMatchObject({ data: { provider_responses: [{ fault: "refused" }, { fault: null }] } })
})
