/**
 * Every fault of a host before its first event, whole and streamed, at the only host, at the first of two and at the second of two. Each has one
 * outcome, and leaves nothing behind. Faults within a stream: `streamFaults.test.ts`. docs/guarantees.md#g10
 */
import { describe, expect, test } from "bun:test"
import * as Layer from "effect/Layer"
import { openAccount, type TestAccount } from "../../support/account.ts"
import { errorOf, streamOf, wholeBodyOf } from "../../support/answers.ts"
import { gatewayWithoutSocket } from "../../support/gateway.ts"
import { configFor, type ScriptedHost, scriptedHost } from "../../support/host.ts"
import { type Fault, faultsBefore } from "../../support/hostFaults.ts"
import { ManualClock, pass } from "../../support/manualClock.ts"
import { deadUrl, rawHost, until } from "../../support/rawHost.ts"
import { good } from "../../support/routed.ts"
import { closeAfterEach, opened } from "../../support/watched.ts"

closeAfterEach()

type Place = "the only host" | "the first of two" | "the second of two"
const places: ReadonlyArray<Place> = ["the only host", "the first of two", "the second of two"]

interface Scene {
  readonly ask: (stream: boolean) => Promise<Response>
  readonly account: TestAccount
  readonly clock: ManualClock
}

/** A gateway whose hosts are called in this order. */
const sceneOf = async (
  urls: Readonly<Record<string, string>>,
  limits: Record<string, unknown> = {},
): Promise<Scene> => {
  const hosts = Object.fromEntries(Object.entries(urls).map(([name, url]) => [name, { url }]))
  const clock = new ManualClock()
  const gateway = opened(
    await gatewayWithoutSocket({ config: configFor(hosts, { limits }), setting: Layer.setClock(clock) }),
  )
  const account = await openAccount(gateway)
  const asked = {
    model: "acme/small",
    messages: [{ role: "user", content: "hi" }],
    max_tokens: 50,
    provider: { order: Object.keys(urls) },
  }
  const headers = { authorization: `Bearer ${account.secret}` }
  return { account, clock, ask: (stream) => gateway.chat({ ...asked, stream }, { headers }) }
}

const next = (): ScriptedHost => opened(scriptedHost(good("fine")))

/** The hosts around the one that fails. A host that precedes it cannot be reached. */
const around = (place: Place, bad: string, next: string): Readonly<Record<string, string>> => {
  if (place === "the only host") return { bad }
  return place === "the first of two" ? { bad, next } : { dead: deadUrl(), bad }
}

const started = ({ script, url = deadUrl }: Fault, stream: boolean) => {
  if (script === undefined) return { address: url(), host: undefined }
  const host = opened(rawHost((peer) => script(peer, stream)))
  return { address: host.url, host }
}

/** The status when the only other host of the plan could not be reached. */
const besideUnreachable = ({ alone, isFinal = false }: Fault): number => (isFinal || alone === 403 ? alone : 502)

const rows = faultsBefore.flatMap((fault) =>
  [false, true]
    .filter((stream) => fault.only === undefined || (fault.only === "stream") === stream)
    .flatMap((stream) =>
      places.map((place) => [fault.name, stream ? "streamed" : "whole", place, fault, stream] as const),
    ),
)

describe("a host's fault", () => {
  test.each(rows)("%s (%s, %s): one outcome", async (_name, _kind, place, fault, stream) => {
    const { address, host } = started(fault, stream)
    const other = next()
    const { ask, account, clock } = await sceneOf(around(place, address, other.url), fault.limits)
    const asked = ask(stream)
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
        expect(metadata?.["previous_errors"]).toMatchObject([...before, { provider: "bad", code: fault.code }])
      }
      expect(other.calls.length).toBe(0)
      expect(await account.rows()).toEqual([])
    }
    if (host !== undefined) expect(host.requests()).toBe(1)
    expect(await account.held()).toBe(0n)
  })
})
