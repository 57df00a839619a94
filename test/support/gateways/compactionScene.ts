/**
 * A gateway whose models have hosts of several protocols, two of them of the Responses form: the others cannot compact a
 * conversation.
 */
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { type ScriptedHost, scriptedHost, streamAnswer, wholeAnswer } from "../hosts/host.ts"
import { eventsOf, hostUsage, message, responseObject, streamOf } from "../hosts/responsesHost.ts"
import { startGateway, type TestGateway } from "./gateway.ts"

/** What a host of the Responses form has made of a conversation. */
export const compacted: JsonObject = { id: "cmp_host", type: "compaction", encrypted_content: "Y29tcGFjdGVk" }

/** The answer of such a host to `POST /responses/compact`. */
export const compaction: JsonObject = {
  id: "resp_host",
  object: "response.compaction",
  created_at: 1_790_000_000,
  output: [
    { id: "msg_user", type: "message", role: "user", content: [{ type: "input_text", text: "Read hello.txt" }] },
    compacted,
  ],
  usage: hostUsage,
}

export type ResponsesAnswer = (body: JsonObject, request: Request) => Response

/** Compacts where it is asked to, and answers otherwise. */
export const compactingHost: ResponsesAnswer = ({ input, stream }, { url }) => {
  if (url.endsWith("/responses/compact")) return Response.json(compaction)
  const isTriggered = JSON.stringify(input).includes("compaction_trigger")
  const output = [isTriggered ? compacted : message("out.txt is written.")]
  return stream === true ? streamOf(eventsOf(output)) : Response.json(responseObject(output))
}

export interface CompactionScene {
  readonly gateway: TestGateway
  /** What the first and the second host of the form answer. */
  readonly says: { first: ResponsesAnswer; second: ResponsesAnswer }
  readonly hosts: Readonly<Record<"first" | "second" | "chat", ScriptedHost>>
  /** Posts a body below `/api/v1`. */
  readonly post: (path: string, body: JsonObject, headers?: Record<string, string>) => Promise<Response>
  readonly stop: () => Promise<void>
}

const pricing = { prompt: "0.000001", completion: "0.000002", input_cache_read: "0.0000001" }

/** A model of another operation, of which only the plan is looked at. */
const modelOf = (operation: "embeddings" | "rerank") => ({
  ...model(`agents/${operation}`, "chat"),
  architecture: { input_modalities: ["text"], output_modalities: [operation] },
})

const model = (id: string, ...providers: ReadonlyArray<string>) => ({
  id,
  context_length: 100_000,
  hosts: providers.map((provider) => ({
    provider,
    model: provider === "claude" ? "claude-sonnet-4-5" : "upstream",
    ...(provider === "first" || provider === "second" ? { api: "responses" } : {}),
    pricing,
    max_completion_tokens: 4096,
  })),
})

export const compactionScene = async (): Promise<CompactionScene> => {
  const says = { first: compactingHost, second: compactingHost }
  const hosts = {
    first: scriptedHost((body, request) => says.first(body, request)),
    second: scriptedHost((body, request) => says.second(body, request)),
    chat: scriptedHost(({ stream }) => (stream === true ? streamAnswer(["fine"]) : wholeAnswer("fine"))),
  }
  const local = (plugin: string, { url }: ScriptedHost) =>
    ({ plugin, base_url: url, network: "private", api_key: "k" }) as const
  const gateway = await startGateway({
    config: {
      providers: {
        first: local("openai", hosts.first),
        second: local("openai", hosts.second),
        chat: local("openai-compatible", hosts.chat),
        claude: { plugin: "anthropic", api_key: "k" },
        gemini: { plugin: "google-ai-studio", api_key: "k" },
        converse: { plugin: "bedrock", region: "eu-central-1", api_key: "k" },
        cohere: { plugin: "cohere", api_key: "k" },
      },
      models: [
        model("agents/responses", "first", "second"),
        model("agents/mixed", "chat", "first"),
        model("agents/all", "second", "chat", "first"),
        model("agents/others", "chat", "claude", "gemini", "converse", "cohere"),
        modelOf("embeddings"),
        modelOf("rerank"),
      ],
      limits: {
        breaker: { consecutive_failures: 0, error_rate: 0 },
        cooldown: { account_s: 0, not_found_s: 0, rate_limit_s: 0, max_s: 0 },
      },
    },
  })
  return {
    gateway,
    says,
    hosts,
    post: (path, body, headers = {}) =>
      gateway.call(path, {
        method: "POST",
        body: JSON.stringify(body),
        headers: { "content-type": "application/json", ...headers },
      }),
    stop: async () => {
      await gateway.stop()
      for (const host of Object.values(hosts)) await host.stop()
    },
  }
}
