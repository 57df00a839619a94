/**
 * Every route of the data plane, from its table (`everyRoute.ts`): no request reaches a host without a key, a reservation, a row in the ledger and
 * a cost that the caller learns.
 */
import { beforeAll, describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import { DataPlane } from "../../src/http/data/routes.ts"
import { picodollars } from "../support/clients/answers.ts"
import { openAccount } from "../support/gateways/account.ts"
import {
  answerOfEveryRoute,
  bodyFor,
  configOfEveryRoute,
  free,
  paid,
  patternOf,
  streamsOf,
} from "../support/gateways/everyRoute.ts"
import { startGateway, type TestGateway } from "../support/gateways/gateway.ts"
import { closeAfterAll, opened } from "../support/gateways/watched.ts"
import { scriptedHost } from "../support/hosts/host.ts"

interface Arrived {
  readonly answer: () => void
}

let gateway: TestGateway
/** Called when a request has reached the host. Without it the host answers at once. */
let onArrival: ((arrived: Arrived) => void) | undefined
let calls = 0

beforeAll(async () => {
  const host = opened(
    scriptedHost(async (body, request, call) => {
      calls += 1
      await new Promise<void>((resolve) => (onArrival === undefined ? resolve() : onArrival({ answer: resolve })))
      return answerOfEveryRoute(body, request, call)
    }),
  )
  gateway = opened(await startGateway({ config: configOfEveryRoute(host) }))
})
closeAfterAll()

const post = (path: string, body: unknown, authorization?: string) =>
  gateway.call(path, {
    method: "POST",
    body: JSON.stringify(body),
    headers: { "content-type": "application/json", ...(authorization === undefined ? {} : { authorization }) },
  })

/** Statuses of requests that reach no host. */
const refusals = async (...asked: ReadonlyArray<() => Promise<Response>>): Promise<ReadonlyArray<number>> => {
  const before = calls
  const statuses: Array<number> = []
  for (const ask of asked) statuses.push((await ask()).status)
  expect(calls).toBe(before)
  return statuses
}

test("is all in `everyRoute.ts`", async () => {
  const paths = await gateway.run(Effect.map(DataPlane, ({ handlers }) => [...handlers.keys()]))
  const known = [...Object.keys(paid), ...Object.keys(free)].map(patternOf)
  expect(paths.toSorted()).toEqual(known.toSorted() as typeof paths)
})

test("no GET is served, but for Google's lists of models, and one that is refused in words (upgrade.test.ts)", async () => {
  const paths = await gateway.run(Effect.map(DataPlane, ({ getHandlers }) => [...getHandlers.keys()]))
  expect(paths).toEqual(["/api/v1/responses", "/api/v1beta/models", "/api/v1beta/models/{model}"])
})

describe.each(Object.entries({ ...free, ...paid }))(
  "POST %s",
  (path, { body, isForManagers = false }: (typeof free)[string]) => {
    test("wants the key of a caller", async () => {
      const statuses = await refusals(
        () => post(path, body, ""),
        () => post(path, body, "Bearer sk-gw-unknown"),
        () => post(path, body, `Bearer ${gateway.managementKey}`),
      )
      expect(statuses).toEqual([401, 401, isForManagers ? 200 : 403])
    })

    test("counts against the key's rate limit", async () => {
      const key = await gateway.newKey({ rateLimit: { requests: 1, intervalSeconds: 3600 } })
      expect((await post(path, body, `Bearer ${key}`)).status).toBe(200)
      expect(await refusals(() => post(path, body, `Bearer ${key}`))).toEqual([429])
    })
  },
)

describe("with the cookie of a session", () => {
  const signIn = async (key: string) => {
    const response = await fetch(`${gateway.url}/session`, { method: "POST", body: JSON.stringify({ key }) })
    expect(response.status).toBe(200)
    return (response.headers.get("set-cookie") ?? "").split(";")[0] ?? ""
  }
  const byCookie = (path: string, body: unknown, cookie: string, more: Record<string, string> = {}) =>
    fetch(`${gateway.url}${path}`, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json", "sec-fetch-site": "same-origin", cookie, ...more },
    })

  test("only a request that calls no host and costs nothing is accepted: an explanation", async () => {
    const cookies = [await signIn(gateway.key), await signIn(gateway.managementKey)]
    for (const cookie of cookies) {
      const read = await fetch(`${gateway.url}/session`, { headers: { cookie } })
      expect(read.status).toBe(200)
      for (const [path, { body }] of Object.entries({ ...free, ...paid })) {
        const statuses = await refusals(() => byCookie(path, body, cookie))
        expect([path, ...statuses]).toEqual([path, path === "/route/explain" ? 200 : 401])
      }
    }
  })

  test("an explanation is for pages of the gateway, and a key in a header wins", async () => {
    const cookie = await signIn(gateway.key)
    const { body } = free["/route/explain"] ?? { body: {} }
    const statuses = await refusals(
      () => byCookie("/route/explain", body, cookie, { "sec-fetch-site": "cross-site" }),
      () => byCookie("/route/explain", body, cookie, { "sec-fetch-site": "same-site" }),
      () => byCookie("/route/explain", body, cookie, { authorization: "Bearer sk-gw-unknown" }),
      () => byCookie("/route/explain", body, "headgate=made-up"),
    )
    expect(statuses).toEqual([403, 403, 401, 401])
  })

  test("an explanation counts against the key's rate limit", async () => {
    const cookie = await signIn(await gateway.newKey({ rateLimit: { requests: 1, intervalSeconds: 3600 } }))
    const { body } = free["/route/explain"] ?? { body: {} }
    expect((await byCookie("/route/explain", body, cookie)).status).toBe(200)
    expect(await refusals(() => byCookie("/route/explain", body, cookie))).toEqual([429])
  })
})

