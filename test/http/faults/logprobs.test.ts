/** Every choice has every documented member, whichever protocol its host speaks. */
import { expect, test } from "bun:test"
import { wholeBodyOf } from "../../support/clients/answers.ts"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import { scriptedHost } from "../../support/hosts/host.ts"

closeAfterEach()

test("the choice of a host that speaks the Messages form had no logprobs: they are null", async () => {
  const host = opened(
    scriptedHost(() =>
      Response.json({
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: "upstream",
        content: [{ type: "text", text: "Hello." }],
        stop_reason: "end_turn",
        stop_sequence: null,
        usage: { input_tokens: 10, output_tokens: 5 },
      }),
    ),
  )
  const pricing = { prompt: "0.000001", completion: "0.000002" }
  const gateway = await startWatched({
    config: {
      providers: { anthropic: { base_url: host.url, network: "private", api_key: "key-of-anthropic" } },
      models: [
        { id: "acme/small", context_length: 8192, hosts: [{ provider: "anthropic", model: "upstream", pricing }] },
      ],
    },
  })
  const { choices } = await wholeBodyOf(
    await gateway.chat({ model: "acme/small", messages: [{ role: "user", content: "hi" }] }),
  )
  expect(choices).toHaveLength(1)
  expect(Object.keys(choices[0] ?? {}).toSorted()).toEqual(
    ["finish_reason", "index", "logprobs", "message", "native_finish_reason"].toSorted(),
  )
  expect(choices[0]).toMatchObject({ index: 0, logprobs: null, finish_reason: "stop" })
})
