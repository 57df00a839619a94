/** `headgate/client` against a gateway on a socket. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { KeyId, parseUsd, windowStart } from "headgate"
import { type CallFailure, type Client, GatewayClient, GatewayRefused } from "headgate/client"
import { startGateway, type TestGateway } from "../../support/gateways/gateway.ts"

let gateway: TestGateway
beforeAll(async () => {
  gateway = await startGateway()
})
afterAll(() => gateway.stop())

const as = (key: string, url = gateway.url.replace("/api/v1", "/")) => ({
  run: <A>(use: (client: Client) => Effect.Effect<A, CallFailure>) =>
    Effect.flatMap(GatewayClient, use).pipe(
      Effect.provide(Layer.provide(GatewayClient.layer({ url, key: Redacted.make(key) }), FetchHttpClient.layer)),
      Effect.either,
      Effect.runPromise,
    ),
})
const got = <A>(result: Either.Either<A, CallFailure>): A => Either.getOrThrow(result)
const refusal = (result: Either.Either<unknown, CallFailure>) =>
  Either.isLeft(result) && result.left instanceof GatewayRefused ? result.left : undefined

describe("a management key", () => {
  test("makes, changes, lists and deletes keys, with limits in picodollars", async () => {
    const { run } = as(gateway.managementKey)
    const limit = parseUsd("12.50")
    const payload = { name: "ci", limit: limit ?? null, limitReset: "monthly" } as const
    const made = got(await run(({ keys }) => keys.create({ payload })))
    expect(made.data).toMatchObject({ name: "ci", limit: 12.5, limit_reset: "monthly" })
    expect(made.key).toMatch(/^sk-gw-/)
    const path = { hash: KeyId.make(made.data.hash) }
    const changed = got(await run(({ keys }) => keys.change({ path, payload: { name: "ci 2", limit: null } })))
    expect(changed.data).toMatchObject({ name: "ci 2", limit: null })
    expect(got(await run(({ keys }) => keys.read({ path }))).data.name).toBe("ci 2")
    const page = got(await run(({ keys }) => keys.list({ urlParams: { offset: 0, limit: 100 } })))
    expect(page.data.map(({ name }) => name)).toContain("ci 2")
    expect(got(await run(({ keys }) => keys.remove({ path })))).toEqual({ deleted: true })
    expect(refusal(await run(({ keys }) => keys.read({ path })))?.status).toBe(404)
  })

  test("reads what was spent, by day and in all", async () => {
    const { run } = as(gateway.managementKey)
    const answer = await gateway.chat({
      model: "headgate/echo",
      messages: [{ role: "user", content: "one two three" }],
    })
    const cost = Number(answer.headers.get("x-gw-cost-usd"))
    expect(cost).toBeGreaterThan(0)
    expect(got(await run(({ activity }) => activity.credits())).data.total_usage).toBe(cost)
    const yesterday = windowStart("daily", Date.now()) - 86_400_000
    expect(got(await run(({ activity }) => activity.activity({ urlParams: { date: yesterday } })))).toEqual({
      data: [],
    })
  })

  test("explains a route for a key", async () => {
    const key = await gateway.newKey()
    const keyHash = new Bun.CryptoHasher("sha256").update(key).digest("hex")
    const body = { model: "headgate/echo", messages: [{ role: "user", content: "hi" }] }
    const { run } = as(gateway.managementKey)
    const explanation = got(await run(({ explain }) => explain(body, { keyHash, seed: 7 })))
    expect(explanation).toMatchObject({ seed: 7, attempts: [{ model: "headgate/echo", host: "echo", rank: 1 }] })
    const input = { model: "headgate/echo", input: "hi" }
    expect(got(await run(({ explain }) => explain(input, { form: "responses" })))).toMatchObject({
      attempts: [{ host: "echo" }],
    })
    const wrong = refusal(await run(({ explain }) => explain(body, { keyHash, seed: -1 })))
    expect([wrong?.status, wrong?.metadata["issues"]]).toEqual([
      400,
      [{ path: "seed", message: "must be one whole number from 0 to 4294967295" }],
    ])
  })
})

test("an ordinary key reads its own status and the models, and manages nothing", async () => {
  const { run } = as(gateway.key)
  expect(got(await run(({ keyStatus }) => keyStatus.key())).data.is_management_key).toBe(false)
  expect(got(await run(({ models }) => models.list({ urlParams: {} }))).data.map(({ id }) => id)).toContain(
    "headgate/echo",
  )
  expect(refusal(await run(({ activity }) => activity.credits()))).toMatchObject({ status: 403 })
})

test("a gateway that is not there is another failure than a refusal", async () => {
  const result = await as(gateway.key, "http://127.0.0.1:9").run(({ health }) => health.healthz())
  expect(Either.isLeft(result) && result.left._tag).toBe("RequestError")
})
