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
const call = (index: number, name: string, given: object) => ({
  tool_calls: [{ id: `call_${index}`, function: { index, name, arguments: given } }],
})
const streams = [
  {
    name: "text after a thought",
    bytes: `${said({ thinking: "Rome, " })}${said({ thinking: "then." })}${said({ content: "About " })}${said({ content: "20 °C 🌞" })}${end()}`,
    expects: { text: "About 20 °C 🌞", finishReason: "stop", counted: usage },
  },
  {
    name: "two calls",
    bytes: `${said(call(0, "weather", { city: "Rome" }))}${said(call(1, "time", {}))}${end()}`,
    expects: { text: "", finishReason: "tool_calls", counted: usage },
  },
  {
    name: "an answer that its bound cuts",
    bytes: `${said({ content: "About" })}${end("length")}`,
    expects: { text: "About", finishReason: "length", counted: usage },
  },
] as const

const ofCloud = await providerChecks({ plugin, config: { api_key: "key-of-ollama-0123456789" }, answer, streams })
const own = { base_url: "http://127.0.0.1:11434", network: "private", num_ctx: 8192 }
const ofOwn = await providerChecks({ plugin, config: own, answer, streams: [] })

describe("the cloud", () => {
  for (const check of ofCloud) test(check.name, check.run)
})

describe("a server of one's own", () => {
  for (const check of ofOwn) test(check.name, check.run)
})
