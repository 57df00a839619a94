/** Running requests of two workers: listed and stopped, whichever worker is asked. */
import { afterAll, expect, test } from "bun:test"
import { isJsonObject, type JsonObject } from "../../../src/domain/json/json.ts"
import { streamOf } from "../../support/clients/answers.ts"
import { until } from "../../support/clocks/until.ts"
import { firstKey, firstManagementKey, install } from "../../support/gateways/process.ts"
import { chunkOf, configFor, type HeldStream, heldStream, scriptedHost } from "../../support/hosts/host.ts"
import { describePostgres, makeDatabase, urlOf } from "../../support/storage/postgres.ts"

const closing: Array<() => unknown> = []
afterAll(async () => {
  for (const close of closing.toReversed()) await close()
})

const processMs = 550_000
const patience = 1_800_000

describePostgres("two workers", () => {
  test(
    "list what runs in both, and stop it wherever it runs",
    async () => {
      const held: Array<HeldStream> = []
      const host = scriptedHost((_body, request) => {
        const stream = heldStream(request)
        held.push(stream)
        stream.send(chunkOf({ delta: { content: "some words" }, finish_reason: null }))
        return stream.response
      })
      const installation = install()
      closing.push(host.stop, installation.remove)
      const gateway = installation.start({
        config: configFor(
          { a: { url: host.url } },
          { discovery: { environment: false, local: false }, server: { workers: 2 } },
        ),
        env: { HEADGATE_STORAGE: urlOf(await makeDatabase()) },
      })
      const url = await gateway.url()
      await until(() => (gateway.err().match(/"worker \d+ serves"/g) ?? []).length === 2, "two workers", processMs)
      const [key, managementKey] = [firstKey(gateway.out()), firstManagementKey(gateway.out())]

      /** Each on a connection of its own, so that the kernel spreads them over the workers. */
      const send = (path: string, secret: string, init: RequestInit = {}) =>
        fetch(`${url}${path}`, {
          ...init,
          headers: { authorization: `Bearer ${secret}`, "content-type": "application/json", connection: "close" },
        })
      const list = async (): Promise<{ readonly data: ReadonlyArray<JsonObject>; readonly complete: unknown }> => {
        const answer: unknown = await (await send("/requests/live", managementKey)).json()
        const data = isJsonObject(answer) && Array.isArray(answer["data"]) ? answer["data"].filter(isJsonObject) : []
        return { data, complete: isJsonObject(answer) && answer["complete"] }
      }
      const body = JSON.stringify({ model: "acme/small", messages: [{ role: "user", content: "hi" }], stream: true })
      const answers: Array<Response> = []
      // The kernel chooses the worker of a connection.
      await until(
        async () => {
          answers.push(await send("/chat/completions", key, { method: "POST", body }))
          return new Set((await list()).data.map(({ process }) => process)).size === 2
        },
        "requests in both workers",
        processMs,
      )
      // A list is incomplete where a worker does not answer in time.
      let listed = await list()
      await until(
        async () => {
          listed = await list()
          return listed.complete === true
        },
        "a list of both workers",
        processMs,
      )
      const { data } = listed
      expect(data.length).toBe(answers.length)
      expect(new Set(data.map(({ is_here }) => is_here))).toEqual(new Set([true, false]))
      for (const { request_id: id } of data) {
        const stopped = await send(`/requests/live/${String(id)}`, managementKey, { method: "DELETE" })
        expect([stopped.status, await stopped.json()]).toEqual([200, { deleted: true }])
      }
      for (const answer of answers) expect((await streamOf(answer)).last.error?.code).toBe(403)
      await until(async () => (await list()).data.length === 0, "the end of all", processMs)
    },
    patience,
  )
})
