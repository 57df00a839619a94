/** The strategies of docs/strategies.md, each as its page has it: loaded from a folder, checked by the kit, and asked for an order. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { strategyChecks } from "headgate/testing"
import { decodeConfig } from "../../src/config/loadConfig.ts"
import { discover } from "../../src/plugin/loading/discover.ts"
import type { Candidate, HostSnapshot, RankContext, StrategyPlugin } from "../../src/plugin/strategy.ts"
import { contextWith, withStats } from "../support/hosts/candidates.ts"

const page = readFileSync(join(import.meta.dir, "../../docs/strategies.md"), "utf8")
const blocks = [...page.matchAll(/^```(ts|json) (\S+)\n([\s\S]*?)^```$/gm)].map(([, , name = "", text = ""]) => ({
  name,
  text,
}))
const sources = new Map(blocks.map(({ name, text }) => [name, text]))

let folder = ""
let strategies: ReadonlyMap<string, StrategyPlugin>
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "headgate-strategies-"))
  for (const [name, text] of sources) {
    if (name !== "headgate.config.json") await Bun.write(join(folder, "strategies", name, "index.ts"), text)
  }
  const { plugins, invalid } = await Effect.runPromise(discover([folder]))
  expect(invalid).toEqual([])
  strategies = new Map(plugins.flatMap((plugin) => (plugin.kind === "strategy" ? [[plugin.id, plugin]] : [])))
})
afterAll(() => rm(folder, { recursive: true }))

const pluginOf = (name: string): StrategyPlugin => {
  const plugin = strategies.get(name)
  if (plugin === undefined) throw new Error(`docs/strategies.md has no strategy ${name}`)
  return plugin
}

type Hosts = Readonly<Record<string, Partial<HostSnapshot> & { readonly price?: bigint; readonly tags?: string[] }>>

const candidatesOf = (hosts: Hosts): ReadonlyArray<Candidate> =>
  withStats(hosts).map(({ host, stats }) => ({ host: { ...host, tags: hosts[host.tag]?.tags ?? [] }, stats }))

const order = (name: string, hosts: Hosts, context: Partial<RankContext> = {}, config: unknown = {}) =>
  Either.getOrThrow(pluginOf(name).load(config))(candidatesOf(hosts), { ...contextWith(() => 0.5), ...context }).map(
    ({ host }) => String(host.tag),
  )

const names = ["sticky", "tagged", "request-price", "thrifty", "by-day"]

test("the page has these strategies, and a configuration that can be read", async () => {
  expect([...sources.keys()].filter((name) => name !== "headgate.config.json")).toEqual(names)
  const { providers } = await Effect.runPromise(decodeConfig(JSON.parse(sources.get("headgate.config.json") ?? "")))
  expect(providers.get("mistral")?.tags).toEqual(["eu"])
})

test.each(names)("%s passes the kit", async (name) => {
  for (const check of strategyChecks({ plugin: pluginOf(name) })) await check.run()
})

describe("sticky", () => {
  const hosts: Hosts = { a: {}, b: {}, c: {}, d: {} }
  const firsts = (by: "user" | "key" | "conversation", among: Hosts = hosts) =>
    Array.from({ length: 400 }, (_, at) => {
      const caller = { key: "k", user: null, conversation: null, [by]: `name-${at}` }
      return order("sticky", among, { caller }, { by })[0]
    })

  test.each(["user", "key", "conversation"] as const)("stays with one host by %s, and spreads them", (by) => {
    const first = firsts(by)
    expect(firsts(by)).toEqual(first)
    for (const host of Object.keys(hosts)) {
      expect(first.filter((one) => one === host).length).toBeWithin(70, 130)
    }
    const fewer = firsts(by, { a: {}, b: {}, d: {} })
    expect(first.flatMap((host, at) => (host === "c" || host === fewer[at] ? [] : [host]))).toEqual([])
  })

  test("does without a name, and leaves a host in trouble to the end", () => {
    expect(order("sticky", hosts)).toHaveLength(4)
    const [first = ""] = order("sticky", hosts, { caller: { key: "k", user: "u", conversation: null } })
    const troubled = { ...hosts, [first]: { failing: true } }
    expect(order("sticky", troubled, { caller: { key: "k", user: "u", conversation: null } }).at(-1)).toBe(first)
  })
})

test("tagged puts hosts with the tag first", () => {
  const hosts: Hosts = { a: { price: 1n }, b: { price: 3n, tags: ["eu"] }, c: { price: 2n, tags: ["us", "eu"] } }
  expect(order("tagged", hosts)).toEqual(["c", "b", "a"])
  expect(order("tagged", hosts, {}, { prefer: "us" })).toEqual(["c", "a", "b"])
})

test("request-price goes by what the request costs, and not by one token of each", () => {
  const costs: Readonly<Record<string, bigint | null>> = { a: 900n, b: 300n, c: null }
  const expectedCost: RankContext["expectedCost"] = ({ tag }) => costs[tag] ?? null
  expect(order("request-price", { c: { price: 1n }, a: { price: 1n }, b: { price: 2n } }, { expectedCost })).toEqual([
    "b",
    "a",
    "c",
  ])
})

test("thrifty takes the cheapest once less than a fifth of the limit is left", () => {
  const hosts: Hosts = { quick: { price: 9n, latencyMs: 100 }, cheap: { price: 1n, latencyMs: 900 } }
  const first = (limit: bigint | null, left: bigint | null) =>
    order("thrifty", hosts, { budget: { limit, left, resetsAt: null } })[0]
  expect([first(null, null), first(100n, 20n), first(100n, 19n), first(100n, 0n)]).toEqual([
    "quick",
    "quick",
    "cheap",
    "cheap",
  ])
})

test("by-day prefers the tag from 8 to 18 o'clock", () => {
  const hosts: Hosts = { cheap: { price: 1n }, fast: { price: 9n, tags: ["fast"] } }
  const first = (time: string) => order("by-day", hosts, { now: Date.parse(`2026-11-25T${time}:00Z`) })[0]
  expect(["07:59", "08:00", "17:59", "18:00"].map(first)).toEqual(["cheap", "fast", "fast", "cheap"])
})
