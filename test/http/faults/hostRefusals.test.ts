/** What only one host refuses: the next host of the model is called, and no host is blamed. docs/guarantees.md#g10 */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { closeAfterEach, opened, startWatched, type Watched } from "../../support/gateways/watched.ts"
import type { ScriptedHost } from "../../support/hosts/host.ts"
import { configFor, scriptedHost, sse, wholeAnswer } from "../../support/hosts/host.ts"

setDefaultTimeout(1_800_000)

closeAfterEach()

type Answer = () => Response
type Row = readonly [name: string, answer: Answer, errorType: string, said: string]

const refusal =
  (error: object, status = 400): Answer =>
  () =>
    Response.json({ error }, { status })
const openAi = (message: string, code: string | null, more: object = {}, status = 400): Answer =>
  refusal({ message, type: "invalid_request_error", param: null, code, ...more }, status)

const filtered =
  "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry."
const blocked = "Response content blocked by label 'MultiSeverity_ViolenceScore'."
const foundry = {
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1_789_466_192,
  model: "",
  choices: [
    {
      index: 0,
      message: { role: "assistant", content: "" },
      finish_reason: "content_filter",
      content_filter_results: { error: { code: "content_filter", message: blocked } },
    },
  ],
  usage: { prompt_tokens: 55, total_tokens: 55 },
}
const ofTools =
  "Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 287 instead."
const ofImages = "Invalid content type. image_url is only supported by certain models."
const ofOperation =
  "The chatCompletion operation does not work with the specified model, gpt-5.1-codex. Please choose different model and try again."
const inResponsesOnly = "This model is only supported in v1/responses and not in v1/chat/completions."

const rows: ReadonlyArray<Row> = [
  [
    "Azure's filter of prompts",
    refusal({
      message: filtered,
      type: null,
      param: "prompt",
      code: "content_filter",
      status: 400,
      innererror: { code: "ResponsibleAIPolicyViolation" },
    }),
    "content_policy_violation",
    filtered,
  ],
  [
    "Azure's filter by its other name",
    refusal({ message: filtered, code: "ResponsibleAIPolicyViolation" }),
    "content_policy_violation",
    filtered,
  ],
  ["Foundry's filter of answers", () => Response.json(foundry, { status: 400 }), "content_policy_violation", blocked],
  [
    "DeepSeek's filter",
    openAi("Content Exists Risk", "invalid_request_error"),
    "content_policy_violation",
    "Content Exists Risk",
  ],
  [
    "Alibaba's filter",
    openAi("Input text data may contain inappropriate content.", "data_inspection_failed"),
    "content_policy_violation",
    "Input text data may contain inappropriate content.",
  ],
  ["OpenAI's bound on tools", openAi(ofTools, "array_above_max_length", { param: "tools" }), "too_many_tools", ofTools],
  [
    "Groq's bound on tools",
    openAi("'tools' : maximum number of items is 128", null),
    "too_many_tools",
    "'tools' : maximum number of items is 128",
  ],
  ["a model without images", openAi(ofImages, null), "unsupported_feature", ofImages],
  [
    "a model without tools in streams",
    () => Response.json({ message: "This model doesn't support tool use in streaming mode." }, { status: 400 }),
    "unsupported_feature",
    "This model doesn't support tool use in streaming mode.",
  ],
  [
    "a parameter that is not known",
    () =>
      Response.json(
        {
          detail: [{ type: "extra_forbidden", loc: ["body", "stream_options"], msg: "Extra inputs are not permitted" }],
        },
        { status: 422 },
      ),
    "unsupported_feature",
    "Extra inputs are not permitted",
  ],
  [
    "an operation at Azure",
    refusal({ code: "OperationNotSupported", message: ofOperation }),
    "unsupported_operation",
    ofOperation,
  ],
  [
    "the same, 404",
    refusal({ code: "OperationNotSupported", message: ofOperation }, 404),
    "unsupported_operation",
    ofOperation,
  ],
  [
    "an operation at OpenAI",
    openAi(inResponsesOnly, null, { param: "model" }, 404),
    "unsupported_operation",
    inResponsesOnly,
  ],
  [
    "a prompt that is too long",
    openAi("maximum context length is 8192 tokens", "context_length_exceeded"),
    "context_length_exceeded",
    "maximum context length is 8192 tokens",
  ],
]

/** One failure more than these, and a host that is blamed is not called. */
const limits = { retries: 1, breaker: { consecutive_failures: 2, error_rate: 0 }, commit_after_ms: 600_000 }

/** Hosts `first`, `second` and `third`, called in this order; the last two have a longer context. */
const sceneOf = async () => {
  const fine: Answer = () => wholeAnswer("fine")
  const answers = { first: fine, second: fine, third: fine }
  const hosts = {
    first: opened(scriptedHost(() => answers.first())),
    second: opened(scriptedHost(() => answers.second())),
    third: opened(scriptedHost(() => answers.third())),
  }
  const { providers, models } = configFor(hosts)
  const longer = models.map((model) => ({
    ...model,
    context_length: 16_384,
    hosts: model.hosts.map((host) => ({ ...host, context_length: host.provider === "first" ? 8192 : 16_384 })),
  }))
  const gateway = await startWatched({ config: { providers, models: longer, limits } })
  return { gateway, hosts, answers }
}

