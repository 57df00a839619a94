/** `POST /route/explain?form=…`: the plan of a request in any form. It took bodies of the chat form alone. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { type JsonObject, objectsIn } from "../../../src/domain/json/json.ts"
import { formRoutes } from "../../../src/domain/request/forms.ts"
import { errorOf } from "../../support/clients/answers.ts"
import { explainedBy } from "../../support/clients/explained.ts"
import { openAccount } from "../../support/gateways/account.ts"
import {
  type CompactionScene,
  compacted,
  compactingHost,
  compactionScene,
} from "../../support/gateways/compactionScene.ts"

let scene: CompactionScene
beforeAll(async () => {
  scene = await compactionScene()
})
afterAll(() => scene.stop())

const model = "agents/responses"
const messages = [{ role: "user", content: "hi" }]
const bodies: ReadonlyArray<readonly [form: string, path: string, body: JsonObject]> = [
  ["chat", "/chat/completions", { model, messages }],
  ["completions", "/completions", { model, prompt: "hi" }],
  ["messages", "/messages", { model, messages, max_tokens: 20 }],
  ["responses", "/responses", { model, input: "hi" }],
  ["compact", "/responses/compact", { model, input: "hi" }],
  ["embeddings", "/embeddings", { model: "agents/embeddings", input: "hi" }],
  ["rerank", "/rerank", { model: "agents/rerank", query: "hi", documents: ["hi"] }],
]

describe.each(bodies)("a body of the form %s", (form, path, body) => {
  const query = `?form=${form}&seed=3`

  test("is explained, and nobody called or charged", async () => {
    const account = await openAccount(scene.gateway)
    const before = Object.values(scene.hosts).map(({ calls }) => calls.length)
    const data = await explainedBy(scene.gateway, body, query, { authorization: `Bearer ${account.secret}` })
    expect([data.attempts.length > 0, data.excluded, data.error]).toEqual([true, [], undefined])
    expect(Number(data.attempts[0]?.estimated_cost_usd)).toBeGreaterThan(0)
    expect(Object.values(scene.hosts).map(({ calls }) => calls.length)).toEqual(before)
    expect([await account.rows(), await account.reserved()]).toEqual([[], 0n])
  })

  test("is refused where its route refuses it", async () => {
    const wrong = { ...body, stream: "yes" }
    const explained = await scene.post(`/route/explain${query}`, wrong)
    const refused = await scene.post(path, wrong)
    expect([explained.status, refused.status]).toEqual([400, 400])
    expect((await errorOf(explained)).metadata?.["path"]).toBe("stream")
  })

  test("with nothing left to try has the status that its route answers with", async () => {
    const alone = { ...body, provider: { only: ["nobody"] } }
    const { attempts, error } = await explainedBy(scene.gateway, alone, query)
    expect([attempts, error?.code]).toEqual([[], (await scene.post(path, alone)).status])
    expect(error?.code).toBe(404)
  })
})

describe("a conversation that is to be compacted", () => {
  const asked: ReadonlyArray<readonly [form: string, path: string, body: JsonObject, place: string]> = [
    [
      "responses",
      "/responses",
      { input: [{ role: "user", content: "a" }, { type: "compaction_trigger" }] },
      "input[1]",
    ],
    ["responses", "/responses", { input: [compacted, { role: "user", content: "a" }] }, "input[0]"],
    ["compact", "/responses/compact", { input: "a" }, "input"],
    ["messages", "/messages", { messages, compaction: { type: "summarize" } }, "compaction"],
  ]

  test.each(asked)("%s: the hosts that cannot are excluded by the form, as at %s", async (form, path, body, place) => {
    const name = form === "messages" ? "Messages" : "Responses"
    const reason = expect.stringContaining(`cannot carry ${place}: only hosts of the ${name} form`)
    const mixed = { ...body, model: form === "messages" ? "agents/others" : "agents/mixed" }
    const { attempts, excluded, error } = await explainedBy(scene.gateway, mixed, `?form=${form}`)
    expect(attempts.map(({ host }) => host)).toEqual([form === "messages" ? "claude" : "first"])
    expect(excluded.every(({ by }) => by === "form")).toBe(true)
    expect(excluded[0]).toEqual({ model: mixed.model, host: "chat", by: "form", reason })
    expect(error).toBeUndefined()

    const none = { ...body, model: form === "messages" ? "agents/responses" : "agents/others" }
    const explained = await explainedBy(scene.gateway, none, `?form=${form}`)
    expect(explained.attempts).toEqual([])
    const response = await scene.post(path, none)
    expect(response.status).toBe(404)
    if (form === "messages") expect(explained.error?.code).toBe(404)
    else {
      // An explanation has the error in the form of chat completions.
      expect(await errorOf(response)).toMatchObject({ ...explained.error })
    }
  })
})

test("hosts that fail are tried in the order of the explanation, and no other one", async () => {
  const tried: Array<string> = []
  const failing = (host: "first" | "second") => {
    scene.says[host] = () => {
      tried.push(host)
      return Response.json({ error: { message: "no" } }, { status: 503 })
    }
  }
  failing("first")
  failing("second")
  for (const [form, path, body] of [
    ["responses", "/responses", { input: [compacted, { role: "user", content: "a" }] }],
    ["responses", "/responses", { input: [compacted, { role: "user", content: "a" }], stream: true }],
    ["compact", "/responses/compact", { input: "a" }],
  ] as const) {
    tried.length = 0
    const asked = { ...body, model: "agents/all", provider: { sort: "price" } }
    const { attempts, excluded } = await explainedBy(scene.gateway, asked, `?form=${form}`)
    expect(excluded.map(({ host, by }) => [host, by])).toEqual([["chat", "form"]])
    await (await scene.post(path, asked)).text()
    expect(tried).toEqual(attempts.map(({ host }) => host as "first"))
    expect(tried.toSorted()).toEqual(["first", "second"])
  }
  scene.says.first = compactingHost
  scene.says.second = compactingHost
})

describe("what a host would not be sent", () => {
  test("has the names that X-GW-Dropped has", async () => {
    const body = { model, input: "hi", max_output_tokens: 20, stop: ["x"], text: { verbosity: "low" }, store: false }
    const { dropped_parameters: dropped } = await explainedBy(scene.gateway, body, "?form=responses")
    const response = await scene.post("/responses", body)
    expect(dropped["first"]?.join(", ")).toBe(response.headers.get("x-gw-dropped") ?? "")
    expect(dropped["first"]).toContain("stop")
    const logged = { input: "hi", include: ["message.output_text.logprobs"], provider: { only: ["claude"] } }
    const named = await explainedBy(scene.gateway, { ...logged, model: "agents/others" }, "?form=responses")
    expect(named.dropped_parameters).toEqual({ claude: ["include"] })
    const compact = { model, input: "hi", max_output_tokens: 20 }
    const explained = await explainedBy(scene.gateway, compact, "?form=compact")
    expect(explained.dropped_parameters["first"]).toEqual(["max_output_tokens"])
  })
})

test.each(["?form=", "?form=gemini", "?form=chat&form=messages", "?form=Chat"])("%s is refused", async (query) => {
  const response = await scene.post(`/route/explain${query}`, { model, messages })
  const { code, message: sentence, metadata } = await errorOf(response)
  expect([code, metadata?.["path"]]).toEqual([400, "form"])
  expect(sentence).toContain(`one of ${[...formRoutes.keys()].join(", ")}`)
})

test("the description of the API names the same forms", async () => {
  const document = JSON.parse(await (await scene.gateway.call("/openapi.json")).text())
  const parameters = objectsIn(document.paths["/api/v1/route/explain"].post.parameters)
  const named = parameters.find(({ name }) => name === "form")
  expect(named?.["schema"]).toMatchObject({ enum: [...formRoutes.keys()] })
})
