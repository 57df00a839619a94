/** Numbers 18 to 55: members of a request. */
import { expect } from "bun:test"
import { wholeBodyOf } from "../../support/clients/answers.ts"
import { badBodies } from "../../support/clients/badBodies.ts"
import { fine } from "../../support/clients/badInputs.ts"
import { asKey, badInput, gateway, host, passed, post, refused, rowsOf } from "./harness.ts"

export const memberTests = (): void => {
  for (const { number, name, text, wanted } of badBodies) {
    badInput(number, name, async () => {
      const metadata = await refused(() => post(text), wanted)
      if (wanted.status !== 404) return
      expect(metadata["excluded_by"]).toEqual([expect.stringMatching(/^(only|ignore|max_price|zdr)$/)])
      expect(metadata["available_providers"]).toEqual(["acme"])
    })
  }

  badInput(
    30,
    "public addresses of images pass through, others are refused, and the gateway fetches none",
    async () => {
      let fetched = 0
      const wire = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response(String(++fetched)) })
      const withImage = (url: string) => ({
        ...fine,
        messages: [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }],
      })
      for (const url of [
        "http://169.254.169.254/latest/meta-data",
        "http://[::1]/x",
        `http://127.0.0.1:${wire.port}/x`,
      ])
        expect((await post(JSON.stringify(withImage(url)))).status).toBe(400)
      const fit = withImage("https://images.example/x.png")
      expect((await passed(JSON.stringify(fit)))["messages"]).toEqual(fit.messages)
      expect(fetched).toBe(0)
      await wire.stop(true)
    },
  )
  badInput(39, "a tool with a schema of 1 MiB", async () => {
    const tools = [{ type: "function", function: { name: "f", parameters: { description: "x".repeat(1_048_576) } } }]
    expect((await passed(JSON.stringify({ ...fine, model: "acme/large", tools })))["tools"]).toEqual(tools)
  })
  badInput(52, "an unknown member passes through and changes nothing in the gateway", async () => {
    const foo = { a: [1, null, "x"], cost: 0, "x-gw-host": "other" }
    const response = await post(JSON.stringify({ ...fine, foo, host: "other" }))
    expect(response.headers.get("x-gw-host")).toBe("acme")
    expect(response.headers.get("x-gw-cost-usd")).toBe("0.00002")
    expect((await wholeBodyOf(response)).usage.cost).toBe(0.00002)
    expect(host.calls.at(-1)?.body).toMatchObject({ foo, host: "other" })
  })
  badInput(53, "credentials and addresses are dropped", async () => {
    const names = ["api_base", "base_url", "api_key", "api_version", "organization", "headers", "timeout"]
    const dropped = [...names, "extra_headers", "extra_body", "extra_query"]
    const evil = "http://169.254.169.254/"
    const sent = await passed(JSON.stringify({ ...fine, ...Object.fromEntries(dropped.map((name) => [name, evil])) }))
    expect(Object.keys(sent).filter((name) => dropped.includes(name))).toEqual([])
    expect(host.calls.at(-1)?.request.headers.get("authorization")).toBe("Bearer key-of-acme")
  })
  badInput(54, "a cost in the request costs nothing", async () => {
    const key = await gateway.newKey()
    const response = await gateway.chat({ ...fine, usage: { cost: -1, include: true } }, asKey(key))
    expect(response.headers.get("x-gw-cost-usd")).toBe("0.00002")
    expect((await wholeBodyOf(response)).usage.cost).toBe(0.00002)
    expect((await rowsOf(key)).map(({ cost }) => cost)).toEqual([20_000_000n])
  })
  badInput(55, "a prompt longer than the context of every host", () =>
    refused(() => post(JSON.stringify({ ...fine, messages: [{ role: "user", content: "x".repeat(160_000) }] })), {
      status: 400,
      says: /^This model's maximum context length is 8192 tokens, but the request has at least 10\d{3}\.$/,
      path: "messages",
      type: "context_length_exceeded",
    }),
  )
}
