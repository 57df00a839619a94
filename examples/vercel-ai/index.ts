/** The AI SDK against a gateway: an answer as it comes, and the tokens that it took. */
import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
import { streamText } from "ai"

const headgate = createOpenAICompatible({
  name: "headgate",
  baseURL: process.env["HEADGATE_URL"] ?? "http://127.0.0.1:8787/api/v1",
  apiKey: process.env["HEADGATE_API_KEY"] ?? "",
  includeUsage: true,
})

const { textStream, usage } = streamText({ model: headgate("headgate/echo"), prompt: "Hello, gateway!" })

for await (const text of textStream) process.stdout.write(text)
const { inputTokens, outputTokens } = await usage
console.log(`\n${inputTokens} tokens in, ${outputTokens} out`)
