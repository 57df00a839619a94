/** The client of OpenAI against a gateway: an answer as it comes, with what it cost. */
import OpenAI from "openai"

const client = new OpenAI({
  baseURL: process.env["HEADGATE_URL"] ?? "http://127.0.0.1:8787/api/v1",
  apiKey: process.env["HEADGATE_API_KEY"] ?? "",
})

const stream = await client.chat.completions.create({
  model: "headgate/echo",
  messages: [{ role: "user", content: "Hello, gateway!" }],
  stream: true,
})

for await (const { choices, usage } of stream) {
  process.stdout.write(choices[0]?.delta.content ?? "")
  // A member of the gateway's own, USD.
  if (usage != null && "cost" in usage) console.log(`\n${usage.cost} USD`)
}
