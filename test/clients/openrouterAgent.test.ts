/** The agent loop of the router's own SDK, `callModel`, and what the ledger then says, over a real socket. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { OpenRouter } from "@openrouter/sdk"
import { tool } from "@openrouter/sdk/lib/tool"
import * as errors from "@openrouter/sdk/models/errors"
import * as Effect from "effect/Effect"
import { z } from "zod"
import { Storage } from "../../src/services/storage/Storage.ts"
import { row } from "../support/gateways/control.ts"
import { startGateway, type TestGateway } from "../support/gateways/gateway.ts"
import { configFor } from "../support/hosts/host.ts"
import { thought, weatherHost } from "../support/hosts/weatherHost.ts"

describe("the router's SDK as an agent", () => {
  const host = weatherHost()
  let gateway: TestGateway
  let sdk: OpenRouter
  let manager: OpenRouter

  beforeAll(async () => {
    gateway = await startGateway({ config: configFor({ good: host }) })
    const sdkWith = (apiKey: string) =>
      new OpenRouter({ apiKey, serverURL: gateway.url, appTitle: "Weather", retryConfig: { strategy: "none" } })
    sdk = sdkWith(gateway.key)
    manager = sdkWith(gateway.managementKey)
  })
  afterAll(async () => {
    await gateway.stop()
    await host.stop()
  })

  /** A tool that notes the towns it was asked for. */
  const weather = () => {
    const asked: Array<string> = []
    const definition = tool({
      name: "weather",
      description: "The weather of a town",
      inputSchema: z.object({ town: z.string() }),
      execute: ({ town }) => {
        asked.push(town)
        return { sky: "sunny" }
      },
    })
    return { asked, definition }
  }

  test("a tool in two steps, with the reasoning given back", async () => {
    const { asked, definition } = weather()
    const result = sdk.callModel({ model: "acme/small", input: "How is Bern?", tools: [definition] as const })
    expect([await result.getText(), asked]).toEqual(["Sunny in Bern", ["Bern"]])
    expect(await result.getResponse()).toMatchObject({ status: "completed", usage: { inputTokens: 10, cost: 0.00002 } })
    expect(host.calls.at(-1)?.body["messages"]).toMatchObject([
      { role: "user", content: "How is Bern?" },
      {
        role: "assistant",
        reasoning_details: [thought],
        tool_calls: [{ id: "call_a", function: { name: "weather" } }],
      },
      { role: "tool", tool_call_id: "call_a", content: '{"sky":"sunny"}' },
    ])
  })

  test("its text in pieces", async () => {
    const result = sdk.callModel({ model: "acme/small", input: "How is Bern?" })
    expect(await Array.fromAsync(result.getTextStream())).toEqual(["Sunny", " in", " Bern"])
  })

  test("a generation, the credits and the activity of its key", async () => {
    const { id: responseId } = await sdk.callModel({ model: "acme/small", input: "How is Bern?" }).getResponse()
    const id = responseId.replace("resp_", "gen-")
    const { data } = await sdk.generations.getGeneration({ id })
    expect(data).toMatchObject({ id, model: "acme/small", providerName: "good", streamed: true, totalCost: 0.00002 })
    expect(data).toMatchObject({ tokensPrompt: 10, tokensCompletion: 5, finishReason: "stop", isByok: false })

    const { data: credits } = await manager.credits.getCredits()
    expect(credits.totalUsage).toBeGreaterThanOrEqual(0.00002)
    expect(credits.totalCredits).toBe(credits.totalUsage)

    const yesterday = Date.now() - 86_400_000
    const { data: key } = await sdk.apiKeys.getCurrentKeyMetadata()
    await gateway.run(Effect.flatMap(Storage, ({ ledger }) => ledger.append([row(gateway.key, "0.5", yesterday)])))
    const hashes = (await manager.apiKeys.list()).data.flatMap(({ label, hash }) => (label === key.label ? [hash] : []))
    for (const groupBy of [undefined, "workspace"] as const) {
      const { data: days } = await manager.analytics.getUserActivity({
        ...(groupBy === undefined ? {} : { groupBy }),
        ...(hashes[0] === undefined ? {} : { apiKeyHash: hashes[0] }),
      })
      const day = new Date(yesterday).toISOString().slice(0, 10)
      expect(days.filter(({ date }) => date === day)).toMatchObject([{ requests: 1, usage: 0.5 }])
      // Today is there as well, with what was asked above.
      expect(days.some(({ date }) => date > day)).toBe(true)
    }
  })

  test("what another key may not see", async () => {
    await expect(sdk.credits.getCredits()).rejects.toBeInstanceOf(errors.ForbiddenResponseError)
    await expect(sdk.analytics.getUserActivity()).rejects.toBeInstanceOf(errors.ForbiddenResponseError)
    await expect(sdk.generations.getGeneration({ id: "gen-none" })).rejects.toBeInstanceOf(errors.NotFoundResponseError)
  })
})
