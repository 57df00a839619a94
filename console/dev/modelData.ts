/** Made-up models, hosts and providers. */
import type { Host, HostListing, Model, Pricing } from "../api/modelTypes.ts"
import type { ProviderState } from "../api/types.ts"
import { chance, kinds } from "./data.ts"

const ids = [...new Set(kinds.map(({ model }) => model))]

/** `price`: picodollars of a request of some 2,700 tokens. */
const pricingOf = (price: number): Pricing => ({
  prompt: (price / 3e15).toFixed(12),
  completion: (price / 6e14).toFixed(12),
  input_cache_read: (price / 3e16).toFixed(12),
  discount: 0,
  overrides: [],
})

const architecture = {
  modality: "text+image->text",
  input_modalities: ["text", "image"],
  output_modalities: ["text"],
}

const supported = ["max_tokens", "temperature", "tools", "reasoning"]

export const models: ReadonlyArray<Model> = ids.map((id) => ({
  id,
  name: id.split("/")[1] ?? id,
  description: `${id} as a model of the mock.`,
  context_length: 200_000,
  architecture,
  pricing: pricingOf(kinds.find(({ model }) => model === id)?.price ?? 0),
  supported_parameters: supported,
  expiration_date: null,
}))

const percentiles = (p50: number) => ({ p50, p75: p50 * 1.4, p90: p50 * 2.1, p99: p50 * 4 })

/** The hosts of a model, of which one is out. */
export const hostsOf = (id: string): HostListing => ({
  id,
  name: id.split("/")[1] ?? id,
  description: `${id} as a model of the mock.`,
  architecture,
  endpoints: kinds
    .filter(({ model }) => model === id)
    .map(
      ({ host, provider_name, price }): Host => ({
        name: `${provider_name} | ${id}`,
        context_length: 200_000,
        pricing: pricingOf(price),
        provider_name,
        tag: host,
        quantization: host === "my-vllm" ? "fp8" : "unknown",
        max_completion_tokens: 32_000,
        max_prompt_tokens: null,
        supported_parameters: supported,
        status: host === "groq" ? -2 : 0,
        uptime_last_5m: host === "groq" ? 0 : 100,
        uptime_last_30m: host === "groq" ? 61.2 : 99.8,
        uptime_last_1d: host === "groq" ? 94.1 : 99.93,
        supports_implicit_caching: false,
        latency_last_30m: host === "groq" ? null : percentiles(180 + 400 * chance(host)),
        throughput_last_30m: host === "groq" ? null : percentiles(40 + 60 * chance(`${host} speed`)),
      }),
    ),
})

const on = (slug: string, now: number): ProviderState => {
  const own = kinds.filter(({ provider }) => provider === slug)
  const [first] = own
  return {
    slug,
    name: first?.provider_name ?? slug,
    plugin: slug === "my-vllm" ? "openai-compatible" : slug,
    source: slug === "my-vllm" ? "configuration" : "environment",
    state: "on",
    why: null,
    variable: slug === "my-vllm" ? null : `${slug.toUpperCase().replaceAll("-", "_")}_API_KEY`,
    base_url_host: slug === "my-vllm" ? "10.0.0.5" : `api.${slug}.example`,
    hosts: own.length,
    models: new Set(own.map(({ model }) => model)).size,
    network: slug === "my-vllm" ? "private" : "public",
    keys:
      slug === "openai"
        ? [
            {
              label: "key 1 (OPENAI_KEY_A)",
              state: "ready",
              why: null,
              rests_until: null,
              exact: { spent_usd: "812.5" },
            },
            {
              label: "key 2 (OPENAI_KEY_B)",
              state: "resting",
              why: "rate-limited",
              rests_until: new Date(now + 42_000).toISOString(),
              exact: { spent_usd: "97.000000000001" },
            },
          ]
        : [],
    account_refused_at: slug === "azure" ? new Date(now - 3_000_000).toISOString() : null,
    last_error:
      slug === "groq"
        ? { at: new Date(now - 60_000).toISOString(), model: "meta/llama-5-70b", host: "groq", why: "overloaded" }
        : null,
  }
}

const off = (slug: string, variable: string): ProviderState => ({
  ...{ slug, name: slug, plugin: slug, source: "plugin", state: "off", why: `${variable} is not set.`, variable },
  ...{ base_url_host: null, hosts: 0, models: 0, network: null, keys: [], account_refused_at: null, last_error: null },
})

const missing = [
  off("deepseek", "DEEPSEEK_API_KEY"),
  off("mistral", "MISTRAL_API_KEY"),
  off("openai", "OPENAI_API_KEY"),
]

/** Those of a gateway that serves, and those of one that was just installed. */
export const providersAt = (now: number): ReadonlyArray<ProviderState> => [
  ...[...new Set(kinds.map(({ provider }) => provider))].map((slug) => on(slug, now)),
  ...missing.slice(0, 2),
]
export const freshProviders: ReadonlyArray<ProviderState> = missing.toReversed()
