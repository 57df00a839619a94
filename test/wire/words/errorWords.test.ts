/** What vendors' words for an error mean, whatever their status: with it, in a 200, and in an event. docs/guarantees.md#g10 */
import { describe, expect, test } from "bun:test"
import type { HostReason } from "../../../src/domain/failures/HostReason.ts"
import { errorInBody, httpError } from "../../../src/formats/httpError.ts"
import { messagesErrorInBody, messagesHttpError } from "../../../src/formats/messages/messagesError.ts"

const invalid = (message: string) => ({ type: "invalid_request_error", message })

const used: ReadonlyArray<readonly [vendor: string, status: number, error: unknown]> = [
  [
    "Anthropic, a spend limit",
    400,
    invalid("You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC."),
  ],
  ["Anthropic, no credit", 400, invalid("Your credit balance is too low to access the Anthropic API.")],
  ["Anthropic, disabled", 400, invalid("This organization has been disabled.")],
  [
    "OpenAI, the hard limit",
    400,
    {
      type: "billing_limit_user_error",
      code: "billing_hard_limit_reached",
      message: "Billing hard limit has been reached.",
    },
  ],
  [
    "OpenAI, quota",
    429,
    {
      type: "insufficient_quota",
      code: "insufficient_quota",
      message: "You exceeded your current quota, please check",
    },
  ],
  [
    "OpenAI, quota without its code",
    429,
    { message: "You exceeded your current quota, please check your plan and billing details." },
  ],
  ["OpenAI, deactivated", 403, invalid("The OpenAI account associated with this API key has been deactivated.")],
  ["anyone, in a sentence", 400, { message: "Insufficient Balance" }],
  ["anyone, as a text", 400, "Insufficient Balance"],
  ["anyone, as a code", 400, { code: "InsufficientBalance", message: "no" }],
  ["Groq, restricted", 400, { ...invalid("Organization has been restricted."), code: "organization_restricted" }],
  [
    "Moonshot, suspended",
    403,
    invalid("Your account org-1 <ak-2> is suspended, please check your plan and billing details"),
  ],
  [
    "Fireworks, suspended",
    412,
    { error: { message: "Account acme is suspended, possibly due to a spending limit" } }.error,
  ],
  [
    "xAI, out of credit",
    403,
    {
      code: "The caller does not have permission to execute the specified operation",
      error: "Your team 0b1 has either used all available credits or reached its monthly spending limit.",
    },
  ],
  ["xAI, a wrong key", 400, { code: "Client specified an invalid argument", error: "Incorrect API key provided: no." }],
  [
    "Google, a wrong key",
    400,
    { code: 400, status: "INVALID_ARGUMENT", message: "API key not valid. Please pass one." },
  ],
  ["SiliconFlow", 403, { code: 30001, message: "Sorry, your account balance is insufficient" }],
  ["Alibaba", 400, { code: "Arrearage", message: "Access denied, please make sure your account is in good standing." }],
]

describe("an account that is used up, disabled or capped was the caller's fault:", () => {
  test.each(used)("%s", (_vendor, status, error) => {
    // xAI writes the text in `error`, beside the code.
    const isFlat = typeof error === "object" && error !== null && "error" in error
    const whole = isFlat ? error : { error }
    const inside = isFlat ? { code: Reflect.get(error, "code"), message: error.error } : error
    const found = [
      httpError(status, new Headers({ "retry-after": "7" }), whole),
      messagesHttpError(status, new Headers(), whole),
      errorInBody(inside),
      messagesErrorInBody(inside),
    ]
    expect(found.map(({ reason, detail, retryAfterSeconds }) => [reason, detail, retryAfterSeconds])).toEqual(
      found.map(() => ["account", undefined, undefined]),
    )
  })
})

describe("a request that quotes such words is still at fault itself:", () => {
  const balance = "Insufficient Balance"
  test.each<[string, unknown]>([
    ["after a path", invalid("messages.0.content: 'Your credit balance is too low' is not allowed")],
    ["in quotes", invalid(`"${balance}" is no tool of this request`)],
    ["as the beginning of a longer sentence", invalid(`${balance} is not a valid name of a function`)],
    ["beside a code that says more", { ...invalid(`${balance}`), code: "string_above_max_length" }],
    ["within a code that is a sentence", { code: "The argument my-billing-tool: insufficient balance", message: "no" }],
    ["beside the code of a filter", { code: "content_filter", message: "This organization has been disabled." }],
    ["in a text", `unknown tool: billing`],
    ["in a template", invalid("The template failed: this organization has been disabled.")],
  ])("%s", (_where, error) => expect(httpError(400, new Headers(), { error }).reason).toBe("request"))
})

test("a model that a host no longer has was the caller's fault", () => {
  const gone: ReadonlyArray<readonly [number, unknown]> = [
    [400, { ...invalid("Unable to access model acme/small."), code: "model_not_available" }],
    [400, { ...invalid("The model `small` has been decommissioned."), code: "model_decommissioned" }],
    [400, invalid("The model `small` has been decommissioned and is no longer supported.")],
    [400, invalid("Model Not Exist")],
    [400, { type: "invalid_model", code: "1500", message: "Invalid model: small" }],
    [410, { code: "model_deprecated", message: "no" }],
    [404, { code: "DeploymentNotFound", message: "no" }],
  ]
  for (const [status, error] of gone) {
    expect([error, httpError(status, new Headers(), { error }).reason]).toEqual([error, "not-found"])
    expect([error, errorInBody(error).reason]).toEqual([error, "not-found"])
  }
})

test("other 4xx, and pages of proxies, were the caller's fault", () => {
  const page = "<!DOCTYPE html><html><body>400 Bad Request</body></html>"
  const error = { error: { message: "no" } }
  const rows: ReadonlyArray<readonly [number, unknown, HostReason]> = [
    ...[405, 407, 410, 411, 418, 421, 451].map((status) => [status, error, "malformed"] as const),
    ...[409, 424, 425, 498, 499].map((status) => [status, error, "overloaded"] as const),
    ...[400, 403, 404, 405, 413, 422].map((status) => [status, page, "malformed"] as const),
    ...[400, 413, 422].flatMap((status) =>
      [null, "", {}, [], "Bad Request", "Client sent an HTTP request to an HTTPS server.\n"].map(
        (body) => [status, body, "malformed"] as const,
      ),
    ),
    [400, "Failed to deserialize the JSON body into the target type", "request"],
    [422, { detail: [{ loc: ["body"], msg: "Field required", type: "missing" }] }, "request"],
    [400, { error: { code: "tool_use_failed", message: "Failed to call a function." } }, "request"],
    [401, page, "account"],
    [429, page, "rate-limited"],
    [404, { detail: "Not Found" }, "not-found"],
  ]
  for (const [status, body, reason] of rows)
    expect([status, body, httpError(status, new Headers(), body).reason]).toEqual([status, body, reason])
  expect(httpError(400, new Headers({ "content-type": "text/html; charset=utf-8" }), "no").reason).toBe("malformed")
  expect(messagesHttpError(424, new Headers(), { type: "error", error: invalid("no") }).reason).toBe("overloaded")
})