describe.each(Object.entries(free))("POST %s", (path, { body }) => {
  test("calls no host and costs nothing", async () => {
    const account = await openAccount(gateway)
    expect(await refusals(() => post(path, body, `Bearer ${account.secret}`))).toEqual([200])
    expect(await account.rows()).toEqual([])
  })
})

const streamedOrNot = Object.entries(paid).flatMap(([path, route]) =>
  streamsOf(route).map((stream) => ({ path, stream, ...route })),
)

describe.each(streamedOrNot)("POST $path, stream: $stream", ({ path, stream, form, operation, ...route }) => {
  const asked = bodyFor({ form, operation, ...route }, stream)

  test("is refused before any call where the key cannot pay", async () => {
    const keys = [await gateway.newKey({ limit: 0n }), await gateway.newKey({ limit: 1n })]
    const statuses = await refusals(...keys.map((key) => () => post(path, asked, `Bearer ${key}`)))
    expect(statuses).toEqual([402, 402])
  })

  test("reserves money, tells its cost and is in the ledger", async () => {
    const account = await openAccount(gateway)
    const arriving = new Promise<Arrived>((resolve) => {
      onArrival = resolve
    })
    const answering = post(path, asked, `Bearer ${account.secret}`)
    const arrived = await arriving
    onArrival = undefined
    expect(await account.reserved()).toBeGreaterThan(0n)
    arrived.answer()
    const response = await answering
    const text = await response.text()
    expect(response.status).toBe(200)
    const rows = await account.rows()
    expect(rows).toMatchObject([
      { form, operation, streamed: stream, requestId: response.headers.get("x-gw-request-id") },
    ])
    const costs = Array.from(text.matchAll(/"cost":([0-9.e-]+)/g), ([, cost]) => cost)
    const told = stream ? costs.at(-1) : response.headers.get("x-gw-cost-usd")
    expect(rows[0]?.cost).toBeGreaterThan(0n)
    expect(picodollars(told)).toBe(rows[0]?.cost ?? -1n)
    expect([await account.reserved(), await account.total()]).toEqual([0n, picodollars(told)])
  })
})
