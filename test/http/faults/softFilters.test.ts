/** Soft filters are applied after hard ones, so they never leave only hosts that a hard filter excludes. */
import { expect, test } from "bun:test"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import { configFor, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"

closeAfterEach()

test("the only host with tools was left out for its shorter output, and the request got 404: it is called with less output", async () => {
  const host = opened(scriptedHost(() => wholeAnswer("fine")))
  const other = opened(scriptedHost(() => wholeAnswer("without tools")))
  const { providers, models } = configFor({ tools: host, long: other })
  const bounds: Record<string, { max_completion_tokens: number; supported_parameters: ReadonlyArray<string> }> = {
    tools: { max_completion_tokens: 4096, supported_parameters: ["tools", "max_tokens"] },
    long: { max_completion_tokens: 8192, supported_parameters: ["max_tokens"] },
  }
  const gateway = await startWatched({
    config: {
      providers,
      models: models.map((model) => ({
        ...model,
        context_length: 100_000,
        hosts: model.hosts.map((one) => ({ ...one, ...bounds[one.provider] })),
      })),
    },
  })
  const ask = (provider: Record<string, unknown>) =>
    gateway.chat({
      model: "acme/small",
      messages: [{ role: "user", content: "hi" }],
      tools: [{ type: "function", function: { name: "f" } }],
      max_tokens: 8192,
      provider,
    })
  const response = await ask({ require_parameters: true })
  expect([response.status, response.headers.get("x-gw-host")]).toEqual([200, "tools"])
  expect(host.calls[0]?.body["max_tokens"]).toBe(4096)
  // Where nothing else decides, the host with enough output is chosen.
  expect((await ask({})).headers.get("x-gw-host")).toBe("long")
})
