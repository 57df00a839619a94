/** What `headgate doctor` says of a provider, by what that answers. docs/commands.md#doctor */
import { describe, expect, test } from "bun:test"
import * as Redacted from "effect/Redacted"
import { checkProvider } from "../../../src/services/hosts/checkProvider.ts"
import { Upstream } from "../../../src/upstream/Upstream.ts"
import { ManualClock, pass } from "../../support/clocks/manualClock.ts"
import { closeServices, hostsConfig, servicesOf, turns } from "../../support/clocks/services.ts"

closeServices()

const loaded = (await hostsConfig({ a: {} })).providers.get("a")
if (loaded?.callable !== true) throw new Error("no provider")

const secret = "a-secret-of-the-operator"
const key = Redacted.make(secret)
const list = (...ids: ReadonlyArray<string>) => Response.json({ data: ids.map((id) => ({ id })) })
const isSigned = (request: Request) => request.headers.get("authorization") === `Bearer ${secret}`

const scene = async (
  answer: (request: Request, clock: ManualClock) => Response | Promise<Response>,
  { used = key, models = [] }: { readonly used?: typeof key | null; readonly models?: ReadonlyArray<string> } = {},
) => {
  const clock = new ManualClock()
  const { run } = await servicesOf(
    Upstream.layerFrom((request) => answer(request, clock)),
    clock,
  )
  return { clock, checked: run(checkProvider(loaded, used, models)) }
}
const check = async (...asked: Parameters<typeof scene>) => (await scene(...asked)).checked

const keyed = (request: Request) =>
  isSigned(request) ? list("small:latest", "models/large") : new Response("", { status: 401 })

describe("a key", () => {
  test("that is accepted, where others are not, is ok", async () => {
    expect(await check(keyed)).toEqual({ state: "ok", what: "answered in 0 ms; the key is accepted" })
  })

  test("is not checked by a list that anybody gets", async () => {
    expect(await check(() => list("small"))).toMatchObject({ state: "not checked" })
  })

  test("that is not configured is not missed by a provider that wants none", async () => {
    const found = await check(() => list("small"), { used: null })
    expect(found).toEqual({ state: "ok", what: "answered in 0 ms; no key is configured" })
  })
})

test("models are found by their names without what some vendors add, and missing ones are named", async () => {
  expect(await check(keyed, { models: ["small", "large"] })).toMatchObject({ state: "ok" })
  const found = await check(keyed, { models: ["small", "huge"] })
  expect(found).toEqual({ state: "wrong", what: "does not list huge, which the configuration names" })
})

test.each([
  ["a list that goes on", { data: [{ id: "other" }], has_more: true }],
  ["an empty list", { data: [] }],
  ["no list", "a page"],
])("%s says nothing of models", async (_name, body) => {
  const found = await check(
    (request) => (isSigned(request) ? Response.json(body) : new Response("", { status: 401 })),
    {
      models: ["small"],
    },
  )
  expect(found.state).toBe("ok")
})

test.each([
  [401, "wrong", "the key is refused (401)"],
  [402, "wrong", "the account has no credit (402)"],
  [403, "wrong", "refused (403): the key is wrong, or may not do this, or not from here"],
  [404, "not checked", "a.test answers, but has nothing at /v1/models (404): the key was not checked"],
  [407, "wrong", "the proxy wants a user name and a password (407)"],
  [418, "not checked", "a.test answers with status 418"],
  [429, "warning", "answers, and takes no more requests for now (429)"],
  [503, "wrong", "a.test answers with status 503"],
] as const)("status %d is %s", async (status, state, what) => {
  expect(await check(() => new Response(secret, { status }))).toEqual({ state, what })
})

test("without a key, 401 says that one is wanted", async () => {
  const found = await check(() => new Response("", { status: 401 }), { used: null })
  expect(found.what).toBe("wants a key, and none is configured (401)")
})

test("without a key, but with secrets to sign with, 401 says that these are refused", async () => {
  const provider = { ...loaded.provider, credentials: { client_secret: key } }
  const { run } = await servicesOf(
    Upstream.layerFrom(() => new Response("", { status: 401 })),
    new ManualClock(),
  )
  const found = await run(checkProvider({ ...loaded, provider }, null, []))
  expect(found.what).toBe("the credentials are refused (401)")
})

test("a redirect says where to, and that this is no API", async () => {
  const headers = { location: "https://www.acme.test/login" }
  const found = await check(() => new Response("", { status: 302, headers }))
  expect(found).toMatchObject({ state: "wrong", what: expect.stringContaining("redirects to www.acme.test (302)") })
})

test("an answer after more than three seconds is slow", async () => {
  const after = (ms: number) =>
    check((request, clock) => {
      clock.advance(ms)
      return keyed(request)
    })
  expect(await after(3000)).toMatchObject({ state: "ok" })
  expect(await after(3001)).toEqual({ state: "warning", what: "slow: answered in 3001 ms" })
})

test("none within 15 seconds is a time-out", async () => {
  const { checked, clock } = await scene(() => new Promise<Response>(() => {}))
  await turns()
  await pass(clock, 15_000)
  expect(await checked).toEqual({ state: "wrong", what: "a.test does not answer in time" })
})

test("a failure is told without the secret that it may quote", async () => {
  const found = await check(() => {
    throw new Error(`no route with ${secret}`)
  })
  expect(found.state).toBe("wrong")
  expect(found.what).not.toContain(secret)
})

test("the clock is compared by the date of the answer, which has whole seconds", async () => {
  const found = await check((_, clock) => {
    const date = new Date(clock.unsafeCurrentTimeMillis() - 60_000).toUTCString()
    return new Response("", { status: 503, headers: { date } })
  })
  expect(found.clockAheadMs).toBe(59_500)
})
