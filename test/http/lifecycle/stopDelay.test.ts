/** What a gateway does between the signal to stop and the closing of its port: `server.drain_delay_s`. docs/guarantees.md#g19 */
import { afterAll, describe, expect, test } from "bun:test"
import { until } from "../../support/clocks/until.ts"
import { firstKey, type Installation, install, type RunningGateway } from "../../support/gateways/process.ts"
import { configFor, scriptedHost, streamAnswer, wholeAnswer } from "../../support/hosts/host.ts"

const closing: Array<() => unknown> = []
afterAll(async () => {
  for (const close of closing.splice(0).toReversed()) await close()
})

const started = async (server: Record<string, unknown>) => {
  const host = scriptedHost((body) => (body["stream"] === true ? streamAnswer(["hi"]) : wholeAnswer("hi")))
  const installation: Installation = install()
  closing.push(host.stop, installation.remove)
  const gateway = installation.start({ config: configFor({ a: { url: host.url } }, { server }) })
  const url = await gateway.url()
  await until(() => gateway.out().includes("curl "), "the keys")
  const authorization = `Bearer ${firstKey(gateway.out())}`
  const chat = (stream: boolean) =>
    fetch(`${url}/chat/completions`, {
      method: "POST",
      headers: { authorization, "content-type": "application/json" },
      body: JSON.stringify({ model: "acme/small", stream, messages: [{ role: "user", content: "hi" }] }),
    })
  const root = url.replace("/api/v1", "")
  const isReady = () => fetch(`${root}/readyz`).then(({ status }) => status === 200)
  const isClosed = () =>
    fetch(`${root}/healthz`).then(
      () => false,
      () => true,
    )
  return { gateway, url, root, authorization, chat, isReady, isClosed }
}

/** Asks again until it ends. A signal that comes at once is taken for a copy of the first. */
const stopNow = async (gateway: RunningGateway): Promise<void> => {
  let ended = false
  void gateway.exited.then(() => {
    ended = true
  })
  await until(() => {
    if (!ended) gateway.kill("SIGTERM")
    return ended
  }, "the end")
}

describe.concurrent("a gateway that was asked to stop", () => {
  const patience = 1_800_000

  test(
    "closed its port at once: it is not ready and serves on within `drain_delay_s`, every answer says Connection: close",
    async () => {
      const { gateway, url, root, authorization, chat, isReady } = await started({ drain_delay_s: 3600 })
      const before = await chat(false)
      expect([before.status, before.headers.get("connection")]).not.toContain("close")
      await before.text()
      gateway.kill("SIGTERM")
      await until(async () => !(await isReady()), "its leaving")
      const headers = { authorization }
      const answers = [
        await chat(false),
        await chat(true),
        await fetch(`${url}/models`, { headers }),
        await fetch(`${url}/no/such/route`, { headers }),
        await fetch(`${url}/chat/completions`, { method: "OPTIONS" }),
        await fetch(`${url}/chat/completions`, { method: "POST", headers, body: "no JSON" }),
        await fetch(`${root}/healthz`),
        await fetch(`${root}/readyz`),
      ]
      for (const answer of answers) await answer.text()
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 404, 204, 400, 200, 503])
      expect(answers.map((answer) => answer.headers.get("connection"))).toEqual(answers.map(() => "close"))
      expect(gateway.out()).not.toContain("headgate stopped")
      await stopNow(gateway)
    },
    patience,
  )

  test(
    "closes its port and ends when `drain_delay_s` are over",
    async () => {
      const { gateway, isClosed } = await started({ drain_delay_s: 2 })
      gateway.kill("SIGTERM")
      await until(isClosed, "the port to close")
      expect(await gateway.exited).toBe(0)
      expect(gateway.out()).toContain("headgate stopped: SIGTERM; no request was running")
    },
    patience,
  )

  test(
    "asked again while it waits, does not wait any longer",
    async () => {
      const { gateway, isReady } = await started({ drain_delay_s: 3600 })
      gateway.kill("SIGTERM")
      await until(async () => !(await isReady()), "its leaving")
      await stopNow(gateway)
      expect(await gateway.exited).toBe(0)
    },
    patience,
  )

  test(
    "without a delay closes its port at once, as before",
    async () => {
      const { gateway } = await started({})
      gateway.kill("SIGTERM")
      expect(await gateway.exited).toBe(0)
    },
    patience,
  )
})
