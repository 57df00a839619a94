/** Which hosts of a model may be tried, and what is said of the others; and which models a request names. docs/guarantees.md#g12 and #g36 */
import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import { ProviderRegistry } from "../../../src/catalogue/ProviderRegistry.ts"
import type { Host } from "../../../src/domain/hosts/Host.ts"
import { unrestricted } from "../../../src/domain/keys/Permissions.ts"
import type { Preferences } from "../../../src/domain/request/Preferences.ts"
import type { Out } from "../../../src/services/hosts/endpointHealth.ts"
import { Exclusions, type States, usableHosts } from "../../../src/services/routing/usableHosts.ts"
import { wantedModels } from "../../../src/services/routing/wantedModels.ts"
import { closeServices, hostsConfig, servicesOf } from "../../support/clocks/services.ts"
import { requestWith } from "../../support/recordings/recordings.ts"

closeServices()

const priced = { pricing: { prompt: "0.000001", completion: "0.000002" } }
const services = await servicesOf(
  ProviderRegistry.layer(
    await hostsConfig({ a: priced, b: priced, c: { quantization: "fp8", ...priced } }, {}, { c: { enabled: false } }),
  ),
)
const registry = services.get(ProviderRegistry)
const [model] = registry.current().models
if (model === undefined) throw new Error("no model")

/** Hosts that are out, by their tags, and the one that may be probed all the same. */
interface World {
  readonly out?: Readonly<Record<string, Out>>
  readonly probe?: string
  readonly keysOut?: ReadonlyArray<string>
  readonly states?: Partial<States>
  readonly preferences?: Partial<Preferences>
}

const cooling: Out = { because: "cooldown", reason: "rate-limited", retryAfterMs: 9000, isRateLimit: true }

const usable = ({ out = {}, probe, keysOut = [], states: more = {}, preferences = {} }: World = {}) => {
  const asked: Array<ReadonlyArray<string>> = []
  const states: States = {
    registry,
    health: {
      admissible: ({ tag }) => out[tag],
      emergencyProbe: (hosts) => {
        asked.push(hosts.map(({ tag }) => tag))
        return hosts.find(({ tag }) => tag === probe)
      },
    },
    keys: {
      refusal: ({ tag }: Host) =>
        keysOut.includes(tag)
          ? { because: "api_keys", reason: "key 1: used up", retryAfterMs: undefined, isRateLimit: false }
          : undefined,
      choose: () => {
        throw new Error("a plan chooses no key")
      },
    },
    budget: { limit: null, spend: 0n, reserved: 0n, source: "total", resetsAt: null },
    permissions: unrestricted,
    ...{ caller: undefined, maxTokens: 100, probes: [], unaffordable: undefined },
    ...more,
  }
  const { routing, bounds } = requestWith({})
  const preferred = { ...routing, preferences: { ...routing.preferences, ...preferences } }
  const excluded = new Exclusions()
  const kept = usableHosts({ routing: preferred, bounds, wanted: { model, variants: [] }, now: 0 }, states, excluded)
  return {
    ...{ states, asked },
    tags: kept.map(({ tag }) => `${tag}`),
    excluded: Object.fromEntries(excluded.byCheck().map(({ host, by, reason }) => [host, `${by}: ${reason}`])),
    all: excluded.all,
  }
}

