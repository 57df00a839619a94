/** The AI SDK by the router's provider and by its provider for chat completions, over real sockets. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { createOpenRouter } from "@openrouter/ai-sdk-provider"
import { APICallError, generateText, isStepCount, jsonSchema, type LanguageModel, Output, streamText, tool } from "ai"
import { startGateway, type TestGateway } from "../support/gateways/gateway.ts"
import { configFor, scriptedHost } from "../support/hosts/host.ts"
import { thought, townSchema, weatherHost } from "../support/hosts/weatherHost.ts"

interface Town {
  readonly town: string
}

const town = jsonSchema<Town>({ ...townSchema, required: [...townSchema.required] })

describe("the AI SDK", () => {
  const host = weatherHost()
  const broken = scriptedHost(() => Response.json({ error: { message: "no" } }, { status: 500 }))
  let gateway: TestGateway

  beforeAll(async () => {
    gateway = await startGateway({ config: configFor({ good: host, broken }) })
  })
  afterAll(async () => {
    await gateway.stop()
    for (const each of [host, broken]) await each.stop()
  })

  const router = () => createOpenRouter({ apiKey: gateway.key, baseURL: gateway.url, appName: "Weather" })
  const compatible = () =>
    createOpenAICompatible({
      name: "headgate",
      apiKey: gateway.key,
      baseURL: gateway.url,
      includeUsage: true,
      supportsStructuredOutputs: true,
    })

  const providers = [
    ["@openrouter/ai-sdk-provider", router, "reasoning"],
    ["@ai-sdk/openai-compatible", compatible, "reasoning_content"],
  ] as const
  const ask = (model: LanguageModel) => ({ model, prompt: "How is Bern?", maxRetries: 0 })

  /** A tool that notes the towns it was asked for. */
  const weather = () => {
    const asked: Array<string> = []
    const execute = (input: Town) => {
      asked.push(input.town)
      return "sunny"
    }
    return { asked, tools: { weather: tool({ description: "The weather of a town", inputSchema: town, execute }) } }
  }

  const lastMessages = () => host.calls.at(-1)?.body["messages"]
  const called = { id: "call_a", type: "function", function: { name: "weather", arguments: '{"town":"Bern"}' } }

  describe.each(providers)("%s", (_, provider, reasoningMember) => {
    const model = () => provider()("acme/small")

    test("a whole answer", async () => {
      const { text, finishReason, usage, response } = await generateText(ask(model()))
      expect([text, finishReason]).toEqual(["Sunny in Bern", "stop"])
      expect(usage).toMatchObject({ inputTokens: 10, outputTokens: 5, totalTokens: 15 })
      expect(response).toMatchObject({ id: expect.stringMatching(/^gen-/), modelId: "acme/small" })
    })

    test("a stream", async () => {
      const stream = streamText(ask(model()))
      const pieces: Array<string> = []
      for await (const piece of stream.textStream) pieces.push(piece)
      expect(pieces).toEqual(["Sunny", " in", " Bern"])
      expect(await stream.finishReason).toBe("stop")
      expect(await stream.usage).toMatchObject({ inputTokens: 10, outputTokens: 5, totalTokens: 15 })
    })

    test("a tool in two steps", async () => {
      const { asked, tools } = weather()
      const { text, steps, totalUsage } = await generateText({ ...ask(model()), tools, stopWhen: isStepCount(2) })
      expect([text, asked]).toEqual(["Sunny in Bern", ["Bern"]])
      expect(steps.map(({ finishReason }) => finishReason)).toEqual(["tool-calls", "stop"])
      expect(totalUsage).toMatchObject({ inputTokens: 30, outputTokens: 15 })
      expect(lastMessages()).toMatchObject([
        { role: "user" },
        { role: "assistant", [reasoningMember]: "Bern, then.", tool_calls: [called] },
        { role: "tool", tool_call_id: "call_a", content: "sunny" },
      ])
    })

    test("a tool in two steps, streamed", async () => {
      const { asked, tools } = weather()
      const stream = streamText({ ...ask(model()), tools, stopWhen: isStepCount(2) })
      expect([await stream.text, asked]).toEqual(["Sunny in Bern", ["Bern"]])
      const [first] = await stream.steps
      expect(first?.reasoningText).toBe("Bern, then.")
      expect(await stream.totalUsage).toMatchObject({ inputTokens: 30, outputTokens: 15 })
      expect(lastMessages()).toMatchObject([
        { role: "user" },
        { role: "assistant", [reasoningMember]: "Bern, then.", tool_calls: [called] },
        { role: "tool", tool_call_id: "call_a", content: "sunny" },
      ])
    })

    test("a structured object, whole and streamed", async () => {
      const output = Output.object({ schema: town })
      const { output: whole } = await generateText({ ...ask(model()), output })
      const stream = streamText({ ...ask(model()), output })
      expect([whole, await stream.output]).toEqual([{ town: "Bern" }, { town: "Bern" }])
      expect(host.calls.at(-1)?.body["response_format"]).toMatchObject({
        type: "json_schema",
        json_schema: { schema: townSchema },
      })
    })

    test("a refusal is an error with its status and our words", async () => {
      const refused = await generateText(ask(provider()("acme/none"))).catch((cause) => cause)
      expect(APICallError.isInstance(refused)).toBeTrue()
      expect([refused.statusCode, refused.isRetryable]).toEqual([400, false])
      expect(refused.message).toContain("acme/none")
    })
  })

  describe("@openrouter/ai-sdk-provider", () => {
    test("provider and cost of an answer", async () => {
      const { providerMetadata } = await generateText(ask(router()("acme/small")))
      expect(providerMetadata?.["openrouter"]).toMatchObject({
        provider: "good",
        usage: { promptTokens: 10, completionTokens: 5, cost: 0.00002 },
      })
      const stream = streamText(ask(router()("acme/small", { usage: { include: true } })))
      await stream.consumeStream()
      expect((await stream.providerMetadata)?.["openrouter"]).toMatchObject({ usage: { cost: 0.00002 } })
    })

    test.each([false, true])("reasoning comes back to its host as it was (stream: %p)", async (streamed) => {
      const request = { ...ask(router()("acme/small")), tools: weather().tools, stopWhen: isStepCount(2) }
      await (streamed ? streamText(request).text : generateText(request))
      expect(lastMessages()).toMatchObject([{}, { reasoning_details: [thought] }, {}])
    })

    test("a host that fails is an error that may be tried again", async () => {
      const model = router()("acme/small", { provider: { only: ["broken"] } })
      const failed = await generateText(ask(model)).catch((cause) => cause)
      expect(APICallError.isInstance(failed)).toBeTrue()
      expect([failed.statusCode, failed.isRetryable]).toEqual([502, true])
    })
  })

  const legacy = [
    ["@openrouter/ai-sdk-provider", () => router().completion("acme/small")],
    ["@ai-sdk/openai-compatible", () => compatible().completionModel("acme/small")],
  ] as const

  // By the model itself: `generateText` always gives a tool choice, which the models of this form refuse.
  test.each(legacy)("%s: the legacy form", async (_, model) => {
    const prompt = [{ role: "user" as const, content: [{ type: "text" as const, text: "How is Bern?" }] }]
    const { content, usage } = await model().doGenerate({ prompt })
    expect(content).toEqual([{ type: "text", text: "Sunny in Bern" }])
    expect([usage.inputTokens.total, usage.outputTokens.total]).toEqual([10, 5])
    const { stream } = await model().doStream({ prompt })
    const parts = await Array.fromAsync(stream)
    const deltas = parts.flatMap((part) => (part.type === "text-delta" ? [part.delta] : []))
    expect(deltas.join("")).toBe("Sunny in Bern")
    expect(parts.at(-1)).toMatchObject({ type: "finish", usage: { outputTokens: { total: 5 } } })
  })
})
