/** `provider.max_price` of a request and of an image: USD per unit, inclusive. */
import { describe, expect, test } from "bun:test"
import { errorOf } from "../../support/clients/answers.ts"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import { configFor, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"

closeAfterEach()

const image = { type: "image_url", image_url: { url: "https://example.test/cat.png" } }
const messages = [{ role: "user", content: [{ type: "text", text: "what?" }, image] }]

describe.each(["request", "image"])("`max_price.%s` was ignored in silence", (unit) => {
  /** The first host charges a cent for each, the second a tenth of a cent. */
  const start = async () => {
    const first = opened(scriptedHost(() => wholeAnswer("fine")))
    const second = opened(scriptedHost(() => wholeAnswer("fine")))
    const { providers, models } = configFor({ first, second })
    const prices: Record<string, string> = { first: "0.01", second: "0.001" }
    const gateway = await startWatched({
      config: {
        providers,
        models: models.map((model) => ({
          ...model,
          hosts: model.hosts.map((host) => ({ ...host, pricing: { ...host.pricing, [unit]: prices[host.provider] } })),
        })),
      },
    })
    return (ceiling: unknown) =>
      gateway.chat({ model: "acme/small", messages, provider: { order: ["first"], max_price: { [unit]: ceiling } } })
  }

  test.each([0.005, "0.005", 0.001])("a host above %p is left out", async (ceiling) => {
    const response = await (await start())(ceiling)
    expect([response.status, response.headers.get("x-gw-host")]).toEqual([200, "second"])
  })

  test.each([0.01, "0.01", 1, null])("a host at or below %p is called", async (ceiling) => {
    const response = await (await start())(ceiling)
    expect([response.status, response.headers.get("x-gw-host")]).toEqual([200, "first"])
  })

  test("a ceiling below all hosts is 404 with every host and why", async () => {
    const response = await (await start())(0.0001)
    expect(response.status).toBe(404)
    const { metadata } = await errorOf(response)
    expect(metadata).toMatchObject({ error_type: "not_found", excluded_by: ["max_price"] })
    expect(metadata?.["excluded"]).toMatchObject(["first", "second"].map((host) => ({ host, by: "max_price" })))
  })
})
