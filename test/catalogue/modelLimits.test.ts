/**
 * What vendors' tables say of their models (`Provider.limits`): the shipped catalogue is walked, so that every model is called by an
 * operation and with parameters that its vendor's page lists. The sources stand in the tables of the plugins.
 */
import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as TestContext from "effect/TestContext"
import { type Endpoint, endpointFor, endpointOf } from "../../src/catalogue/endpoints.ts"
import { loadProviders, type ProviderSettings, serves } from "../../src/catalogue/Providers.ts"
import type { Host } from "../../src/domain/hosts/Host.ts"
import { type JsonObject, objectIn } from "../../src/domain/json/json.ts"
import { operationOf } from "../../src/domain/request/operations.ts"
import { requestFor } from "../../src/domain/routing/HostRequest.ts"
import { encodeFor } from "../../src/services/dispatch/encodeFor.ts"
import { providerPlugins } from "../support/hosts/providers.ts"
import { requestWith } from "../support/recordings/recordings.ts"

const own: Readonly<Record<string, JsonObject>> = {
  azure: { resource: "acme" },
  bedrock: { region: "us-east-1" },
  cloudflare: { account_id: "acme" },
}

const settingsOf = (plugin: string, more: JsonObject = {}): ProviderSettings => ({
  ...{ slug: plugin, plugin, name: null, baseUrl: null, apiKey: null, apiKeys: null, privacy: null, ttfbMs: null },
  ...{ attemptMs: null, maxConcurrent: null, enabled: true, network: null, proxy: null, traceparent: null },
  ...{ extraMembers: [], tags: [], api: null, own: { ...own[plugin], ...more } },
})

const load = async (
  settings: ReadonlyArray<ProviderSettings>,
  models: ReadonlyArray<unknown> = [],
): Promise<ReadonlyMap<Host, Endpoint>> => {
  // On a clock that stands still, since the lists have to come within seconds.
  const loading = loadProviders({ plugins: [...providerPlugins.values()], configured: settings, models })
  const loaded = await Effect.runPromise(Effect.provide(loading, TestContext.TestContext))
  expect(loaded.problems).toEqual([])
  const endpoints = new Map<Host, Endpoint>()
  for (const { architecture, hosts } of loaded.models) {
    const operation = operationOf(architecture)
    for (const host of hosts) {
      const provider = loaded.providers.get(host.provider)
      if (operation !== undefined && provider?.callable === true && serves(provider, host, operation))
        endpoints.set(host, endpointOf(host, provider, operation))
    }
  }
  return endpoints
}

const listed = ["azure", "bedrock", "openai"] as const
const endpoints = await load(listed.map((plugin) => settingsOf(plugin)))
const chats = [...endpoints].filter(([, { unary }]) => unary === undefined)

const weather = { type: "function", function: { name: "weather", parameters: { type: "object", properties: {} } } }
const asked: JsonObject = { messages: [{ role: "user", content: "Hi" }], stop: ["END"] }

/** The path and the body of a request as this host gets it. */
const sentTo = (host: Host, endpoint: Endpoint, body: JsonObject = asked, stream = false, maxTokens?: number) => {
  const whole = requestWith(body, { stream, maxTokens })
  const parameters = Object.keys(body).filter((name) => name !== "messages")
  const { request } = requestFor({ ...whole, routing: { ...whole.routing, parameters } }, host, undefined)
  const encoded = Either.getOrThrow(encodeFor(endpointFor(endpoint, request), request, host))
  const sent: JsonObject = JSON.parse(String(encoded.body))
  return { path: encoded.path, baseUrl: endpointFor(endpoint, request).baseUrl, body: sent }
}

const at = (provider: string) => chats.filter(([host]) => host.provider === provider)
const named = (provider: string, models: RegExp) => {
  const found = at(provider).filter(([{ upstreamModel }]) => models.test(upstreamModel))
  expect(found.length).toBeGreaterThan(0)
  return found
}

test("every model that chats is called by an operation of its provider", () => {
  expect(chats.length).toBeGreaterThan(200)
  const operations = new Set(
    chats.map(
      ([host, endpoint]) => `${host.provider} ${sentTo(host, endpoint).path.replace(/\/model\/[^/]*/, "/model")}`,
    ),
  )
  expect([...operations].toSorted()).toEqual([
    ...[
      "azure /chat/completions",
      "azure /messages",
      "azure /responses",
      "bedrock /model/converse",
      "bedrock /responses",
    ],
    ...["openai /chat/completions", "openai /responses"],
  ])
})

describe("Azure", () => {
  test("models of the Responses API alone are called by it, the same ones as at OpenAI", () => {
    const only = named("azure", /codex|^(?:gpt|o\d).*-pro|deep-research/)
    for (const [host, endpoint] of only)
      expect([host.upstreamModel, sentTo(host, endpoint).path]).toEqual([host.upstreamModel, "/responses"])
    const atOpenai = new Map(at("openai").map(([host, endpoint]) => [host.model, sentTo(host, endpoint).path]))
    for (const [host, endpoint] of at("azure")) {
      const there = atOpenai.get(host.model)
      if (there !== undefined) expect([host.model, sentTo(host, endpoint).path]).toEqual([host.model, there])
    }
  })

  test("they are not offered where deployments have paths of their own, which has no Responses API", async () => {
    const old = await load([settingsOf("azure", { api_version: "2025-04-01-preview" })])
    const names = [...old.keys()].map(({ upstreamModel }) => upstreamModel)
    expect(names).toContain("gpt-4.1")
    expect(names.filter((name) => /codex|^(?:gpt|o\d).*-pro|deep-research/.test(name))).toEqual([])
  })

  test.each([false, true])("Mistral's models get max_tokens and no stream_options (stream: %p)", (stream) => {
    for (const [host, endpoint] of named("azure", /mistral|codestral/i)) {
      const { body } = sentTo(host, endpoint, asked, stream, 100)
      expect(body).toMatchObject({ max_tokens: 100 })
      expect(body).not.toHaveProperty("max_completion_tokens")
      expect(body).not.toHaveProperty("stream_options")
    }
  })

  test("a deployment of any name is what its base model, or the id of its model, says", async () => {
    const price = { prompt: "0", completion: "0" }
    const host = { provider: "azure", model: "our-deployment", context_length: 1000, pricing: price }
    const ours = await load(
      [settingsOf("azure")],
      [
        { id: "team/coder", hosts: [{ ...host, base_model: "gpt-5-codex" }] },
        { id: "openai/gpt-5-pro", hosts: [{ ...host, variant: "ours" }] },
        { id: "team/named", hosts: [{ ...host, base_model: "gpt-5-codex", api: "chat" }] },
      ],
    )
    const paths = [...ours]
      .filter(([{ upstreamModel }]) => upstreamModel === "our-deployment")
      .map(([one, endpoint]) => sentTo(one, endpoint).path)
    expect(paths).toEqual(["/responses", "/responses", "/chat/completions"])
  })
})