const order = { order: ["first", "second", "third"] }
const callsOf = (hosts: Readonly<Record<string, ScriptedHost>>) => Object.values(hosts).map(({ calls }) => calls.length)

const forms = {
  chat: { path: "/chat/completions", prompt: { messages: [{ role: "user", content: "hi" }] } },
  messages: { path: "/messages", prompt: { messages: [{ role: "user", content: "hi" }], max_tokens: 20 } },
  responses: { path: "/responses", prompt: { input: "hi" } },
}

const post = (gateway: Watched, form: keyof typeof forms, stream: boolean, provider: object) => {
  const { path, prompt } = forms[form]
  return gateway.call(path, {
    method: "POST",
    headers: { authorization: `Bearer ${gateway.key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "acme/small", ...prompt, stream, provider }),
  })
}

test("each of them ended the request: the next host is called, and the refusing one stays in use", async () => {
  const { gateway, hosts, answers } = await sceneOf()
  for (const [name, answer] of rows) {
    answers.first = answer
    for (const form of ["chat", "messages", "responses"] as const) {
      for (const stream of [false, true]) {
        const before = callsOf(hosts)
        const response = await post(gateway, form, stream, order)
        const isFine = (await response.text()).includes("fine")
        expect([name, form, stream, response.status, isFine]).toEqual([name, form, stream, 200, true])
        expect([name, form, stream, ...callsOf(hosts).map((count, at) => count - (before[at] ?? 0))]).toEqual([
          name,
          form,
          stream,
          1,
          1,
          0,
        ])
      }
    }
  }
})

test("no other host takes it: a third one is not called, and the client gets the first host's sentence and its kind", async () => {
  const { gateway, hosts, answers } = await sceneOf()
  for (const [name, answer, errorType, said] of rows) {
    answers.first = answer
    for (const form of ["chat", "messages", "responses"] as const) {
      const isLong = errorType === "context_length_exceeded"
      // Of prompts that are too long the last host's sentence counts, since its context is the longest.
      answers.second = isLong ? answer : refusal({ message: "tool calls are not supported" })
      const before = callsOf(hosts)
      const response = await post(gateway, form, true, order)
      const text = await response.text()
      expect([name, form, response.status]).toEqual([name, form, 400])
      expect([name, form, text.includes(JSON.stringify(said).slice(1, -1))]).toEqual([name, form, true])
      expect([name, form, text.includes(`"error_type":"${errorType}"`)]).toEqual([name, form, true])
      expect(callsOf(hosts).map((count, at) => count - (before[at] ?? 0))).toEqual([1, 1, 0])
      if (form === "messages") expect(text).toContain('"type":"invalid_request_error"')
    }
  }
})

test("a host that another failure keeps from answering does not hide the refusal", async () => {
  const { gateway, answers } = await sceneOf()
  answers.first = refusal({ message: filtered, code: "content_filter" })
  answers.second = () => new Response(null, { status: 500 })
  answers.third = () => new Response(null, { status: 500 })
  const response = await post(gateway, "chat", false, order)
  expect([response.status, (await response.text()).includes("content management policy")]).toEqual([400, true])
})

describe("a prompt that is too long, reported in a stream of status 200", () => {
  const lmStudio =
    "Trying to keep the first 15857 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens"
  const tgi = "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000"
  const kronk = "unable to process request: the context window is full. Please reduce the input size"
  const event =
    (data: object): Answer =>
    () =>
      sse([JSON.stringify(data)])
  const named =
    (data: object): Answer =>
    () =>
      new Response(`event: error\ndata: ${JSON.stringify(data)}\n\n`, {
        headers: { "content-type": "text/event-stream" },
      })

  test.each<[string, string, Answer]>([
    ["LM Studio", lmStudio, named({ error: { message: lmStudio } })],
    [
      "Venice",
      "prompt is too long for this model",
      event({ error_type: "server_error", error_message: "prompt is too long for this model" }),
    ],
    ["Hugging Face's servers", tgi, event({ error: tgi, error_type: "validation" })],
    ["Kronk", kronk, event({ error: { code: "server_error", message: kronk, type: "server_error" } })],
    ["a server that says 500", kronk, event({ error: { code: 500, message: kronk } })],
  ])("%s", async (_name, said, answer) => {
    const { gateway, hosts, answers } = await sceneOf()
    answers.first = answer
    // More often than a host may fail.
    for (const form of ["chat", "messages", "responses", "chat"] as const) {
      const fine = await post(gateway, form, true, order)
      expect([form, fine.status, (await fine.text()).includes("fine")]).toEqual([form, 200, true])
      const response = await post(gateway, form, true, { only: ["first"] })
      const text = await response.text()
      expect([form, response.status, text.includes('"error_type":"context_length_exceeded"')]).toEqual([
        form,
        400,
        true,
      ])
      expect(text).toContain(JSON.stringify(said).slice(1, -1))
      expect(text).toContain(form === "messages" ? "prompt is too long" : "context_length_exceeded")
    }
    expect(callsOf(hosts)).toEqual([8, 4, 0])
  })
})
