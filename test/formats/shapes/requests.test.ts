/**
 * Whatever is wrong with one member of a request, the caller gets a 400 that names it, or the answer, and then the host
 * got the rest of the request as before: never a 500, never an exception. By the gateway's own path, without sockets.
 * With `SHAPES` each goes to a host of every protocol, and some with two damages are added.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test"
import { isJsonObject, type JsonObject } from "../../../src/domain/json/json.ts"
import { Upstream } from "../../../src/upstream/Upstream.ts"
import { gatewayWithoutSocket, type TestGateway } from "../../support/gateways/gateway.ts"
import { type ChangedAt, damagedOrRemoved, oneDamaged, type Place, picker, shown } from "./changes.ts"
import { richHosts } from "./richHosts.ts"
import { marksOf, type RichRequest, richRequests } from "./richRequests.ts"

setDefaultTimeout(1_800_000)

interface Speaker {
  readonly plugin: string
  /** Name of the model at the host. */
  readonly model: string
  readonly settings?: JsonObject
  readonly host?: { readonly api: string }
}

/** By the protocol. */
const speakers: Readonly<Record<string, Speaker>> = {
  chat: { plugin: "openai-compatible", model: "upstream" },
  messages: { plugin: "anthropic", model: "claude-sonnet-4-5" },
  responses: { plugin: "openai", model: "gpt-5.5", host: { api: "responses" } },
  "generate-content": { plugin: "google-ai-studio", model: "gemini-3.5-flash" },
  converse: { plugin: "bedrock", model: "anthropic.claude-sonnet-4-5-v1:0", settings: { region: "eu-west-1" } },
  cohere: { plugin: "cohere", model: "command-a-03-2025" },
  ollama: { plugin: "ollama", model: "llama3.2" },
}
const protocols = Object.keys(speakers)

const vectorsOf = (inputs: number) => ({
  data: Array.from({ length: inputs }, (_, index) => ({ index, embedding: [0.5] })),
  results: [{ index: 0, relevance_score: 0.5 }],
  usage: { prompt_tokens: 5, total_tokens: 5 },
})

/** What a host was sent last. */
let sent = ""
let gateway: TestGateway

const answer = async (request: Request): Promise<Response> => {
  const { hostname, pathname } = new URL(request.url)
  sent = await request.text()
  const protocol = hostname.split(".")[0] ?? ""
  const asked: unknown = JSON.parse(sent)
  const input = isJsonObject(asked) ? asked["input"] : undefined
  // A list of numbers is one input, as tokens.
  const inputs = Array.isArray(input) && typeof input[0] !== "number" ? input.length : 1
  if (/embed|rerank/i.test(pathname)) return Response.json(vectorsOf(inputs))
  return Response.json(richHosts[protocol === "generate-content" ? "generateContent" : protocol]?.whole)
}

const modelOf = (operation: string) => ({
  id: `acme/${operation}`,
  context_length: 8192,
  architecture: { input_modalities: ["text"], output_modalities: [operation] },
  hosts: [{ provider: "chat", model: "upstream", pricing: { prompt: "0.000001", completion: "0" } }],
})

beforeAll(async () => {
  gateway = await gatewayWithoutSocket({
    upstream: Upstream.layerFrom(answer),
    config: {
      providers: Object.fromEntries(
        Object.entries(speakers).map(([name, { plugin, settings }]) => [
          name,
          {
            ...{
              plugin,
              base_url: `http://${name}.host.test/v1`,
              network: "private" as const,
              api_key: "key-of-the-shapes",
            },
            ...settings,
          },
        ]),
      ),
      models: [
        ...Object.entries(speakers).map(([name, { model, host }]) => ({
          id: `acme/${name}`,
          context_length: 200_000,
          architecture: { input_modalities: ["text", "image", "file"], output_modalities: ["text"] },
          hosts: [
            {
              ...{ provider: name, model, pricing: { prompt: "0.000001", completion: "0.000002" } },
              ...{ max_completion_tokens: 8192 },
              ...host,
            },
          ],
        })),
        modelOf("embeddings"),
        modelOf("rerank"),
      ],
      limits: { breaker: { consecutive_failures: 0, error_rate: 0 } },
    },
  })
})
afterAll(() => gateway.stop())

/** A case here takes as long as many of the others. */
const several = Math.ceil(Number(process.env["SHAPES"] ?? 0) / 25 / Object.keys(richRequests).length)
const isQuick = several === 0

interface Outcome {
  readonly status: number
  readonly body: JsonObject
  readonly dropped: string
  readonly sent: string
}

const send = async (rich: RichRequest, model: string, body: JsonObject): Promise<Outcome> => {
  sent = ""
  const response = await gateway.call(rich.path(model), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(rich.namesModel ? { model, ...body } : body),
  })
  const read: unknown = JSON.parse(await response.text())
  return {
    status: response.status,
    body: isJsonObject(read) ? read : { read },
    dropped: response.headers.get("x-gw-dropped") ?? "",
    sent,
  }
}

/** Every name on the way to a place, without numbers. */
const namesOf = (place: Place): ReadonlyArray<string> =>
  place.filter((one) => typeof one === "string").map((name) => name.toLowerCase())

const at = (value: unknown, [first, ...rest]: Place): unknown =>
  first === undefined
    ? value
    : at(isJsonObject(value) ? value[first] : Array.isArray(value) ? value[Number(first)] : undefined, rest)

/** The texts of a request to a host, in their order. */
const order = (marks: ReadonlyArray<string>, sent: string): ReadonlyArray<string> =>
  marks.filter((mark) => sent.includes(mark)).toSorted((one, other) => sent.indexOf(one) - sent.indexOf(other))

