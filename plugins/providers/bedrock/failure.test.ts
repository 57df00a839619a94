import { describe, expect, test } from "bun:test"
import type { HostFailed } from "headgate/plugin"
import { hostFor, requestWith } from "../../../test/support/recordings/recordings.ts"
import { converse } from "./converse.ts"
import { bedrockHttpError } from "./failure.ts"

const head = { status: 200, headers: new Headers() }
const context = { request: requestWith({}), host: hostFor("amazon.nova-lite-v1:0") }

describe("errors", () => {
  const failed = (status: number, body: unknown, headers: Record<string, string> = {}): HostFailed =>
    bedrockHttpError(status, new Headers(headers), body)
  const coral = (name: string) => ({ "x-amzn-errortype": `${name}:http://internal.amazon.com/coral/` })

  // Names of the API reference.
  test.each([
    [400, "ValidationException", "request"],
    [400, "ServiceQuotaExceededException", "rate-limited"],
    [403, "AccessDeniedException", "account"],
    [403, "UnrecognizedClientException", "account"],
    [400, "ExpiredTokenException", "account"],
    [404, "ResourceNotFoundException", "not-found"],
    [408, "ModelTimeoutException", "timeout"],
    [424, "ModelErrorException", "overloaded"],
    [424, "NewException", "overloaded"],
    [429, "ThrottlingException", "rate-limited"],
    [429, "ModelNotReadyException", "overloaded"],
    [500, "InternalServerException", "overloaded"],
    [503, "ServiceUnavailableException", "overloaded"],
  ] as const)("%d %s is %s", (status, name, reason) => {
    expect(failed(status, { message: "m" }, coral(name))).toMatchObject({ reason, status, code: name })
    expect(failed(status, { __type: `com.amazon.coral#${name}`, message: "m" })).toMatchObject({ reason, status })
  })

  test("a wait is kept", () => {
    expect(failed(429, {}, { ...coral("ThrottlingException"), "retry-after": "9" }).retryAfterSeconds).toBe(9)
  })

  test.each([
    ["Input is too long for requested model.", "context_length_exceeded"],
    [
      "The model returned the following errors: prompt is too long: 210000 tokens > 200000 maximum",
      "context_length_exceeded",
    ],
    ["The maximum context length is 8192 tokens", "context_length_exceeded"],
    ["temperature: must be at most 1", "ValidationException"],
    ["The maximum tokens you requested exceeds the model limit of 8192.", "ValidationException"],
    ["Image input for this model is not supported.", "ValidationException"],
  ])("%s: %s", (message, code) => {
    const failure = failed(400, { message }, coral("ValidationException"))
    expect(failure).toMatchObject({ reason: "request", code, detail: message })
  })

  test.each([
    "The provided model identifier is invalid.",
    "Invocation of model ID x with on-demand throughput isn’t supported. Retry your request with the ID of an inference profile",
  ])("%s: the operator's matter, and not shown", (message) => {
    const failure = failed(400, { message }, coral("ValidationException"))
    expect([failure.reason, failure.detail]).toEqual(["not-found", undefined])
  })

  test("numbers of accounts are not shown", () => {
    const message = "No access to arn:aws:bedrock:us-east-1:123456789012:inference-profile/x, sorry"
    expect(failed(400, { message }, coral("ValidationException")).detail).toBe("No access to [arn], sorry")
  })

  test.each([
    ["exception:throttlingException", "rate-limited"],
    ["exception:validationException", "request"],
    ["exception:modelStreamErrorException", "overloaded"],
    ["exception:internalServerException", "overloaded"],
    ["exception:serviceUnavailableException", "overloaded"],
    ["exception:modelTimeoutException", "timeout"],
    ["exception:ofTomorrow", "overloaded"],
    ["error:InternalError", "overloaded"],
  ])("in a stream, %s is %s", (name, reason) => {
    expect(converse.decoder(head, context).event(name, { message: "m" })).toMatchObject({
      reason,
      code: name.split(":")[1],
    })
  })

  test("a prompt that is too long is no fault of the model's, whatever the exception in a stream is called", () => {
    const message = "The model returned the following errors: Input is too long for requested model."
    const failure = converse.decoder(head, context).event("exception:modelStreamErrorException", { message })
    expect(failure).toMatchObject({ reason: "request", code: "context_length_exceeded", detail: message })
  })
})
