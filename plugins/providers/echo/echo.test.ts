import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import { isJsonObject } from "headgate/plugin"
import { providerChecks } from "headgate/testing"
import echo from "./index.ts"

const event = (data: unknown) => `data: ${JSON.stringify(data)}\n\n`

const bytes = [
  event({ choices: [{ index: 0, delta: { content: "Guten" }, finish_reason: null }] }),
  event({ choices: [{ index: 0, delta: { content: " Tag, Ørsted \u2028" }, finish_reason: null }] }),
  event({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }),
  event({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 3, total_tokens: 6 } }),
  "data: [DONE]\n\n",
].join("")
const streams = [{ bytes, expects: { text: "Guten Tag, Ørsted \u2028", finishReason: "stop" as const } }]
const checks = await providerChecks({ plugin: echo, streams })

describe("conformance", () => {
  for (const check of checks) test(check.name, check.run)
})

describe("echo", () => {
  const answer = (body: unknown) =>
    Either.getOrThrow(echo.load({})).transport?.(
      new Request("http://in.process/chat/completions", { method: "POST", body: JSON.stringify(body) }),
    )
  const whole = async (body: unknown) => {
    const said: unknown = await (await answer(body))?.json()
    return isJsonObject(said) ? said : {}
  }

  test("repeats the user's last message, one token per word", async () => {
    const messages = [
      { role: "user", content: "not this" },
      {
        role: "user",
        content: [
          { type: "text", text: "but " },
          { type: "text", text: "this one" },
        ],
      },
      { role: "assistant", content: "nor this" },
    ]
    expect(await whole({ messages })).toEqual({
      choices: [{ index: 0, message: { role: "assistant", content: "but this one" }, finish_reason: "stop" }],
      usage: { prompt_tokens: 3, completion_tokens: 3, total_tokens: 6 },
    })
  })

  test("stops at max_tokens, with finish reason length", async () => {
    const { choices, usage } = await whole({ messages: [{ role: "user", content: "one two three" }], max_tokens: 2 })
    expect(choices).toEqual([{ index: 0, message: { role: "assistant", content: "one two" }, finish_reason: "length" }])
    expect(usage).toEqual({ prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 })
  })

  test("streams one chunk per word, then the finish, the usage and [DONE]", async () => {
    const text = await (await answer({ messages: [{ role: "user", content: "one two" }], stream: true }))?.text()
    expect(text).toBe(
      event({ choices: [{ index: 0, delta: { content: "one" }, finish_reason: null }] }) +
        event({ choices: [{ index: 0, delta: { content: " two" }, finish_reason: null }] }) +
        event({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }) +
        event({ choices: [], usage: { prompt_tokens: 2, completion_tokens: 2, total_tokens: 4 } }) +
        "data: [DONE]\n\n",
    )
  })

  test.each([[null], [{}], [{ messages: 7 }], [{ messages: [null, "x", { role: "user" }] }]])(
    "has nothing to say to %j",
    async (body) => {
      const { choices, usage } = await whole(body)
      expect(choices).toEqual([{ index: 0, message: { role: "assistant", content: "" }, finish_reason: "stop" }])
      expect(usage).toEqual({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 })
    },
  )
})
