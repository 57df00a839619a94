/** What the gateway remembers is bounded by the configuration in force and a day of traffic, not by how often it was reloaded. */
import { heapStats } from "bun:jsc"
import { afterAll, expect, setDefaultTimeout, test } from "bun:test"
import * as Layer from "effect/Layer"
import { ProviderRegistry } from "../../src/catalogue/ProviderRegistry.ts"
import { type ResolvedConfig, resolvedConfig } from "../../src/catalogue/ResolvedConfig.ts"
import { HostTag, ModelId } from "../../src/domain/ids.ts"
import { dayMs } from "../../src/domain/keys/limitWindows.ts"
import { DataPlane } from "../../src/http/data/routes.ts"
import { ManualClock } from "../support/clocks/manualClock.ts"
import { gatewayWithoutSocket } from "../support/gateways/gateway.ts"
import { wholeAnswer } from "../support/hosts/host.ts"

setDefaultTimeout(1_800_000)

const reloads = 1000

/** Answers, but for the provider whose name is "bad". */
const host = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  idleTimeout: 0,
  fetch: ({ url }) => (url.includes("/bad/") ? new Response("{}", { status: 401 }) : wholeAnswer("Hello")),
})
afterAll(() => host.stop(true))

const slugs = ["one", "two", "three", "bad"]

const config = {
  discovery: { environment: false, local: false },
  // Its series keep their places, up to a bound.
  server: { metrics: { enabled: false } },
  providers: Object.fromEntries(
    slugs.map((slug) => [
      slug,
      {
        ...{ plugin: "openai-compatible", base_url: `http://127.0.0.1:${host.port}/${slug}/v1` },
        network: "private" as const,
        api_keys: [{ key: `first of ${slug}`, limit: 10 }, { key: `second of ${slug}` }] as const,
      },
    ]),
  ),
  models: [
    {
      id: "acme/model",
      context_length: 8192,
      hosts: slugs.map((provider) => ({
        ...{ provider, model: "upstream", max_completion_tokens: 4096 },
        pricing: { prompt: "0.000001", completion: "0.000002" },
      })),
    },
  ],
}

/** The same with other names for everything. */
const renamed = ({ names: _, endpoints: __, ...rest }: ResolvedConfig, round: number): ResolvedConfig => {
  const named = (name: string) => `${name}-${round}`
  return resolvedConfig({
    ...rest,
    providers: new Map(
      Array.from(rest.providers, ([slug, loaded]) => {
        if (!loaded.callable) throw new Error("a provider is off")
        const settings = { ...loaded.settings, slug: named(slug) }
        return [settings.slug, { ...loaded, settings }] as const
      }),
    ),
    models: rest.models.map((model) => {
      const id = ModelId.make(named(model.id))
      const hosts = model.hosts.map(({ provider, tag, ...more }) => ({
        ...more,
        ...{ model: id, provider: named(provider), tag: HostTag.make(named(tag)) },
      }))
      return { ...model, id, hosts }
    }),
  })
}

/** How many objects of each class live. */
const alive = (): Readonly<Record<string, number>> => {
  Bun.gc(true)
  return heapStats().objectTypeCounts
}

/** What there is more of, by more than a quarter of an object for each reload. */
const grownBetween = (before: ReturnType<typeof alive>, after: ReturnType<typeof alive>) =>
  Object.entries(after)
    .map(([name, count]) => [name, count - (before[name] ?? 0)] as const)
    // The compiler makes code and its tables whenever it likes.
    .filter(([name, count]) => count > reloads / 4 && !/Code|Executable|Structure|Table/.test(name))

test(`thrice ${reloads} reloads with new names, and calls of hosts of each, leave no more in memory a day later`, async () => {
  const clock = new ManualClock()
  const gateway = await gatewayWithoutSocket({ config, setting: Layer.setClock(clock) })
  const registry = await gateway.run(ProviderRegistry)
  const first = registry.current()
  const { handlers } = await gateway.run(DataPlane)
  const handler = handlers.get("/api/v1/chat/completions")
  if (handler === undefined) throw new Error("no chat completions")
  const call = async (model: string, name: string) => {
    const body = JSON.stringify({ model, messages: [{ role: "user", content: "hello" }], provider: { order: [name] } })
    const headers = {
      authorization: `Bearer ${gateway.key}`,
      "content-type": "application/json",
      "content-length": `${body.length}`,
    }
    const response = await handler.native(
      new Request(`${gateway.url}/chat/completions`, { method: "POST", headers, body }),
      () => false,
    )
    await response.text()
    return response.status
  }
  const reload = async (round: number) => {
    registry.replace(renamed(first, round))
    // Retries are bounded by the second.
    clock.advance(1000)
    expect(await call(`acme/model-${round}`, `${slugs[round % slugs.length]}-${round}`)).toBe(200)
  }
  const dayPasses = async () => {
    for (let steps = 0; steps < 50; steps++) {
      clock.advance(dayMs / 40)
      await Bun.sleep(1)
    }
  }
  const rounds = async (first: number, count: number) => {
    for (let round = first; round < first + count; round++) await reload(round)
    await dayPasses()
  }
  await rounds(1, 100)
  const counts = [alive()]
  for (const span of [0, 1, 2]) {
    await rounds(101 + span * reloads, reloads)
    counts.push(alive())
  }
  // What the runtime keeps of texts is bounded, and full after some thousand reloads. What leaks grows in every span.
  const grown = counts.slice(1).map((after, span) => grownBetween(counts[span] ?? {}, after))
  const always = grown[0]?.filter(([name]) => grown.every((ofSpan) => ofSpan.some(([other]) => other === name)))
  expect(always).toEqual([])
  await gateway.stop()
})
