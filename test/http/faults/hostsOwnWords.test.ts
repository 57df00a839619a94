/** What hosts say with the status of a request's fault, and is none: which host and which key is called next. docs/guarantees.md#g10 */
import { describe, expect, setDefaultTimeout, test } from "bun:test"
import { eventStreamMessage } from "../../../src/testing/eventStream.ts"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import { configFor, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"
import { unaryScene } from "../../support/hosts/unaryHosts.ts"

setDefaultTimeout(1_800_000)

closeAfterEach()

const ask = (stream: boolean) => ({ model: "acme/small", messages: [{ role: "user", content: "hi" }], stream })

const invalid = (message: string, code?: string) => ({
  error: { type: "invalid_request_error", message, ...(code === undefined ? {} : { code }) },
})

const capped = invalid(
  "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.",
)
const page = () =>
  new Response("<html><body>405 Not Allowed</body></html>", { status: 405, headers: { "content-type": "text/html" } })

type Row = readonly [name: string, answer: () => Response, reason: string]

const rows: ReadonlyArray<Row> = [
  ["a spend limit at Anthropic", () => Response.json(capped, { status: 400 }), "account"],
  [
    "a disabled organization",
    () => Response.json(invalid("This organization has been disabled."), { status: 400 }),
    "account",
  ],
  ["OpenAI's hard limit", () => Response.json(invalid("no", "billing_hard_limit_reached"), { status: 400 }), "account"],
  ["an empty balance", () => Response.json({ error: { message: "Insufficient Balance" } }, { status: 400 }), "account"],
  [
    "an empty balance in a 200",
    () => Response.json({ error: { message: "Insufficient Balance", code: 400 } }),
    "account",
  ],
  [
    "a generation that failed, 424",
    () => Response.json({ error: "it failed", error_type: "generation" }, { status: 424 }),
    "overloaded",
  ],
  ["a wrong base_url, 405", page, "malformed"],
  ["a balancer's page, 400", () => new Response("<html>400</html>", { status: 400 }), "malformed"],
  ...[407, 409, 410, 421, 425, 451, 498, 499].map(
    (status): Row => [
      `${status}`,
      () => Response.json(invalid("no"), { status }),
      [409, 425, 498, 499].includes(status) ? "overloaded" : "malformed",
    ],
  ),
  ["a model that is gone", () => Response.json(invalid("no", "model_decommissioned"), { status: 400 }), "not-found"],
  [
    "a model that is not to be had",
    () => Response.json(invalid("no", "model_not_available"), { status: 400 }),
    "not-found",
  ],
]

/** Hosts are not left alone, so that each row finds them as the one before. */
const limits = {
  retries: 1,
  breaker: { consecutive_failures: 0, error_rate: 0 },
  cooldown: { account_s: 0, not_found_s: 0, rate_limit_s: 0, max_s: 0 },
}

test("each of them was the caller's fault, and the second host was not called", async () => {
  let answer = () => wholeAnswer("unset")
  const first = opened(scriptedHost(() => answer()))
  const second = opened(scriptedHost(() => wholeAnswer("fine")))
  const gateway = await startWatched({ config: { ...configFor({ first, second }), limits } })
  for (const [name, refuse, reason] of rows) {
    answer = refuse
    for (const stream of [false, true]) {
      const before = [first.calls.length, second.calls.length]
      const response = await gateway.chat({ ...ask(stream), provider: { order: ["first", "second"] } })
      expect([name, response.status, (await response.text()).includes("fine")]).toEqual([name, 200, true])
      expect([first.calls.length, second.calls.length]).toEqual(before.map((count) => count + 1))
    }
    // Alone: the operator sees what it was, and the caller is not blamed.
    const response = await gateway.chat({ ...ask(false), provider: { only: ["first"] } })
    expect([name, response.status]).toEqual([name, reason === "not-found" ? 404 : 502])
    await response.text()
    expect([name, gateway.log().includes(`reason=${reason}`) || gateway.log().includes(`"${reason}"`)]).toEqual([
      name,
      true,
    ])
  }
  expect(gateway.log()).not.toContain("request_refused_by_host")
})

test("a spend limit of one key: the second key was not used", async () => {
  const host = opened(
    scriptedHost((_body, request) =>
      request.headers.get("authorization") === "Bearer key-one"
        ? Response.json(capped, { status: 400 })
        : wholeAnswer("fine"),
    ),
  )
  const { providers, models } = configFor({ acme: host })
  const { api_key: _, ...address } = Object(providers["acme"])
  const gateway = await startWatched({
    config: { providers: { acme: { ...address, api_keys: ["key-one", "key-two"].map((key) => ({ key })) } }, models },
  })
  for (let count = 0; count < 6; count++) expect((await gateway.chat(ask(false))).status).toBe(200)
  const used = host.calls.map(({ request }) => request.headers.get("authorization"))
  // It rests, once it has refused.
  expect(used.filter((one) => one === "Bearer key-one").length).toBeLessThanOrEqual(1)
})

test("a bad call that the model wrote stays a 400, and no other host of the model is asked", async () => {
  const answer = () => Response.json(invalid("Failed to call a function.", "tool_use_failed"), { status: 400 })
  const first = opened(scriptedHost(answer))
  const second = opened(scriptedHost(() => wholeAnswer("fine")))
  const gateway = await startWatched({ config: configFor({ first, second }) })
  expect((await gateway.chat({ ...ask(false), provider: { order: ["first", "second"] } })).status).toBe(400)
  expect(second.calls).toHaveLength(0)
})

test.each<[string, Readonly<Record<string, string>>, string, string]>([
  ["retry-after-ms", { "retry-after-ms": "41000" }, "no", "41"],
  ["a used-up bucket", { "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": "1m26.4s" }, "no", "87"],
  ["the sentence", {}, "Please try again in 1m26.4s.", "87"],
  ["a day", { "x-ratelimit-reset-requests-day": "33011.38" }, "no", "300"],
  ["garbage", { "x-ratelimit-reset": "later" }, "no", "5"],
])("a wait in another spelling than Retry-After: %s", async (_name, headers, message, seconds) => {
  const host = opened(scriptedHost(() => Response.json({ error: { message } }, { status: 429, headers })))
  const gateway = await startWatched({ config: configFor({ acme: host }) })
  const response = await gateway.chat(ask(false))
  expect([response.status, response.headers.get("retry-after")]).toEqual([429, seconds])
})

const sse = (data: object) => [`data: ${JSON.stringify(data)}\n\n`, "text/event-stream"] as const
const exception = (message: string) =>
  [
    eventStreamMessage(
      { ":message-type": "exception", ":exception-type": "validationException" },
      JSON.stringify({ message }),
    ),
    "application/vnd.amazon.eventstream",
  ] as const

type InStream = (message: string) => readonly [body: string | Uint8Array, type: string]

/** An error as the first event of an answer that began well. */
const inStream: ReadonlyArray<readonly [plugin: string, settings: object, written: InStream]> = [
  [
    "google-ai-studio",
    { api_key: "key-of-host" },
    (message) => sse({ error: { code: 400, message, status: "INVALID_ARGUMENT" } }),
  ],
  [
    "anthropic",
    { api_key: "key-of-host" },
    (message) => {
      const error = { type: "error", error: { type: "api_error", message } }
      return [`event: error\ndata: ${JSON.stringify(error)}\n\n`, "text/event-stream"]
    },
  ],
  ["cohere", { api_key: "key-of-host" }, (message) => sse({ error: { code: "invalid_request", message } })],
  ["ollama", {}, (message) => [`${JSON.stringify({ error: message })}\n`, "application/x-ndjson"]],
  [
    "bedrock",
    { region: "eu-west-1", access_key_id: "AKIDEXAMPLE", secret_access_key: "wJalrXUtnFEMI-own-EXAMPLEKEY" },
    exception,
  ],
]

describe.each(inStream)("the first event of a stream of %s is an error", (plugin, more, written) => {
  const sceneOf = async () => {
    let message = ""
    const host = opened(
      scriptedHost(() => {
        const [body, type] = written(message)
        return new Response(typeof body === "string" ? body : Buffer.from(body), { headers: { "content-type": type } })
      }),
    )
    const other = opened(scriptedHost(() => wholeAnswer("fine")))
    const { providers, models } = configFor({ host, other })
    const base_url = host.url.replace("/v1", "")
    const changed = { ...providers, host: { plugin, base_url, network: "private" as const, ...more } }
    const gateway = await startWatched({ config: { providers: changed, models, limits } })
    const post = (text: string, stream: boolean, provider: object) => {
      message = text
      return gateway.chat({ ...ask(stream), provider })
    }
    return { gateway, other, post }
  }

  test("about our account: the next host is called, and nothing of it is shown", async () => {
    const { other, post } = await sceneOf()
    const said = "Your account org-77 is suspended, please recharge."
    const answer = await post(said, true, { only: ["host"] })
    expect(answer.status).toBe(502)
    expect(await answer.text()).not.toContain("org-77")
    expect((await post(said, true, { order: ["host", "other"] })).status).toBe(200)
    expect(other.calls).toHaveLength(1)
  })

  test("about a prompt that is too long: 400 in the host's words", async () => {
    const { post } = await sceneOf()
    const said = "prompt is too long: 9000 tokens > 8192 maximum context length"
    const answer = await post(said, true, { only: ["host"] })
    expect(answer.status).toBe(400)
    const text = await answer.text()
    expect(text).toContain(`host rejected the request: ${said}`)
    expect(text).toContain('"error_type":"context_length_exceeded"')
  })
})

test.each(["embeddings", "rerank"] as const)(
  "%s: a spend limit was the client's fault, and the second host was not called",
  async (operation) => {
    const fine =
      operation === "embeddings"
        ? { data: [{ index: 0, embedding: [0.5] }], usage: { prompt_tokens: 1, total_tokens: 1 } }
        : { results: [{ index: 0, relevance_score: 0.5 }], usage: { total_tokens: 1 } }
    const scene = opened(
      await unaryScene(operation, {
        first: () => Response.json(capped, { status: 400 }),
        second: () => Response.json(fine),
      }),
    )
    const asked = operation === "embeddings" ? { input: "hi" } : { query: "hi", documents: ["a"] }
    const response = await scene.post({ ...asked, provider: { order: ["first", "second"] } })
    expect(response.status).toBe(200)
    expect(scene.hosts["second"]?.calls).toHaveLength(1)
    const alone = await scene.post({ ...asked, provider: { only: ["first"] } })
    // It rests since it refused.
    expect([502, 503]).toContain(alone.status)
    expect(await alone.text()).not.toContain("usage limits")
  },
)
