/** Gateways with scripted hosts of models that make vectors or rank documents. */
import type { ModelInput } from "../../../src/catalogue/schema.ts"
import { startGateway, type TestGateway } from "../gateways/gateway.ts"
import { type ScriptedHost, scriptedHost } from "./host.ts"

export type Answer = (body: Record<string, unknown>, request: Request) => Response | Promise<Response>

export interface UnaryScene {
  readonly gateway: TestGateway
  /** By provider. */
  readonly hosts: Readonly<Record<string, ScriptedHost>>
  readonly post: (body: Record<string, unknown>, init?: RequestInit) => Promise<Response>
  readonly stop: () => Promise<void>
}

/** The model `acme/unary`; its hosts are tried in this order. `facts`: of each host. `settings`: of providers, by their names. */
export const unaryScene = async (
  operation: "embeddings" | "rerank",
  answers: Readonly<Record<string, Answer>>,
  facts: Readonly<Record<string, object>> = {},
  settings: Readonly<Record<string, object>> = {},
  limits: object = {},
): Promise<UnaryScene> => {
  const hosts = Object.fromEntries(Object.entries(answers).map(([slug, answer]) => [slug, scriptedHost(answer)]))
  const model: ModelInput = {
    id: "acme/unary",
    context_length: 512,
    architecture: { input_modalities: ["text", "image"], output_modalities: [operation] },
    hosts: Object.keys(answers).map((slug) => ({
      provider: slug,
      model: "upstream",
      pricing: { prompt: "0.000001", completion: "0" },
      ...facts[slug],
    })),
  }
  const config = {
    providers: Object.fromEntries(
      Object.entries(hosts).map(([slug, { url }]) => [
        slug,
        {
          plugin: "openai-compatible",
          base_url: url,
          network: "private" as const,
          api_key: `key-of-${slug}`,
          ...settings[slug],
        },
      ]),
    ),
    models: [model],
    routing: { strategy: "price" },
    limits,
  }
  const gateway = await startGateway({ config })
  return {
    gateway,
    hosts,
    post: (body, init) =>
      gateway.call(`/${operation}`, {
        method: "POST",
        body: JSON.stringify({ model: "acme/unary", ...body }),
        ...init,
      }),
    stop: async () => {
      await gateway.stop()
      for (const host of Object.values(hosts)) await host.stop()
    },
  }
}

// What a test reads of a body it checks itself.
// biome-ignore lint/suspicious/noExplicitAny: see above
type Anything = any

/** The answer with its JSON. */
export const answered = async (response: Promise<Response>) => {
  const answer = await response
  const body: Anything = await answer.json()
  return { status: answer.status, headers: answer.headers, body }
}
