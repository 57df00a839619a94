import { describe, test } from "bun:test"
import { providerChecks } from "headgate/testing"
import plugin from "./index.ts"

const counts = { prompt_eval_count: 60, eval_count: 9, total_duration: 1_735_248_334, load_duration: 139_246_000 }
const line = (more: object) => `${JSON.stringify({ model: "m", created_at: "2026-11-22T09:00:00.1Z", ...more })}\n`
const said = (message: object) => line({ message: { role: "assistant", content: "", ...message }, done: false })
const end = (reason = "stop") =>
  line({ message: { role: "assistant", content: "" }, done: true, done_reason: reason, ...counts })

const answer = (request: Request) =>
  request.url.endsWith("/api/embed")
    ? request.json().then((body: unknown) => {
        const { input } = body as { input: ReadonlyArray<string> }
        return Response.json({ model: "m", embeddings: input.map(() => [0.25, -0.5]), prompt_eval_count: 7 })
      })
    : Response.json({
        model: "m",
        created_at: "2026-11-22T09:00:00.1Z",
        message: { role: "assistant", content: "About 20 degrees.", thinking: "Rome, then." },
        done: true,
        done_reason: "stop",
        ...counts,
      })

const usage = { prompt_tokens: 60, completion_tokens: 9 }
const called = (index: number, name: string, given: object) => ({
  id: `call_${index}`,
  function: { index, name, arguments: given },
})
const call = (index: number, name: string, given: object) => ({ tool_calls: [called(index, name, given)] })
const callAt = (at: number) => (at === 0 ? called(0, "weather", { city: "Rome" }) : called(1, "time", {}))
const calls = [
  { id: "call_0", name: "weather", arguments: { city: "Rome" } },
  { id: "call_1", name: "time", arguments: {} },
]
const streams = [
  {
    name: "text after a thought",
    bytes: `${said({ thinking: "Rome, " })}${said({ thinking: "then." })}${said({ content: "About " })}${said({ content: "20 °C 🌞" })}${end()}`,
    expects: { text: "About 20 °C 🌞", reasoning: "Rome, then.", finishReason: "stop", counted: usage },
  },
  {
    name: "two calls",
    bytes: `${said(call(0, "weather", { city: "Rome" }))}${said(call(1, "time", {}))}${end()}`,
    expects: { text: "", toolCalls: calls, finishReason: "tool_calls", counted: usage },
  },
  {
    name: "an answer that its bound cuts",
    bytes: `${said({ content: "About" })}${end("length")}`,
    expects: { text: "About", finishReason: "length", counted: usage },
  },
  {
    name: "a failure",
    bytes: `${said({ content: "About" })}${JSON.stringify({ error: "llama runner process has terminated" })}\n`,
    expects: { failure: { reason: "overloaded" } },
  },
] as const

const subject = {
  plugin,
  answer,
  streams,
  answers: [
    {
      name: "two calls",
      body: {
        message: { role: "assistant", content: "", thinking: "Ask.", tool_calls: [0, 1].map((at) => callAt(at)) },
        done: true,
        done_reason: "stop",
        ...counts,
      },
      expects: { text: "", reasoning: "Ask.", toolCalls: calls, finishReason: "tool_calls", counted: usage },
    },
  ],
  embeddings: [
    {
      body: { embeddings: [[0.25], [-0.5]], prompt_eval_count: 7 },
      expects: { vectors: [[0.25], [-0.5]], counted: { prompt_tokens: 7, completion_tokens: 0 } },
    },
  ],
  listed: {
    body: { models: [{ name: "llama3.2:3b", model: "llama3.2:3b", digest: "a80c" }] },
    expects: ["ollama/llama3.2:3b"],
  },
  // It thinks in plain text, counts neither that nor its cache, and has no rate limits of its own.
  lacks: ["cache", "waits", "effort"],
} as const
const ofCloud = await providerChecks({ ...subject, config: { api_key: "key-of-ollama-0123456789" } })
const own = { base_url: "http://127.0.0.1:11434", network: "private", num_ctx: 8192 }
const ofOwn = await providerChecks({ ...subject, config: own })

describe("the cloud", () => {
  for (const check of ofCloud) test(check.name, check.run)
})

describe("a server of one's own", () => {
  for (const check of ofOwn) test(check.name, check.run)
})
