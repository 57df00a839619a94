/** Where the usage of a stream is: on the finish, or in a chunk of its own for clients who ask for one. */
import { afterAll, beforeAll, expect, test } from "bun:test"
import { startGateway, type TestGateway } from "../support/gateways/gateway.ts"
import { configFor, type ScriptedHost, scriptedHost, streamAnswer } from "../support/hosts/host.ts"

let gateway: TestGateway
let host: ScriptedHost

beforeAll(async () => {
  host = scriptedHost(() => streamAnswer(["one", " two"]))
  gateway = await startGateway({ config: configFor({ host }) })
})
afterAll(async () => {
  await gateway.stop()
  await host.stop()
})

const bodies = {
  "/chat/completions": { messages: [{ role: "user", content: "Count." }] },
  "/completions": { prompt: "Count." },
} as const

const dataOf = async (path: keyof typeof bodies, options: unknown): Promise<ReadonlyArray<string>> => {
  const response = await gateway.call(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ model: "acme/small", stream: true, stream_options: options, ...bodies[path] }),
  })
  expect(response.status).toBe(200)
  return (await response.text()).split("\n\n").flatMap((event) => (event.startsWith("data: ") ? [event.slice(6)] : []))
}

for (const path of ["/chat/completions", "/completions"] as const) {
  test(`F4: ${path}: a client that asked for the usage gets it once, in a last chunk without choices`, async () => {
    const data = await dataOf(path, { include_usage: true })
    expect(data.at(-1)).toBe("[DONE]")
    const chunks = data.slice(0, -1).map((text) => JSON.parse(text))
    const [finish, last] = chunks.slice(-2)
    expect(chunks.filter(({ usage }) => usage !== undefined)).toEqual([last])
    expect(last.choices).toEqual([])
    expect(last.usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 5, cost: expect.any(Number) })
    expect(finish.choices[0].finish_reason).toBe("stop")
    expect([last.id, last.object, last.created]).toEqual([finish.id, finish.object, finish.created])
  })

  test.each([undefined, null, {}, { include_usage: false }])(
    `${path}: others get it on the finish, %j`,
    async (options) => {
      const data = await dataOf(path, options)
      const chunks = data.slice(0, -1).map((text) => JSON.parse(text))
      expect(chunks.filter(({ usage }) => usage !== undefined)).toEqual([chunks.at(-1)])
      expect(chunks.every(({ choices }) => choices.length === 1)).toBe(true)
    },
  )
}
