/** One gateway with a host of each protocol, for requests of agents. */
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { startGateway, type TestGateway } from "../gateways/gateway.ts"
import { type ScriptedHost, scriptedHost } from "../hosts/host.ts"
import type { AgentHost, Said } from "./AgentHost.ts"
import { agentHosts, type HostName, hostNames } from "./hosts.ts"

export interface AgentScene {
  readonly gateway: TestGateway
  /** What the hosts say from now on; their reasoning only where they are asked for it. */
  say: Said
  /** The last request of a host. */
  readonly sentTo: (host: HostName) => JsonObject
  readonly stop: () => Promise<void>
}

/** The model that only this host has. */
export const modelAt = (host: HostName): string => `agents/${host.replace(" ", "-")}`

/** The same, at a host that has a price for searches. */
export const searchingModelAt = (host: HostName): string => `${modelAt(host)}-searching`

/** A model that hosts of every protocol but Responses have. */
export const modelElsewhere = "agents/elsewhere"

export const agentScene = async (): Promise<AgentScene> => {
  const hosts = new Map<HostName, ScriptedHost>()
  for (const name of hostNames)
    hosts.set(
      name,
      scriptedHost((body, request) => answer(agentHosts[name], body, request)),
    )
  const answer = (host: AgentHost, body: JsonObject, request: Request): Response => {
    const { thought, ...said } = scene.say
    const isStream = body["stream"] === true || new URL(request.url).pathname.toLowerCase().includes("stream")
    const thinks = thought !== undefined && host.isToThink(body)
    return host.answer(thinks ? { ...said, thought } : said, isStream)
  }
  const hostAt = (name: HostName, more: Readonly<Record<string, string>> = {}) => ({
    provider: slugOf(name),
    model: agentHosts[name].model,
    pricing: { prompt: "0.000001", completion: "0.000002", input_cache_read: "0.0000001", ...more },
    max_completion_tokens: 64_000,
  })
  const common = { created: 1_760_000_000, context_length: 400_000 }
  const gateway = await startGateway({
    config: {
      providers: Object.fromEntries(
        hostNames.map((name) => [
          slugOf(name),
          {
            ...agentHosts[name].provider,
            base_url: hosts.get(name)?.url ?? "",
            network: "private" as const,
            api_key: "x",
          },
        ]),
      ),
      models: [
        ...hostNames.map((name) => ({ id: modelAt(name), name, ...common, hosts: [hostAt(name)] })),
        ...hostNames.map((name) => ({
          id: searchingModelAt(name),
          name,
          ...common,
          hosts: [hostAt(name, { web_search: "0.01" })],
        })),
        {
          id: modelElsewhere,
          name: "elsewhere",
          ...common,
          hosts: hostNames.filter((name) => name !== "responses").map((name) => hostAt(name)),
        },
      ],
      limits: {
        breaker: { consecutive_failures: 0, error_rate: 0 },
        cooldown: { account_s: 0, not_found_s: 0, rate_limit_s: 0, max_s: 0 },
      },
    },
  })
  const scene: AgentScene = {
    gateway,
    say: { calls: [] },
    sentTo: (host) => hosts.get(host)?.calls.at(-1)?.body ?? {},
    stop: async () => {
      await gateway.stop()
      for (const host of hosts.values()) await host.stop()
    },
  }
  return scene
}

/** A provider's name in the configuration. */
export const slugOf = (name: HostName): string => `the-${name.replace(" ", "-")}`
