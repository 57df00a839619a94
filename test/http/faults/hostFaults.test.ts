/**
 * Every fault of a host before its first event, whole and streamed, at the only host, at the first of two and at the second of two. Each has one
 * outcome, and leaves nothing behind. Faults within a stream: `streamFaults.test.ts`. docs/guarantees.md#g10
 */
import { afterAll, describe, expect, test } from "bun:test"
import * as Layer from "effect/Layer"
import { errorOf, streamOf, wholeBodyOf } from "../../support/clients/answers.ts"
import { ManualClock, pass } from "../../support/clocks/manualClock.ts"
import { until } from "../../support/clocks/until.ts"
import { openAccount } from "../../support/gateways/account.ts"
import { gatewayWithoutSocket, type TestGateway } from "../../support/gateways/gateway.ts"
import { good } from "../../support/gateways/routed.ts"
import { scriptedHost } from "../../support/hosts/host.ts"
import { type Fault, faultsBefore } from "../../support/hosts/hostFaults.ts"
import { deadUrl, rawHost } from "../../support/hosts/rawHost.ts"

const closing: Array<() => unknown> = []
afterAll(async () => {
  for (const close of closing.toReversed()) await close()
})

type Place = "the only host" | "the first of two" | "the second of two"
const places: ReadonlyArray<Place> = ["the only host", "the first of two", "the second of two"]

/** One fault at one place of the plan: the hosts of a model of its own. */
interface Case {
  readonly fault: Fault
  readonly stream: boolean
  readonly place: Place
  readonly model: string
  /** The provider that fails. */
  readonly bad: string
}

const cases: ReadonlyArray<Case> = faultsBefore
  .flatMap((fault) =>
    [false, true]
      .filter((stream) => fault.only === undefined || (fault.only === "stream") === stream)
      .flatMap((stream) => places.map((place) => ({ fault, stream, place }))),
  )
  .map((each, at) => ({ ...each, model: `acme/small-${at}`, bad: `bad-${at}` }))

/** The providers of a case, in the order in which they are called. One that precedes the bad one cannot be reached. */
const planOf = ({ place, bad }: Case): ReadonlyArray<string> => {
  if (place === "the only host") return [bad]
  return place === "the first of two" ? [bad, "next"] : ["dead", bad]
}

const started = ({ fault: { script, url = deadUrl }, stream }: Case) => {
  if (script === undefined) return { url: url(), host: undefined }
  const host = rawHost((peer) => script(peer, stream))
  closing.push(host.stop)
  return { url: host.url, host }
}

/** One gateway for all cases with the same limits. */
const gatewayFor = async (limits: Fault["limits"]) => {
  const next = scriptedHost(good("fine"))
  closing.push(next.stop)
  const mine = cases.filter(({ fault }) => Bun.deepEquals(fault.limits, limits))
  const hosts = new Map(mine.map((each) => [each.bad, started(each)]))
  const urls = {
    next: next.url,
    dead: deadUrl(),
    ...Object.fromEntries(Array.from(hosts, ([slug, { url }]) => [slug, url])),
  }
  const clock = new ManualClock()
  const gateway = await gatewayWithoutSocket({
    config: {
      providers: Object.fromEntries(
        Object.entries(urls).map(([slug, base_url]) => [
          slug,
          { plugin: "openai-compatible", base_url, network: "private", api_key: `key-of-${slug}` },
        ]),
      ),
      models: mine.map((each) => ({
        id: each.model,
        context_length: 8192,
        hosts: planOf(each).map((provider) => ({
          provider,
          model: "upstream",
          pricing: { prompt: "0.000001", completion: "0.000002" },
          max_completion_tokens: 4096,
        })),
      })),
      // What one case does must not count in the next.
      limits: { ...limits, retries: 0, breaker: { open_s: 0 } },
    },
    setting: Layer.setClock(clock),
  })
  closing.push(gateway.stop)
  return { gateway, clock, next, hosts }
}

const gateways = new Map<string, ReturnType<typeof gatewayFor>>()
const sceneOf = ({ fault: { limits } }: Case) => {
  const name = JSON.stringify(limits ?? {})
  const scene = gateways.get(name) ?? gatewayFor(limits)
  gateways.set(name, scene)
  return scene
}

const asking = (gateway: TestGateway, secret: string, each: Case) =>
  gateway.chat(
    {
      model: each.model,
      messages: [{ role: "user", content: "hi" }],
      max_tokens: 50,
      provider: { order: planOf(each) },
      stream: each.stream,
    },
    { headers: { authorization: `Bearer ${secret}` } },
  )

/** The status when the only other host of the plan could not be reached. */
const besideUnreachable = ({ alone, isFinal = false }: Fault): number => (isFinal || alone === 403 ? alone : 502)

const rows = cases.map((each) => [each.fault.name, each.stream ? "streamed" : "whole", each.place, each] as const)

describe("a host's fault", () => {
  test.each(rows)("%s (%s, %s): one outcome", async (_name, _kind, place, each) => {
    const { fault, stream, bad } = each
    const { gateway, clock, next, hosts } = await sceneOf(each)
    const host = hosts.get(bad)?.host
    const account = await openAccount(gateway)
    const callsBefore = next.calls.length
    const asked = asking(gateway, account.secret, each)
    if (host !== undefined && fault.silentMs !== undefined) {
      await until(() => host.requests() === 1, "the call")
      await pass(clock, fault.silentMs)
    }
    const response = await asked
    if (place === "the first of two" && fault.isFinal !== true) {
      expect([response.status, response.headers.get("x-gw-host")]).toEqual([200, "next"])
      const text = stream ? (await streamOf(response)).text : (await wholeBodyOf(response)).choices[0]?.message.content
      expect(text).toBe("fine")
      await until(async () => (await account.rows()).length === 1, "the row")
      expect(await account.rows()).toMatchObject([{ host: "next", outcome: "finished", cost: 20_000_000n }])
    } else {
      expect(response.status).toBe(place === "the second of two" ? besideUnreachable(fault) : fault.alone)
      const error = await errorOf(response)
      const { metadata } = error
      // Only a fault of the request and a rate limit are told in the host's own words.
      if (fault.alone !== 400 && fault.alone !== 429) expect(JSON.stringify(error)).not.toContain("the host says no")
      const before = place === "the second of two" ? [{ provider: "dead", code: "unreachable", status: null }] : []
      // At the deadline the request is ended, whatever its hosts did.
      if (fault.limits?.["deadline_ms"] === undefined) {
        expect(metadata?.["previous_errors"]).toMatchObject([...before, { provider: bad, code: fault.code }])
      }
      expect(next.calls.length).toBe(callsBefore)
      expect(await account.rows()).toEqual([])
    }
    if (host !== undefined) expect(host.requests()).toBe(1)
    expect(await account.reserved()).toBe(0n)
  })
})
