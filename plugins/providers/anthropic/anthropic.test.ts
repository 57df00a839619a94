import { describe, expect, test } from "bun:test"
import * as Either from "effect/Either"
import type { HostFailed, Provider } from "headgate/plugin"
import { reporting } from "../../../test/support/recordings/recordedTable.ts"
import {
  bodyOf,
  encodedBy,
  hostFor,
  recordings,
  recordingsPresent,
  requestWith,
} from "../../../test/support/recordings/recordings.ts"
import anthropic from "./index.ts"

const provider: Provider = Either.getOrThrow(anthropic.load({}))

const failed = (status: number, body: unknown, headers: Record<string, string> = {}): HostFailed =>
  provider.error(status, new Headers(headers), body)

const errorOf = (type: string, message = "no") => ({ type: "error", error: { type, message }, request_id: "req_1" })

describe("the plugin", () => {
  test("has Anthropic's address and its way of authentication", () => {
    expect(anthropic).toMatchObject({
      id: "anthropic",
      baseUrl: "https://api.anthropic.com/v1",
      auth: { _tag: "Header", name: "x-api-key" },
      keyVariable: "ANTHROPIC_API_KEY",
      privacy: { mayTrain: false, retainsPrompts: true },
    })
    expect(Object.keys(provider.protocols)).toEqual(["messages"])
  })

  test("has no configuration of its own", () => {
    expect(Either.isLeft(anthropic.load({ region: "eu" }))).toBe(true)
  })

  test.each([
    ["claude-3-haiku-20240307", "enabled"],
    ["claude-sonnet-4-20250514", "enabled"],
    ["claude-sonnet-4-5-20250929", "enabled"],
    ["claude-opus-4-7", "disabled"],
    ["claude-sonnet-5", "disabled"],
    ["claude-haiku-5-5", "disabled"],
    ["claude-opus-5-5", "adaptive"],
    ["claude-fable-5-1", "adaptive"],
    ["claude-of-tomorrow", "adaptive"],
  ])("%s, told not to think if it can: %s", (model, expected) => {
    const reasoning = expected === "enabled" ? { effort: "high" } : { effort: "none" }
    const request = requestWith({ messages: [{ role: "user", content: "x" }], reasoning })
    const { messages } = provider.protocols
    if (messages === undefined) throw new Error("no messages protocol")
    expect(encodedBy(messages, request, hostFor(model)).body["thinking"]).toMatchObject({ type: expected })
  })
})

test.each([
  [{ effort: "xhigh" }, { type: "adaptive" }, { effort: "high" }],
  [{ effort: "max" }, { type: "adaptive" }, { effort: "max" }],
  [{ max_tokens: 2000 }, { type: "enabled", budget_tokens: 2000 }, undefined],
])(
  "Claude 4.6 is asked by an effort, and by a number only where the client wrote one: %j",
  (reasoning, thinking, config) => {
    const request = requestWith({ messages: [{ role: "user", content: "x" }], reasoning }, { maxTokens: 8000 })
    const { messages } = provider.protocols
    if (messages === undefined) throw new Error("no messages protocol")
    const { body } = encodedBy(messages, request, hostFor("claude-opus-4-6"))
    expect(body["thinking"]).toMatchObject(thinking)
    expect(body["output_config"]).toEqual(config)
  },
)

describe("errors", () => {
  test.each([
    [400, "invalid_request_error", "request"],
    [401, "authentication_error", "account"],
    [402, "billing_error", "account"],
    [403, "permission_error", "forbidden"],
    [404, "not_found_error", "not-found"],
    [413, "request_too_large", "request"],
    [429, "rate_limit_error", "rate-limited"],
    [500, "api_error", "overloaded"],
    [504, "timeout_error", "timeout"],
    [529, "overloaded_error", "overloaded"],
    [400, "overloaded_error", "overloaded"],
  ] as const)("%d %s is %s", (status, type, reason) => {
    expect(failed(status, errorOf(type))).toMatchObject({ reason, status, code: type })
  })

  test("an account without credit is an account failure, whatever the host calls it", () => {
    const message = "Your credit balance is too low to access the Anthropic API."
    const failure = failed(400, errorOf("invalid_request_error", message))
    expect(failure.reason).toBe("account")
    expect(failure.detail).toBeUndefined()
    expect(failed(400, errorOf("invalid_request_error", "max_tokens: wrong")).detail).toBe("max_tokens: wrong")
  })

  test("the host's wait is kept", () => {
    expect(failed(429, errorOf("rate_limit_error"), { "retry-after": "17" }).retryAfterSeconds).toBe(17)
  })

  test.each([[503], [404], [429]])("%d without an error type of Anthropic is judged by its status", (status) => {
    const reasons = { 503: "overloaded", 404: "not-found", 429: "rate-limited" }
    expect(failed(status, "").reason as string).toBe(Object(reasons)[status])
  })

  test.skipIf(!recordingsPresent())("recorded ones", async () => {
    const expected = new Map([
      [400, "request"],
      [401, "account"],
      [404, "not-found"],
    ])
    const errors = recordings("anthropic-messages").filter(({ response }) => response.status !== 200)
    expect(errors.length).toBeGreaterThanOrEqual(4)
    for (const error of errors) {
      await reporting(error, () => {
        const failure = failed(error.response.status, bodyOf(error), error.response.headers ?? {})
        expect([error.id, failure.reason as string]).toEqual([error.id, expected.get(error.response.status) ?? "none"])
      })()
    }
  })
})
