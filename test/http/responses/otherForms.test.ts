/**
 * Hosts that are called by another protocol, and can be called by the Responses form too: for what only that form can carry. OpenAI's
 * own host with nothing but its key configured compacted no conversation.
 */
import { afterAll, beforeAll, expect, test } from "bun:test"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { picodollars } from "../../support/clients/answers.ts"
import { responseOf, responsesStreamOf } from "../../support/clients/responsesForm.ts"
import { openAccount, type TestAccount } from "../../support/gateways/account.ts"
import { compacted, compactingHost } from "../../support/gateways/compactionScene.ts"
import { startGateway, type TestGateway } from "../../support/gateways/gateway.ts"
import { type ScriptedHost, scriptedHost, streamAnswer, wholeAnswer } from "../../support/hosts/host.ts"

let host: ScriptedHost
let gateway: TestGateway
let account: TestAccount

beforeAll(async () => {
  host = scriptedHost((body, request) => {
    if (new URL(request.url).pathname.startsWith("/v1/responses")) return compactingHost(body, request)
    return body["stream"] === true ? streamAnswer(["fine"]) : wholeAnswer("fine")
  })
  const local = { plugin: "openai", base_url: host.url, network: "private" } as const
  const model = (id: string, provider: string, api?: string) => ({
    id,
    context_length: 100_000,
    hosts: [
      {
        provider,
        model: "gpt",
        ...(api === undefined ? {} : { api }),
        pricing: { prompt: "0.000001", completion: "0.000002" },
      },
    ],
  })
  gateway = await startGateway({
    config: {
      providers: {
        plain: { ...local, api_key: "one" },
        keys: { ...local, api_keys: [{ key: "two" }, { key: "three" }] },
        chat: { ...local, api: "chat", api_key: "four" },
      },
      models: [
        model("acme/plain", "plain"),
        model("acme/keys", "keys"),
        model("acme/chat", "chat"),
        model("acme/chat-host", "plain", "chat"),
      ],
    },
  })
  account = await openAccount(gateway)
})
afterAll(async () => {
  await gateway.stop()
  await host.stop()
})

const said = { type: "message", role: "user", content: [{ type: "input_text", text: "Read hello.txt" }] }
const trigger = { type: "compaction_trigger" }

const post = (path: string, body: JsonObject) =>
  gateway.call(path, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", authorization: `Bearer ${account.secret}` },
  })

const pathsOf = async (asking: () => Promise<unknown>) => {
  const before = host.calls.length
  await asking()
  return host.calls.slice(before).map(({ request }) => new URL(request.url).pathname)
}

test.each(["acme/plain", "acme/keys"])("%s compacts, and is called by chat for everything else", async (model) => {
  const ask = (input: ReadonlyArray<unknown>, more: JsonObject = {}) => post("/responses", { model, input, ...more })
  expect(await pathsOf(() => ask([said]))).toEqual(["/v1/chat/completions"])
  const spent = await account.total()
  const paths = await pathsOf(async () => {
    const answer = await ask([said, trigger])
    const { output } = await responseOf(answer)
    expect(output).toEqual([compacted])
    expect(picodollars(answer.headers.get("x-gw-cost-usd"))).toBe((await account.total()) - spent)
    const { response } = await responsesStreamOf(await ask([said, trigger], { stream: true }))
    expect(response["output"]).toEqual([compacted])
    await responseOf(await ask([compacted, said]))
    expect((await post("/responses/compact", { model, input: [said] })).status).toBe(200)
  })
  expect(paths).toEqual(["/v1/responses", "/v1/responses", "/v1/responses", "/v1/responses/compact"])
})

test.each(["acme/chat", "acme/chat-host"])(
  "%s, whose protocol was configured, is called by no other",
  async (model) => {
    const paths = await pathsOf(async () => {
      const answer = await post("/responses", { model, input: [said, trigger] })
      expect(answer.status).toBe(404)
      expect(await answer.text()).toContain("only hosts of the Responses format compact a conversation")
    })
    expect(paths).toEqual([])
  },
)

test("an explanation names the host", async () => {
  const answer = await post("/route/explain?form=responses", { model: "acme/plain", input: [said, trigger] })
  expect(await answer.json()).toMatchObject({ data: { attempts: [{ host: "plain" }], excluded: [] } })
})

test("a choice that such a host was sent by the form was named as dropped", async () => {
  const tools = [
    { type: "computer_use_preview", display_width: 800, display_height: 600, environment: "linux" },
    { type: "image_generation" },
  ]
  const before = host.calls.length
  const answer = await post("/responses", { model: "acme/plain", input: [said], tools, tool_choice: "auto" })
  expect([answer.status, answer.headers.get("x-gw-dropped")]).toEqual([200, "tools[1]"])
  expect(host.calls.slice(before).map(({ body }) => [body["tools"], body["tool_choice"]])).toEqual([
    [tools.slice(0, 1), "auto"],
  ])
})
