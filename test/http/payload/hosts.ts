/** One gateway with a host of every protocol that a caller's words reach, and what each was sent. */
import type { GatewayConfigInput } from "../../../src/config/GatewayConfig.ts"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { DataPlane } from "../../../src/http/data/routes.ts"
import { gatewayWithoutSocket, type TestGateway } from "../../support/gateways/gateway.ts"
import { type ScriptedHost, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"
import { nativeAnswer } from "../../support/hosts/messages.ts"
import { message, responseObject } from "../../support/hosts/responsesHost.ts"

/** Slugs of the models, each with one host: `acme/responses` is served by a host of the Responses form. */
export const protocols = [
  "chat",
  "compatible",
  "responses",
  "messages",
  "google",
  "converse",
  "cohere",
  "ollama",
] as const
export type ProtocolName = (typeof protocols)[number]

export interface Hosts {
  readonly gateway: TestGateway
  readonly host: ScriptedHost
  /** Sends a body in a form, for the model of a protocol. `sent`: what its host got. */
  readonly ask: (form: string, protocol: ProtocolName, body: JsonObject, key?: string) => Promise<Asked>
  readonly stop: () => Promise<void>
}

export interface Asked {
  readonly status: number
  readonly sent: JsonObject | undefined
  readonly dropped: ReadonlyArray<string>
  readonly text: string
}

export const answerAt = (path: string): Response => {
  if (path.endsWith("/responses")) return Response.json(responseObject([message("fine")]))
  if (path.endsWith("/messages")) return nativeAnswer([{ type: "text", text: "fine" }])
  if (path.includes(":generateContent"))
    return Response.json({
      candidates: [{ content: { role: "model", parts: [{ text: "fine" }] }, finishReason: "STOP" }],
      usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 },
    })
  if (path.endsWith("/converse"))
    return Response.json({
      output: { message: { role: "assistant", content: [{ text: "fine" }] } },
      stopReason: "end_turn",
      usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
    })
  if (path.endsWith("/api/chat"))
    return Response.json({ message: { role: "assistant", content: "fine" }, done: true, done_reason: "stop" })
  if (path.endsWith("/v1/chat"))
    return Response.json({
      message: { role: "assistant", content: [{ type: "text", text: "fine" }] },
      finish_reason: "COMPLETE",
      usage: { billed_units: { input_tokens: 1, output_tokens: 1 } },
    })
  return wholeAnswer("fine")
}

export const minimal: Readonly<Record<string, JsonObject>> = {
  "/chat/completions": { messages: [{ role: "user", content: "hi" }], max_tokens: 64 },
  "/completions": { prompt: "hi", max_tokens: 64 },
  "/messages": { messages: [{ role: "user", content: "hi" }], max_tokens: 64 },
  "/responses": { input: "hi", max_output_tokens: 64 },
}
export const forms = Object.keys(minimal)

/**
 * `webSearch`: the price of a search at every host; absent: none has one. `supportedParameters`: what every host says that it takes;
 * absent: nothing is known. `answer`: what a host answers; absent: "fine".
 */
export const startHosts = async ({
  webSearch,
  supportedParameters,
  provider = {},
  answer = answerAt,
}: {
  readonly webSearch?: string
  readonly supportedParameters?: ReadonlyArray<string>
  readonly provider?: JsonObject
  readonly answer?: (path: string, body: JsonObject) => Response
} = {}): Promise<Hosts> => {
  const host = scriptedHost((body, request) => answer(new URL(request.url).pathname, body))
  const common = { network: "private" as const, base_url: host.url, api_key: "k", ...provider }
  const models = protocols.map((protocol) => ({
    id: `acme/${protocol}`,
    context_length: 100_000,
    hosts: [
      {
        provider: providerOf[protocol],
        model: protocol === "google" ? "gemini-3-pro" : protocol === "messages" ? "claude-opus-4-1" : "upstream",
        ...(protocol === "responses" ? { api: "responses" } : {}),
        pricing: {
          ...{ prompt: "0.000001", completion: "0.000002" },
          ...(webSearch === undefined ? {} : { web_search: webSearch }),
        },
        max_completion_tokens: 4096,
        ...(supportedParameters === undefined ? {} : { supported_parameters: supportedParameters }),
      },
    ],
  }))
  const config = {
    providers: {
      openai: common,
      compatible: { ...common, plugin: "openai-compatible" },
      anthropic: common,
      "google-ai-studio": common,
      bedrock: { ...common, region: "us-east-1" },
      cohere: common,
      ollama: common,
    },
    models,
    limits: { breaker: { open_s: 0 }, cooldown: { account_s: 0, not_found_s: 0, rate_limit_s: 0 } },
  } as unknown as GatewayConfigInput
  const gateway = await gatewayWithoutSocket({ config })
  const { handlers } = await gateway.run(DataPlane)
  return {
    gateway,
    host,
    ask: async (form, protocol, body, key = gateway.key) => {
      host.forget()
      const handler = handlers.get(`/api/v1${form}`)
      if (handler === undefined) throw new Error(`there is no form at ${form}`)
      const text = JSON.stringify({ model: `acme/${protocol}`, ...minimal[form], ...body })
      const request = new Request(`${gateway.url}${form}`, {
        method: "POST",
        headers: {
          "content-type": "application/json",
          authorization: `Bearer ${key}`,
          "content-length": String(Buffer.byteLength(text)),
        },
        body: text,
      })
      const response = await handler.native(request, () => false)
      const names = response.headers.get("x-gw-dropped")
      return {
        status: response.status,
        sent: host.calls[0]?.body,
        dropped: names === null ? [] : names.split(", "),
        text: await response.text(),
      }
    },
    stop: async () => {
      await gateway.stop()
      await host.stop()
    },
  }
}

const providerOf: Readonly<Record<ProtocolName, string>> = {
  chat: "openai",
  compatible: "compatible",
  responses: "openai",
  messages: "anthropic",
  google: "google-ai-studio",
  converse: "bedrock",
  cohere: "cohere",
  ollama: "ollama",
}
