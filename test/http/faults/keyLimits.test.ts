/**
 * Limits of keys that are JSON numbers, which clients compute in floats, are rounded to the picodollar. Money as text
 * stays strict.
 */
import { expect, test } from "bun:test"
import { startGateway } from "../../support/gateways/gateway.ts"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import { configFor } from "../../support/hosts/host.ts"

closeAfterEach()

const amounts = [
  [3 * 0.0015, 0.0045],
  [0.1 + 0.2, 0.3],
  [1.1 * 3, 3.3],
  [4.35 * 100, 435],
  [1e-12, 1e-12],
] as const

const start = async () => {
  const gateway = await startWatched({ config: {} })
  return (path: string, method: string, body: unknown) =>
    gateway.call(path, {
      method,
      body: JSON.stringify(body),
      headers: { authorization: `Bearer ${gateway.managementKey}`, "content-type": "application/json" },
    })
}

/** Another form of the answer fails the test. */
const dataOf = async (response: Response) => ((await response.json()) as { data: Record<string, unknown> }).data

test.each(amounts)("a limit of %p was refused: it is %p", async (computed, limit) => {
  const send = await start()
  const created = await send("/keys", "POST", { name: "test", limit: computed })
  expect(created.status).toBe(201)
  const { hash, ...data } = await dataOf(created)
  expect(data).toMatchObject({ limit, limit_remaining: limit })
  const changed = await send(`/keys/${hash}`, "PATCH", { limit: computed })
  expect(changed.status).toBe(200)
  expect(await dataOf(changed)).toMatchObject({ limit })
})

test.each(["0.0045", "0.0045000000000000005"])("a limit of the text %p is refused", async (limit) => {
  const send = await start()
  expect((await send("/keys", "POST", { name: "test", limit })).status).toBe(400)
})

test("a price in text that is finer than a picodollar is refused", async () => {
  const config = configFor({ acme: { url: "http://127.0.0.1:1/v1", prompt: "0.0000000000005" } })
  await expect(startGateway({ config }).then(opened)).rejects.toThrow("pricing.prompt")
})
