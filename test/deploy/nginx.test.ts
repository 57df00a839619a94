/** docs/deployment.md#several: two gateways behind nginx, restarted one after the other. Skipped where nginx is not installed. */
import { expect, test } from "bun:test"
import { hasPostgres } from "../support/storage/postgres.ts"
import { nginx, nginxConfig, rollingRestart } from "./rollingRestart.ts"

const canRun = nginx !== null && hasPostgres
if (!canRun) console.warn(`1 test is skipped: two gateways behind nginx (nginx: ${nginx}, PostgreSQL: ${hasPostgres})`)

test("the lines for several gateways take the place of those for one", () => {
  const one = nginxConfig("/tmp", 80, [1, 2], false)
  const several = nginxConfig("/tmp", 80, [1, 2], true)
  expect([one.includes("proxy_next_upstream off;"), one.includes("mirror")]).toEqual([true, false])
  expect([several.includes("proxy_next_upstream off;"), several.includes("mirror /_ready;")]).toEqual([false, true])
  expect(several.match(/server 127\.0\.0\.1:[12] /g)?.length).toBe(4)
  for (const text of [one, several]) expect(text.split("{").length).toBe(text.split("}").length)
})

test.skipIf(!canRun)(
  "a rolling restart of two gateways lost half of the requests: none of 500 fails, streamed or whole",
  async () => {
    const { requests, failures } = await rollingRestart(10)
    expect(requests).toBeGreaterThanOrEqual(500)
    expect(failures).toEqual([])
  },
  1_800_000,
)
