/**
 * A caller who takes no bytes is cut, also before any host has answered, and the call to the host ends.
 * docs/guarantees.md#g18
 */
import { expect, test } from "bun:test"
import { inTimedGateway } from "../../support/gateways/timedGateway.ts"

test("a caller cut before the first event kept the host until its own time-out: the host's connection is closed at once", async () => {
  await inTimedGateway(
    { hosts: ["a", "b"], limits: { max_in_flight: 1 } },
    async ({ ask, call, calls, ...gateway }) => {
      const asked = ask()
      const host = await call()
      host.head()
      // After ten seconds the head goes out without an event. The caller reads nothing after it.
      await gateway.pass(11_000)
      expect((await asked).status).toBe(200)
      expect(await gateway.reserved()).toBeGreaterThan(0n)
      await gateway.pass(62_000)
      expect(host.aborted).toBe(true)
      expect(await gateway.reserved()).toBe(0n)
      expect(calls).toHaveLength(1)
      // Its place is free.
      const next = ask()
      ;(await call(2)).head().events('{"error":{"code":503,"message":"no"}}')
      ;(await call(3)).head().events('{"error":{"code":503,"message":"no"}}')
      expect((await next).status).toBe(502)
    },
  )
})
