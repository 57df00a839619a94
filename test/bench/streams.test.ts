/**
 * A streamed answer of the gateway passes the check of the bench, so that a change of the answer cannot break the bench
 * unnoticed.
 */
import { expect, test } from "bun:test"
import { messagesScript, models, requestBody, streamScript } from "../../bench/load/script.ts"
import { problemOf, readStream } from "../../bench/load/streams.ts"
import { closeAfterEach, opened, startWatched, type Watched } from "../support/gateways/watched.ts"
import { scriptedHost } from "../support/hosts/host.ts"

closeAfterEach()

const model = "bench/slow"
const pace = models[model]

const hosts = {
  "openai-compatible": streamScript(pace),
  anthropic: messagesScript(pace),
} as const

/** A gateway whose host sends the stream of the bench, without its pauses. */
const scene = (plugin: keyof typeof hosts): Promise<Watched> => {
  const { head, chunks, tail } = hosts[plugin]
  const host = opened(
    scriptedHost(
      () => new Response(Buffer.concat([head, ...chunks, tail]), { headers: { "content-type": "text/event-stream" } }),
    ),
  )
  return startWatched({
    config: {
      providers: { host: { plugin, base_url: host.url, network: "private", api_key: "k" } },
      models: [{ id: model, context_length: 100_000, hosts: [{ provider: "host", model: "upstream" }] }],
    },
  })
}

const plugins = ["openai-compatible", "anthropic"] as const

test.each(plugins)("as the bench asks for it, with include_usage, at %s", async (plugin) => {
  const { url, key } = await scene(plugin)
  const address = { url: `${url}/chat/completions`, key, model } as const
  const text = await readStream(address, AbortSignal.timeout(60_000), () => {})
  expect(problemOf(text, model)).toBeUndefined()
})

test.each(plugins)("without include_usage, at %s", async (plugin) => {
  const gateway = await scene(plugin)
  const { stream_options: _, ...body } = JSON.parse(requestBody(model, true))
  const text = await (await gateway.chat(body)).text()
  expect(problemOf(text, model)).toBeUndefined()
  // The check sees what a client would: a usage that comes twice, a lost word, a stream that broke off.
  const usage = 'data: {"choices":[],"usage":{"total_tokens":1}}\n\n'
  expect(problemOf(text.replace("data: [DONE]", `${usage}data: [DONE]`), model)).toBe("1 finishes, 2 usages")
  expect(problemOf(text.replace('" gate"', '" weir"'), model)).toContain("another text")
  expect(problemOf(text.replace("data: [DONE]\n\n", ""), model)).toContain("does not end with [DONE]")
})
