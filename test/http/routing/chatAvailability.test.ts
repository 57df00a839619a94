/** What a caller is told when no host is left: status, message, and `availability` for programs. See docs/errors.md. */
import { describe, expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { errorOf, streamOf } from "../../support/clients/answers.ts"
import { ManualClock } from "../../support/clocks/manualClock.ts"
import {
  type Answer,
  ask,
  closeAfterEach,
  good,
  type RoutedOptions,
  routed,
  status,
} from "../../support/gateways/routed.ts"
import { chunkOf, sse } from "../../support/hosts/host.ts"

closeAfterEach()

const image = { type: "image_url", image_url: { url: "https://a.test/cat.png" } }
const tools = [{ type: "function", function: { name: "f" } }]
const textAlone = { model: { architecture: { input_modalities: ["text"] } } }
const embeds = { model: { architecture: { output_modalities: ["embeddings"] } } }
const withoutTools = { hosts: { a: { supported_parameters: ["seed"] }, b: { supported_parameters: ["seed"] } } }

interface Row {
  readonly body: Record<string, unknown>
  readonly options?: RoutedOptions
  readonly code: number
  readonly says: string
  readonly availability: Record<string, unknown>
  readonly metadata?: Record<string, unknown>
}

const filtered = (by: string, field: string) => ({
  code: "constraint_filtered",
  retryable: false,
  excluded_by: [by],
  constraint: { field, detail: expect.any(String) },
  affected_providers: ["a", "b"],
})

const rows: Readonly<Record<string, Row>> = {
  "an unknown model": {
    body: { model: "acme/nothing", models: ["acme/small"] },
    code: 400,
    says: '"acme/nothing" is not a valid model ID',
    availability: {
      code: "model_not_found",
      retryable: false,
      requested_models: ["acme/nothing", "acme/small"],
    },
  },
  "a model of another kind": {
    body: {},
    options: { change: embeds },
    code: 400,
    says: '"acme/small" gives embeddings, so it cannot chat',
    availability: { code: "wrong_endpoint", constraint: { field: "model", detail: expect.any(String) } },
  },
  "a model without hosts": {
    body: { model: "acme/empty" },
    options: { models: { "acme/empty": [] } },
    code: 404,
    says: "No endpoints found for acme/empty.",
    availability: { code: "no_endpoints", retryable: false, requested_models: ["acme/empty"], affected_providers: [] },
  },
  "a tool that no host runs": {
    body: { tools: [{ type: "web_search" }], tool_choice: "required" },
    code: 404,
    says: "No endpoints found for acme/small: excluded by hosted_tools.",
    availability: filtered("hosted_tools", "tools"),
  },
  only: {
    body: { provider: { only: ["c", "d/eu"] } },
    code: 404,
    says: "No allowed providers are available for the selected model.",
    availability: filtered("allowed_providers", "provider.only"),
    metadata: { available_providers: ["a", "b"], requested_providers: ["c", "d/eu"] },
  },
  ignore: {
    body: { provider: { ignore: ["a", "b"] } },
    code: 404,
    says: "No allowed providers are available for the selected model.",
    availability: filtered("ignored_providers", "provider.ignore"),
    metadata: { available_providers: ["a", "b"], requested_providers: [] },
  },
  "a pinned order": {
    body: { provider: { order: ["c"], allow_fallbacks: false } },
    code: 404,
    says: "No endpoints found for acme/small: excluded by allow_fallbacks.",
    availability: filtered("allow_fallbacks", "provider.allow_fallbacks"),
  },
  "tools that no host has": {
    body: { tools, provider: { require_parameters: true } },
    options: { change: withoutTools },
    code: 404,
    says: "No endpoints found that support tool use.",
    availability: filtered("require_parameters", "provider.require_parameters"),
  },
  "a parameter that no host has": {
    body: { temperature: 1, provider: { require_parameters: true } },
    options: { change: withoutTools },
    code: 404,
    says: "No endpoints found for acme/small that support every parameter: one does not support temperature.",
    availability: filtered("require_parameters", "provider.require_parameters"),
  },
  zdr: {
    body: { provider: { zdr: true } },
    code: 404,
    says: "No endpoints found for acme/small that match the data policy (zdr).",
    availability: { ...filtered("data_policy:zdr", "provider.zdr"), code: "privacy_restricted" },
  },
  data_collection: {
    body: { provider: { data_collection: "deny" } },
    code: 404,
    says: "No endpoints found for acme/small that match the data policy (data_collection).",
    availability: { ...filtered("data_policy:training", "provider.data_collection"), code: "privacy_restricted" },
  },
  enforce_distillable_text: {
    body: { provider: { enforce_distillable_text: true } },
    code: 404,
    says: "excluded by enforce_distillable_text.",
    availability: filtered("enforce_distillable_text", "provider.enforce_distillable_text"),
  },
  quantizations: {
    body: { provider: { quantizations: ["fp8"] } },
    code: 404,
    says: "excluded by quantizations.",
    availability: filtered("quantization", "provider.quantizations"),
  },
  max_price: {
    body: { provider: { max_price: { completion: 1 } } },
    code: 404,
    says: "excluded by max_price.",
    availability: filtered("max_price", "provider.max_price"),
  },
  "images for a model that reads": {
    body: { messages: [{ role: "user", content: [image] }] },
    options: { change: textAlone },
    code: 404,
    says: "No endpoints found that support image input.",
    availability: filtered("input_modalities", "messages"),
  },
  "a prompt that is too long": {
    body: { messages: [{ role: "user", content: "x".repeat(160_000) }] },
    code: 400,
    says: "This model's maximum context length is 8192 tokens, but the request has at least 10000.",
    availability: { code: "constraint_filtered", excluded_by: ["context_length"], retryable: false },
  },
  "no free host": {
    body: { model: "acme/small:free" },
    code: 404,
    says: "No free endpoints found for acme/small:free: ask for acme/small, which is paid.",
    availability: { ...filtered("free", "model"), code: "free_variant_ended", fallback_models: ["acme/small"] },
  },
  "hosts that the operator switched off": {
    body: { model: "acme/off" },
    options: { models: { "acme/off": ["b"] }, disabled: ["b"] },
    code: 404,
    says: "No endpoints found for acme/off: excluded by provider.",
    availability: { code: "no_endpoints", affected_providers: ["b"] },
  },
}

/** What `docs_url` leads to. */
const errorsPage = readFileSync(`${import.meta.dir}/../../../docs/errors.md`, "utf8")

describe("no host is left", () => {
  test.each(Object.entries(rows))("%s", async (_name, { body, options, code, says, availability, metadata = {} }) => {
    const gateway = await routed({ a: good(), b: good() }, options)
    const { code: told, message, ...error } = await errorOf(await gateway.chat(ask(body)))
    expect(told).toBe(code)
    expect(message).toContain(says)
    expect(error.availability).toMatchObject({
      requested_models: [body["model"] ?? "acme/small"].concat(body["models"] ?? []),
      ...availability,
      docs_url: `/docs/guide/errors#${availability["code"]}`,
      retry_after: null,
    })
    expect(errorsPage).toContain(`<a id="${availability["code"]}">`)
    expect(error.metadata).toMatchObject(metadata)
    expect(gateway.called()).toEqual([])
  })

  test("the filter that left none is told, not an earlier one", async () => {
    const gateway = await routed({ a: good(), b: good() })
    const provider = { only: ["a"], quantizations: ["fp8"] }
    const { availability } = await errorOf(await gateway.chat(ask({ provider })))
    expect(availability).toMatchObject({
      excluded_by: ["allowed_providers", "quantization"],
      constraint: { field: "provider.quantizations", detail: "quantization is unknown" },
    })
  })

  test.each([
    ["404", status(404), 404, "model_unavailable_upstream", null],
    ["429", status(429, { "retry-after": "7" }), 429, "capacity_exhausted", 7],
    ["500", status(500), 502, "temporarily_unavailable", null],
    ["408", status(408), 408, "temporarily_unavailable", null],
  ] as const)("every host answers %s", async (_name, answer, code, reason, wait) => {
    const gateway = await routed({ a: answer, b: answer }, { clock: new ManualClock() })
    const error = await errorOf(await gateway.chat(ask({ model: "small" })))
    expect([error.code, error.availability]).toMatchObject([
      code,
      {
        code: reason,
        retryable: reason !== "model_unavailable_upstream",
        requested_models: ["small"],
        affected_providers: ["a", "b"],
        retry_after: wait,
      },
    ])
  })

  test("every host rests after a 429: 429, and when to come back", async () => {
    const gateway = await routed({ a: status(429, { "retry-after": "9" }) }, { clock: new ManualClock() })
    await gateway.chat(ask())
    const response = await gateway.chat(ask())
    const { code, availability } = await errorOf(response)
    expect([code, response.headers.get("retry-after")]).toEqual([429, "9"])
    // It named no provider.
    const about = { affected_providers: ["a"], requested_models: ["acme/small"] }
    expect(availability).toMatchObject({ code: "capacity_exhausted", retryable: true, retry_after: 9, ...about })
  })

  test("an answer that breaks off: the models are those that the caller named, and not that of the host alone", async () => {
    const breaksOff: Answer = () => sse([chunkOf({ delta: { content: "Hel" }, finish_reason: null })])
    const gateway = await routed({ a: breaksOff, b: good() }, { models: { "acme/big": ["b"] } })
    const { chunks } = await streamOf(await gateway.chat(ask({ model: "small", models: ["acme/big"], stream: true })))
    expect(chunks.at(-1)?.error?.availability).toMatchObject({
      code: "temporarily_unavailable",
      requested_models: ["small", "acme/big"],
    })
  })

  test("an error has a generation id once there was a plan", async () => {
    const gateway = await routed({ a: status(500) })
    const failed = await gateway.chat(ask())
    expect([failed.status, failed.headers.get("x-generation-id")]).toEqual([502, expect.stringMatching(/^gen-/)])
    const refused = await gateway.chat(ask({ provider: { only: ["nobody"] } }))
    expect([refused.status, refused.headers.get("x-generation-id")]).toEqual([404, null])
  })

  test("what a host found wrong with the request is not about availability", async () => {
    const gateway = await routed({ a: status(400) })
    expect((await errorOf(await gateway.chat(ask()))).availability).toBeUndefined()
  })
})

test("every code has a section in the docs", () => {
  const page = readFileSync(new URL("../../../docs/errors.md", import.meta.url), "utf8")
  const codes = new Set(Object.values(rows).map(({ availability }) => String(availability["code"])))
  for (const code of [...codes, "model_unavailable_upstream", "capacity_exhausted", "temporarily_unavailable"]) {
    expect(page).toContain(`<a id="${code}"></a>`)
  }
})

const tooLong = status(400, {}, "This model's maximum context length is 4096 tokens")

describe("other models and hosts", () => {
  test.each([
    ["a host that finds the request at fault", status(400)],
    ["a prompt that is too long", tooLong],
    ["moderation", status(403)],
    ["a rate limit", status(429)],
    ["an outage", status(500)],
    ["an unknown model", status(404)],
    ["our account", status(402)],
  ] as const)("after %s the next model is tried", async (_name, answer) => {
    const gateway = await routed({ a: answer, b: good() }, { models: { "acme/big": ["b"] } })
    const response = await gateway.chat(ask({ models: ["acme/big"] }))
    expect([response.status, response.headers.get("x-gw-host")]).toEqual([200, "b"])
  })

  test("of one model, after a prompt that is too long, only hosts with a longer context are tried", async () => {
    const change = { hosts: { c: { context_length: 100_000 } } }
    const gateway = await routed({ a: tooLong, b: good(), c: good() }, { change })
    expect((await gateway.chat(ask())).headers.get("x-gw-host")).toBe("c")
    expect(gateway.called()).toEqual(["a", "c"])
  })

  test("of one model, after another fault of the request, no host is tried", async () => {
    const change = { hosts: { b: { context_length: 100_000 } } }
    const gateway = await routed({ a: status(400), b: good() }, { change })
    expect((await gateway.chat(ask())).status).toBe(400)
    expect(gateway.called()).toEqual(["a"])
  })

  test("a prompt that is too long for every host is said to be that", async () => {
    const gateway = await routed({ a: tooLong, b: tooLong })
    const { code, metadata } = await errorOf(await gateway.chat(ask()))
    expect([code, metadata?.["error_type"]]).toEqual([400, "context_length_exceeded"])
  })
})