describe("each host is tried, or left out for one reason", () => {
  test("its provider is off; the others are in the order of the configuration", () => {
    const { tags, excluded } = usable()
    expect(tags).toEqual(["a", "b"])
    expect(Object.keys(excluded)).toEqual(["c"])
    expect(excluded["c"]).toStartWith("provider: ")
  })

  test("it is left alone after a failure, and when it is back", () => {
    const { tags, all, excluded } = usable({ out: { a: cooling } })
    expect(tags).toEqual(["b"])
    expect(excluded["a"]).toBe("cooldown: left alone after a failure: rate-limited")
    expect(all.find(({ host }) => host === "a")).toMatchObject({ retryAfterMs: 9000, isRateLimit: true })
  })

  test("none of its provider's keys may be used, which is found before its own health", () => {
    const { tags, excluded } = usable({ keysOut: ["a"], out: { a: cooling } })
    expect(tags).toEqual(["b"])
    expect(excluded["a"]).toBe("api_keys: none of its keys may be used: key 1: used up")
  })

  test("a filter of the request comes before the key's lists, and those before its health", () => {
    const permissions = { ...unrestricted, allowedProviders: ["b"] }
    const { tags, excluded } = usable({
      ...{ states: { permissions }, preferences: { ignore: ["b"] }, out: { a: cooling, b: cooling } },
    })
    expect(tags).toEqual([])
    expect(Object.entries(excluded).map(([host, why]) => [host, why.split(":")[0]])).toEqual([
      ["c", "provider"],
      ["b", "ignore"],
      ["a", "allowed_providers"],
    ])
  })

  test("the budget does not cover it: with the least that it takes, for the refusal", () => {
    const budget = { limit: 10n, spend: 0n, reserved: 0n, source: "total", resetsAt: null }
    const { tags, excluded, states, all } = usable({ states: { budget } })
    expect(tags).toEqual([])
    expect(excluded["a"]).toBe("budget: request_exceeds_budget")
    expect(states.unaffordable?.map(({ host }) => `${host.tag}`)).toEqual(["a", "b"])
    expect(all.find(({ host }) => host === "a")?.required).toBeGreaterThan(10n)
  })
})

describe("where none may be called now", () => {
  test("one is tried all the same, and is not excluded", () => {
    const { tags, states, excluded } = usable({ out: { a: cooling, b: cooling }, probe: "b" })
    expect([tags, states.probes.map(({ tag }) => `${tag}`)]).toEqual([["b"], ["b"]])
    expect(Object.keys(excluded)).toEqual(["c", "a"])
  })

  test("none is where the budget does not cover it", () => {
    const budget = { limit: 10n, spend: 0n, reserved: 0n, source: "total", resetsAt: null }
    const { tags, states, excluded } = usable({ out: { a: cooling, b: cooling }, probe: "b", states: { budget } })
    expect([tags, states.probes]).toEqual([[], []])
    expect(excluded["b"]).toStartWith("budget")
  })

  test("none of those whose keys are used up, and none while another may be called", () => {
    expect(usable({ keysOut: ["a"], out: { b: cooling }, probe: "b" }).asked).toEqual([["b"]])
    expect(usable({ out: { a: cooling }, probe: "a" })).toMatchObject({ asked: [], tags: ["b"] })
  })
})

describe("the models of a request (wantedModels)", () => {
  const wanted = (...names: ReadonlyArray<string>) => wantedModels("chat", names, registry)

  test("each once, in the order of their names; with and without a variant it is another one", () => {
    const models = Either.getOrThrow(wanted("acme/small:nitro", "acme/small", "small", "acme/small:nitro"))
    expect(models.map(({ variants }) => variants)).toEqual([["nitro"], []])
  })

  test("an unknown one refuses them all, and names all that were asked for", () => {
    expect(Either.getOrThrow(Either.flip(wanted("acme/small", "acme/tiny")))).toMatchObject({
      ...{ _tag: "BadRequest", kind: "model_not_found", models: ["acme/small", "acme/tiny"] },
    })
  })

  test("one of another operation is at another endpoint", () => {
    const embedding = wantedModels("embeddings", ["acme/small"], registry)
    expect(Either.getOrThrow(Either.flip(embedding))).toMatchObject({ kind: "wrong_endpoint" })
  })

  test("a search of the web needs a host that can", () => {
    const { issues } = Either.getOrThrow(Either.flip(wanted("acme/small:online")))
    expect(issues[0]?.message).toContain("a host with a web search of its own")
  })
})
