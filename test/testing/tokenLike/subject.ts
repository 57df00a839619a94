import type { ProviderPlugin } from "headgate/plugin"
import type { ProviderSubject } from "headgate/testing"

const completion = {
  choices: [{ index: 0, message: { role: "assistant", content: "hi there" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 },
}

const event = (choice: object, more: object = {}) =>
  `data: ${JSON.stringify({ id: "1", choices: [{ index: 0, finish_reason: null, ...choice }], ...more })}\n\n`

export const stream = [
  event({ delta: { content: "hi" } }),
  event({ delta: { content: " there" } }),
  event({ delta: {}, finish_reason: "stop" }, { usage: completion.usage }),
  "data: [DONE]\n\n",
].join("")

export const chatAnswer = () => Response.json(completion)

export const subjectOf = (plugin: ProviderPlugin): ProviderSubject => ({
  plugin,
  config: { region: "north", client_id: "our-gateway", client_secret: "a-secret-of-our-client-77" },
  answer: (request) =>
    new URL(request.url).pathname === "/oauth"
      ? Response.json({ access_token: "token-of-the-vendor-4711", expires_in: 3600, token_type: "Bearer" })
      : chatAnswer(),
  streams: [{ name: "words", bytes: stream, expects: { text: "hi there", finishReason: "stop" } }],
})
