/** LangChain by its client of OpenAI's forms, chat and Responses, and by its client of the router, over real sockets. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import {
  type AIMessage,
  type AIMessageChunk,
  type BaseMessage,
  HumanMessage,
  ToolMessage,
} from "@langchain/core/messages"
import { tool } from "@langchain/core/tools"
import { ChatOpenAI, OpenAI } from "@langchain/openai"
import { ChatOpenRouter } from "@langchain/openrouter"
import { startGateway, type TestGateway } from "../support/gateways/gateway.ts"
import { configFor } from "../support/hosts/host.ts"
import { thought, townSchema, weatherHost } from "../support/hosts/weatherHost.ts"

const weather = tool(() => "", { name: "weather", description: "The weather of a town", schema: townSchema })

describe("LangChain", () => {
  const host = weatherHost()
  let gateway: TestGateway

  beforeAll(async () => {
    gateway = await startGateway({ config: configFor({ good: host }) })
  })
  afterAll(async () => {
    await gateway.stop()
    await host.stop()
  })

  const openai = (model = "acme/small", useResponsesApi = false) =>
    new ChatOpenAI({
      model,
      apiKey: gateway.key,
      configuration: { baseURL: gateway.url },
      maxRetries: 0,
      useResponsesApi,
      streamUsage: true,
    })
  const responses = (model?: string) => openai(model, true)
  const router = (model = "acme/small") =>
    new ChatOpenRouter({ model, apiKey: gateway.key, baseURL: gateway.url, maxRetries: 0 })

  const question = "How is Bern?"
  const lastBody = () => host.calls.at(-1)?.body

  describe.each([
    ["@langchain/openai", openai, "jsonSchema"],
    ["@langchain/openai by responses", responses, "jsonSchema"],
    ["@langchain/openrouter", router, "functionCalling"],
  ] as const)("%s", (name, model, method) => {
    const assembled = async (stream: AsyncIterable<AIMessageChunk>): Promise<AIMessageChunk> => {
      let whole: AIMessageChunk | undefined
      for await (const chunk of stream) whole = whole === undefined ? chunk : whole.concat(chunk)
      if (whole === undefined) throw new Error("an empty stream")
      return whole
    }

    test("a whole answer", async () => {
      const answer = await model().invoke(question)
      expect(answer.text).toBe("Sunny in Bern")
      expect(answer.usage_metadata).toMatchObject({ input_tokens: 10, output_tokens: 5, total_tokens: 15 })
    })

    test("a stream", async () => {
      const pieces: Array<string> = []
      const stream = await model().stream(question)
      const watched = async function* () {
        for await (const chunk of stream) {
          if (chunk.text !== "") pieces.push(chunk.text)
          yield chunk
        }
      }
      const answer = await assembled(watched())
      expect(pieces).toEqual(["Sunny", " in", " Bern"])
      expect(answer.usage_metadata).toMatchObject({ input_tokens: 10, output_tokens: 5, total_tokens: 15 })
    })

    test.each([false, true])("a tool in two steps (stream: %p)", async (streamed) => {
      const bound = model().bindTools([weather])
      const ask = async (messages: Array<BaseMessage>): Promise<AIMessage> =>
        streamed ? assembled(await bound.stream(messages)) : bound.invoke(messages)
      const messages: Array<BaseMessage> = [new HumanMessage(question)]
      const first = await ask(messages)
      expect(first.tool_calls).toMatchObject([{ id: "call_a", name: "weather", args: { town: "Bern" } }])
      messages.push(first)
      messages.push(new ToolMessage({ content: "sunny in Bern", tool_call_id: first.tool_calls?.[0]?.id ?? "" }))
      expect((await ask(messages)).text).toBe("Sunny in Bern")
      expect(lastBody()?.["messages"]).toMatchObject([
        { role: "user", content: question },
        {
          role: "assistant",
          tool_calls: [{ id: "call_a", function: { name: "weather", arguments: '{"town":"Bern"}' } }],
          ...(name.endsWith("responses") ? { reasoning_details: [thought] } : {}),
        },
        { role: "tool", tool_call_id: "call_a", content: "sunny in Bern" },
      ])
    })

    test("a structured object", async () => {
      const bound = model().withStructuredOutput({ title: "town", ...townSchema }, { name: "weather", method })
      expect(await bound.invoke(question)).toEqual({ town: "Bern" })
      expect(lastBody()).toMatchObject(
        method === "jsonSchema"
          ? { response_format: { type: "json_schema", json_schema: { schema: townSchema } } }
          : { tools: [{ function: { name: "weather" } }], tool_choice: { function: { name: "weather" } } },
      )
    })

    test("a refusal has our words", async () => {
      await expect(model("acme/none").invoke(question)).rejects.toThrow("acme/none")
    })
  })

  test("@langchain/openai: the legacy form", async () => {
    const model = new OpenAI({ model: "acme/small", apiKey: gateway.key, configuration: { baseURL: gateway.url } })
    expect(await model.invoke(question)).toBe("Sunny in Bern")
    expect(await Array.fromAsync(await model.stream(question))).toEqual(["Sunny", " in", " Bern", ""])
  })

  test("@langchain/openrouter: cost and preferences", async () => {
    const answer = await router().invoke(question, { provider: { only: ["good"] }, sessionId: "s" })
    expect(answer.response_metadata).toMatchObject({ usage: { cost: 0.00002 } })
    await expect(router().invoke(question, { provider: { only: ["other"] } })).rejects.toThrow()
  })
})
