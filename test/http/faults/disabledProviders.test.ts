/** Hosts of a provider that is disabled, or whose plugin did not load, are in no plan. docs/guarantees.md#g33 */
import { describe, expect, test } from "bun:test"
import { errorOf } from "../../support/clients/answers.ts"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import { scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"
import { configWithOdd, withOdd } from "../../support/hosts/oddPlugin.ts"

closeAfterEach()

const ask = (provider: Record<string, unknown> = {}) => ({
  model: "acme/small",
  messages: [{ role: "user", content: "hi" }],
  provider,
})

describe.each(["disabled", "broken"] as const)("the host of a %s provider", (how) => {
  /** `first`, the cheapest, is off; `second`, if wanted, answers. */
  const start = async (second: boolean) => {
    const off = opened(scriptedHost(() => wholeAnswer("from one that is off")))
    const on = opened(scriptedHost(() => wholeAnswer("fine")))
    const hosts = { first: { url: off.url, prompt: "0.0000001" }, ...(second ? { second: on } : {}) }
    const config = configWithOdd(hosts, { routing: { strategy: "price" } })
    const disabled = {
      ...config,
      providers: { ...config.providers, first: { ...config.providers.first, enabled: false } },
    }
    const gateway = await startWatched({
      plugins: await withOdd(how === "broken" ? { load: new Error("no disk") } : {}),
      config: how === "broken" ? config : disabled,
    })
    return { gateway, off }
  }

  test("was answered with 503 (cooling down) when it was the only one: 404 with the reason", async () => {
    const { gateway, off } = await start(false)
    for (const stream of [false, true]) {
      const response = await gateway.chat({ ...ask(), stream })
      expect(response.status).toBe(404)
      expect((await errorOf(response)).metadata).toMatchObject({
        error_type: "not_found",
        excluded: [{ host: "first", model: "acme/small", by: expect.any(String), reason: expect.any(String) }],
      })
    }
    expect(off.calls).toHaveLength(0)
  })

  test("was chosen where fallbacks are not allowed: another host is", async () => {
    const { gateway } = await start(true)
    const response = await gateway.chat(ask({ allow_fallbacks: false }))
    expect([response.status, response.headers.get("x-gw-host")]).toEqual([200, "second"])
  })

  test("was answered with 503 (cooling down) when it was named: 404 with the reason", async () => {
    const { gateway } = await start(true)
    for (const provider of [{ only: ["first"] }, { order: ["first"], allow_fallbacks: false }]) {
      const response = await gateway.chat(ask(provider))
      expect(response.status).toBe(404)
      const { metadata } = await errorOf(response)
      expect(metadata?.["excluded"]).toContainEqual(expect.objectContaining({ host: "first", model: "acme/small" }))
    }
  })
})
