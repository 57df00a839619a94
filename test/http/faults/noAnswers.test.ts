/** Answers with status 200 that are not valid: the host failed, and the next one is called. docs/guarantees.md#g10 */
import { describe, expect, test } from "bun:test"
import { openAccount } from "../../support/gateways/account.ts"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import { chunkOf, type ScriptedHost, scriptedHost, sse, streamAnswer, wholeAnswer } from "../../support/hosts/host.ts"

closeAfterEach()

const usage = { prompt_tokens: 10, completion_tokens: 5 }
const message = (content: unknown) => ({
  choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
  usage,
})
const block = (content: unknown) => ({
  type: "message",
  role: "assistant",
  content,
  stop_reason: "end_turn",
  usage: { input_tokens: 10, output_tokens: 5 },
})
const finish = chunkOf({ delta: {}, finish_reason: "stop" }, { usage })
const delta = (content: unknown) => [chunkOf({ delta: { content }, finish_reason: null }), finish, "[DONE]"]
const named = (event: { readonly type: string }) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`
const begin = { type: "message_start", message: { ...block([]), stop_reason: null } }
const end = [
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 5 } },
  { type: "message_stop" },
]
const blocks = (text: unknown) =>
  new Response(
    [
      begin,
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } },
      ...end,
    ]
      .map(named)
      .join(""),
    { headers: { "content-type": "text/event-stream" } },
  )

type Case = readonly [what: string, plugin: "openai-compatible" | "anthropic", stream: boolean, answer: () => Response]

const none: ReadonlyArray<Case> = [
  ["choices of null", "openai-compatible", false, () => Response.json({ choices: null, usage })],
  ["choices that are an object", "openai-compatible", false, () => Response.json({ choices: {}, usage })],
  [
    "a message of null",
    "openai-compatible",
    false,
    () => Response.json({ choices: [{ message: null, finish_reason: "stop" }] }),
  ],
  ["content that is a number", "openai-compatible", false, () => Response.json(message(7))],
  ["content that is an object", "openai-compatible", false, () => Response.json(message({ text: "hi" }))],
  ["content that is true", "openai-compatible", false, () => Response.json(message(true))],
  ["content of null in the Messages form", "anthropic", false, () => Response.json(block(null))],
  ["content that is a number in the Messages form", "anthropic", false, () => Response.json(block(7))],
  ["a block that is a number", "anthropic", false, () => Response.json(block([7]))],
  ["a text that is a number", "anthropic", false, () => Response.json(block([{ type: "text", text: 7 }]))],
  [
    "chunks with choices of null",
    "openai-compatible",
    true,
    () => sse(['{"choices":null}', JSON.stringify({ choices: null, usage }), "[DONE]"]),
  ],
  ["a delta whose content is a number", "openai-compatible", true, () => sse(delta(7))],
  ["a delta whose content is an object", "openai-compatible", true, () => sse(delta({ text: "hi" }))],
  [
    "a delta that is a text",
    "openai-compatible",
    true,
    () => sse([chunkOf({ delta: "hi", finish_reason: null }), finish, "[DONE]"]),
  ],
  ["a streamed text that is a number", "anthropic", true, () => blocks(7)],
]

const good = (): ScriptedHost =>
  opened(scriptedHost((body) => (body["stream"] === true ? streamAnswer(["fine"]) : wholeAnswer("fine"))))

/** `first` gives this answer; `second`, if there is one, gives a valid one. */
const start = async (plugin: Case[1], answer: () => Response, second: boolean) => {
  const first = opened(scriptedHost(answer))
  const hosts = {
    first: { host: first, plugin },
    ...(second ? { second: { host: good(), plugin: "openai-compatible" } } : {}),
  }
  const pricing = { prompt: "0.000001", completion: "0.000002" }
  const gateway = await startWatched({
    config: {
      providers: Object.fromEntries(
        Object.entries(hosts).map(([slug, one]) => [
          slug,
          { plugin: one.plugin, base_url: one.host.url, network: "private" as const, api_key: `key-of-${slug}` },
        ]),
      ),
      models: [
        {
          id: "acme/small",
          context_length: 8192,
          hosts: Object.keys(hosts).map((provider) => ({ provider, model: "upstream", pricing })),
        },
      ],
    },
  })
  const account = await openAccount(gateway)
  const body = { model: "acme/small", messages: [{ role: "user", content: "hi" }], max_tokens: 10 }
  const ask = (stream: boolean) =>
    gateway.chat(
      { ...body, stream, provider: { order: ["first"] } },
      { headers: { authorization: `Bearer ${account.secret}` } },
    )
  return { ask, account }
}

describe("an invalid answer counted as finished and empty", () => {
  test.each(none)("%s (%s, stream: %p): the next host answers", async (_what, plugin, stream, answer) => {
    const { ask, account } = await start(plugin, answer, true)
    const response = await ask(stream)
    expect([response.status, response.headers.get("x-gw-host")]).toEqual([200, "second"])
    expect(await response.text()).toContain("fine")
    expect(await account.rows()).toMatchObject([{ host: "second" }])
  })

  test.each(none)(
    "%s (%s, stream: %p): as the only host it is 502, free of charge",
    async (_what, plugin, stream, answer) => {
      const { ask, account } = await start(plugin, answer, false)
      const response = await ask(stream)
      expect(response.status).toBe(502)
      expect(await response.json()).toMatchObject({ error: { metadata: { error_type: "provider_unavailable" } } })
      expect([await account.total(), await account.reserved(), await account.rows()]).toEqual([0n, 0n, []])
    },
  )
})