describe("Bedrock", () => {
  test("OpenAI's and xAI's models are called by the Responses API at their endpoint, but for open weights", () => {
    for (const [host, endpoint] of named("bedrock", /^openai\.gpt-\d|^xai\./)) {
      const { path, baseUrl } = sentTo(host, endpoint)
      expect([path, baseUrl]).toEqual(["/responses", "https://bedrock-mantle.us-east-1.api.aws/openai/v1"])
    }
    const paths = named("bedrock", /gpt-oss-\d/).map(([host, endpoint]) => sentTo(host, endpoint).path)
    expect(paths.toSorted()).toEqual([
      "/model/openai.gpt-oss-120b-1%3A0/converse",
      "/model/openai.gpt-oss-20b-1%3A0/converse",
    ])
  })

  test("no answer is bounded by the context", () => {
    for (const [host, endpoint] of at("bedrock")) {
      const { body } = sentTo(host, endpoint)
      const bound = objectIn(body["inferenceConfig"])["maxTokens"] ?? body["max_output_tokens"]
      expect([host.upstreamModel, bound]).not.toEqual([host.upstreamModel, host.contextLength])
    }
    for (const [host] of named("bedrock", /gpt-5\.6/)) expect(host.maxCompletionTokens).toBe(128_000)
  })

  test("Llama answers as a whole where there are tools, and is never told to call one", () => {
    for (const [host, endpoint] of named("bedrock", /meta\.llama/)) {
      if (!host.supportedParameters.includes("tools")) continue
      const calls = { ...asked, tools: [weather] }
      expect(sentTo(host, endpoint, calls, true).path).toEndWith("/converse")
      expect(sentTo(host, endpoint, asked, true).path).toEndWith("/converse-stream")
      expect(host.supportsToolChoice).toEqual({ none: true, auto: true, required: false, function: false })
    }
  })

  test("R1 has no tools, and models without stop sequences get none", () => {
    for (const [host] of named("bedrock", /deepseek\.r1/)) expect(host.supportedParameters).not.toContain("tools")
    for (const [host, endpoint] of named("bedrock", /gpt-oss|qwen\./)) {
      const { body } = sentTo(host, endpoint)
      expect([host.upstreamModel, objectIn(body["inferenceConfig"])["stopSequences"]]).toEqual([
        host.upstreamModel,
        undefined,
      ])
    }
  })

  test("an ARN is what its base model says: in requests, limits and prices", async () => {
    const arn = "arn:aws:bedrock:us-east-1:1:application-inference-profile/abc"
    const base = "anthropic.claude-sonnet-4-5-20250929-v1:0"
    const ours = await load(
      [settingsOf("bedrock")],
      [
        { id: "team/sonnet", hosts: [{ provider: "bedrock", model: arn, base_model: base }] },
        {
          id: "anthropic/claude-sonnet-4.5",
          hosts: [{ provider: "bedrock", variant: "ours", model: arn, context_length: 200_000 }],
        },
        { id: "team/unknown", hosts: [{ provider: "bedrock", model: arn, context_length: 1000 }] },
      ],
    )
    const hosts = [...ours.keys()]
    const [team, same, unknown] = hosts.filter(({ upstreamModel }) => upstreamModel === arn)
    const original = hosts.find(({ upstreamModel }) => upstreamModel === base)
    expect(team).toMatchObject({
      baseModel: base,
      contextLength: original?.contextLength,
      maxCompletionTokens: original?.maxCompletionTokens,
      supportedParameters: original?.supportedParameters,
    })
    expect(team?.pricing).toEqual(original?.pricing)
    expect([same?.baseModel, same?.isAlias, unknown?.isAlias]).toEqual([base, undefined, true])
    const thinking = { ...asked, temperature: 0.5, top_p: 0.5, reasoning: { max_tokens: 2000 } }
    for (const host of [team, same]) {
      const endpoint = host && ours.get(host)
      if (host === undefined || endpoint === undefined) throw new Error("no host")
      const { path, body } = sentTo(host, endpoint, { ...asked, temperature: 0.5, top_p: 0.5 })
      expect(path).toContain(encodeURIComponent(arn))
      expect(objectIn(body["inferenceConfig"])).not.toHaveProperty("topP")
      const asksToThink = encodeFor(endpoint, requestWith(thinking, { maxTokens: 8000 }), host)
      expect(JSON.parse(String(Either.getOrThrow(asksToThink).body))).toMatchObject({
        additionalModelRequestFields: { thinking: { type: "enabled", budget_tokens: 2000 } },
      })
    }
  })
})
