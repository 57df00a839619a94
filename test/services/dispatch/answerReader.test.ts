/** What is read of the whole answer of a host, and how it is written for the caller. docs/guarantees.md#g18 */
import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import { HostFailed } from "../../../src/domain/failures/Failure.ts"
import type { EmbeddingsRequest } from "../../../src/domain/request/embeddings.ts"
import type { AnswerWriter } from "../../../src/formats/AnswerWriter.ts"
import { embeddingsProtocol } from "../../../src/formats/embeddings/embeddingsHost.ts"
import { chatReader, unaryReader } from "../../../src/services/dispatch/AnswerReader.ts"
import type { Begun } from "../../../src/services/dispatch/AttemptStart.ts"
import { closeServices, hostsConfig } from "../../support/clocks/services.ts"
import { trying } from "../../support/gateways/trying.ts"
import { requestWith } from "../../support/recordings/recordings.ts"

closeServices()

const head = { status: 200, headers: new Headers() }
const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 }
const said = (message: object, more: object = {}) => ({
  ...{ id: "one", object: "chat.completion", created: 1, model: "small", usage },
  choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", ...message } }],
  ...more,
})

const tool = { type: "function", function: { name: "weather", parameters: { type: "object" } } }

/** An attempt that has begun, by default without tools. */
const begunWith = async (body: Record<string, unknown> = {}): Promise<Begun> => {
  const { ask } = await trying(await hostsConfig({ a: {} }))
  const { promise, resolve } = Promise.withResolvers<Begun>()
  void ask(
    (_host, begun) => {
      resolve(begun)
      return Effect.never
    },
    { request: requestWith(body) },
  )
  return promise
}

const readChat = async (body: unknown, form = "chat", asked?: Record<string, unknown>) => {
  const written: Array<Parameters<AnswerWriter>> = []
  const reader = chatReader(form, (...args) => {
    written.push(args)
    return () => "the body"
  })
  const read = reader(await begunWith(asked), head, body)
  return { read, written }
}

const delivered = async (...asked: Parameters<typeof readChat>) => {
  const { read } = await readChat(...asked)
  if (read instanceof HostFailed) throw read
  return read.delivered
}

describe("a chat's answer", () => {
  test("is delivered with its usage, its bytes and its finish, and written once", async () => {
    const { read, written } = await readChat(said({ content: "héllo" }))
    expect(read).toMatchObject({
      delivered: { outcome: "finished", outputBytes: 6, finishReason: "stop", isAwaited: true },
    })
    expect(read).toMatchObject({
      delivered: { usage: { prompt_tokens: 3, completion_tokens: 2 }, showsReasoning: false },
    })
    expect(written).toHaveLength(1)
  })

  test("that cannot be read is the host's failure, and nothing is written", async () => {
    const { read, written } = await readChat({ error: { message: "overloaded" } })
    expect(read).toBeInstanceOf(HostFailed)
    expect(written).toEqual([])
  })

  test("tells whether reasoning is shown", async () => {
    expect((await delivered(said({ content: "yes", reasoning_content: "because" }))).showsReasoning).toBe(true)
  })

  test("tells whether its calls of tools are sound, where the request has tools", async () => {
    const call = (name: string, args: string) =>
      said({ content: null, tool_calls: [{ id: "c", type: "function", function: { name, arguments: args } }] })
    const soundness = async (body: unknown, asked?: Record<string, unknown>) =>
      (await delivered(body, "chat", asked)).areToolCallsSound
    expect(await soundness(call("weather", "{}"), { tools: [tool] })).toBe(true)
    expect(await soundness(call("weather", "{"), { tools: [tool] })).toBe(false)
    expect(await soundness(call("weather", "{"))).toBeUndefined()
  })
})

describe("the answer of an operation without streams", () => {
  const { bounds, routing } = requestWith({})
  const request: EmbeddingsRequest = {
    ...{ operation: "embeddings", stream: false, maxTokens: 0, routing, bounds },
    payload: { model: "acme/small", input: "a" },
  }
  const vectors = { object: "list", model: "m", data: [{ object: "embedding", index: 0, embedding: [0.5] }], usage }

  const readVectors = async (
    body: unknown,
    unary: unknown,
    write: () => (() => string) | HostFailed = () => () => "",
  ) => {
    const begun = await begunWith()
    // The type of the table's protocols is that of all operations at once.
    const endpoint = { ...begun.endpoint, unary } as Begun["endpoint"]
    return { begun, read: unaryReader<"embeddings">(request, write)({ ...begun, endpoint }, head, body) }
  }

  test("is delivered with its usage, and its first event is the whole", async () => {
    const { begun, read } = await readVectors(vectors, embeddingsProtocol())
    expect(read).toMatchObject({ delivered: { outcome: "finished", usage: { prompt_tokens: 3 }, outputBytes: 0 } })
    expect(begun.attempt.latencyMs).toBeNumber()
  })

  test("that cannot be written for the caller is the host's failure", async () => {
    const failure = new HostFailed({ reason: "malformed" })
    const { begun, read } = await readVectors(vectors, embeddingsProtocol(), () => failure)
    expect(read).toBe(failure)
    expect(begun.attempt.latencyMs).toBeUndefined()
  })

  test("of a host that does not serve it is malformed", async () => {
    expect((await readVectors(vectors, undefined)).read).toMatchObject({ reason: "malformed" })
  })
})