/** Whether a damaged turn leaves a result without its call, which some hosts want elsewhere. */
const isTurn = ([list, , ...rest]: Place): boolean =>
  (list === "messages" || list === "contents") && (rest.length === 0 || rest[0] === "role" || rest.length === 1)

/**
 * What is wrong with the body of a refusal. Without a host that takes an unknown kind of part or tool the status is
 * 404.
 */
const refusalFault = (rich: RichRequest, { status, body }: Outcome): string | undefined => {
  const { error } = body
  if (status !== 400 && status !== 404) return `${status}: ${JSON.stringify(body)}`
  return isJsonObject(error) && typeof error["message"] === "string" && rich.isRefusal(error, status, body)
    ? undefined
    : `not the body of the format: ${JSON.stringify(body)}`
}

const unnamed = (place: Place, { status, body }: Outcome): string | undefined => {
  const error = isJsonObject(body["error"]) ? body["error"] : {}
  const said = (status === 400 ? String(error["message"]) : JSON.stringify(error)).toLowerCase()
  return namesOf(place).some((name) => said.includes(name)) ? undefined : `not named: ${said}`
}

/** What is wrong with the outcome of a damaged request, if anything. `before`: the outcome of the whole one. */
const faultOf = (rich: RichRequest, { place }: ChangedAt, before: Outcome, now: Outcome): string | undefined => {
  if (now.status !== 200) return refusalFault(rich, now) ?? unnamed(place, now)
  // What may be gone with a member: the object or the list that it stands in, and of the body only the member.
  const own = [
    ...marksOf(at(rich.body, place.length === 1 ? place : place.slice(0, -1))),
    // A choice says which tools are meant.
    ...(/^tool_?c/i.test(String(place[0])) ? marksOf(rich.body["tools"]) : []),
  ]
  const others = marksOf(rich.body).filter((mark) => !own.includes(mark))
  const wanted = order(others, before.sent)
  const lost = wanted.filter((mark) => !now.sent.includes(mark))
  if (lost.length > 0) return `lost ${lost.join(" ")}`
  const found = order(wanted, now.sent)
  return isTurn(place) || found.join() === wanted.join() ? undefined : `in another order: ${found.join(" ")}`
}

describe.each(Object.entries(richRequests))("a request of %s", (_, rich) => {
  test("each member of which is damaged is refused by its name, or answered, and the rest is sent as before", async () => {
    const models = rich.operation === "chat" ? protocols : [rich.operation]
    const before = new Map<string, Outcome>()
    for (const model of models) before.set(model, await send(rich, `acme/${model}`, rich.body))
    const faults: Array<string> = []
    for (const [number, change] of damagedOrRemoved(rich.body).entries()) {
      for (const [at, model] of models.entries()) {
        if (isQuick && at !== (number + Math.floor(number / models.length)) % models.length) continue
        const base = before.get(model)
        if (base === undefined) continue
        const fault = faultOf(rich, change, base, await send(rich, `acme/${model}`, change.value))
        if (fault !== undefined) faults.push(`${model}: ${change.name}: ${fault}`)
      }
    }
    expect(shown(faults)).toEqual([])
  })
  test.skipIf(isQuick)("with two damages at once is refused or answered", async () => {
    const pick = picker(20_261_128)
    const models = rich.operation === "chat" ? protocols : [rich.operation]
    const faults: Array<string> = []
    for (let count = 0; count < several; count++) {
      const first = oneDamaged(rich.body, pick)
      const { name, value } = oneDamaged(first.value, pick)
      const outcome = await send(rich, `acme/${pick(models)}`, value)
      const fault = outcome.status === 200 ? undefined : refusalFault(rich, outcome)
      if (fault !== undefined) faults.push(`${first.name}, ${name}: ${fault}`)
    }
    expect(shown(faults)).toEqual([])
  })
})

describe("a member that Google's clients send is named in their words", () => {
  const config = { functionCallingConfig: { mode: "ANY", allowedFunctionNames: [null] } }
  const bodies: ReadonlyArray<readonly [named: string, form: string, model: string, change: JsonObject]> = [
    ["toolConfig.functionCallingConfig.allowedFunctionNames[0]", "generateContent", "cohere", { toolConfig: config }],
    [
      "toolConfig.functionCallingConfig.allowedFunctionNames",
      "generateContent",
      "cohere",
      { toolConfig: { functionCallingConfig: { mode: "ANY", allowedFunctionNames: ["x"] } } },
    ],
    ["generationConfig.maxOutputTokens", "generateContent", "responses", { generationConfig: { maxOutputTokens: 5 } }],
    ["requests", "embedContent", "embeddings", { requests: "x" }],
    [
      "requests[1].content",
      "embedContent",
      "embeddings",
      { requests: [{ content: { parts: [{ text: "a" }] } }, null] },
    ],
    ["content", "embedContent", "embeddings", { requests: undefined, content: 5 }],
  ]
  test.each(bodies)("%s", async (named, form, model, change) => {
    const rich = richRequests[form]
    if (rich === undefined) throw new Error("no such format")
    const single = form === "embedContent" && named === "content"
    const asked = single ? { ...rich, path: () => `beta/models/acme/${model}:embedContent` } : rich
    const { status, body } = await send(asked, `acme/${model}`, { ...rich.body, ...change })
    expect([status, isJsonObject(body["error"]) && String(body["error"]["message"]).split(": ")[0]]).toEqual([
      400,
      named,
    ])
  })
})
