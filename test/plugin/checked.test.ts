/**
 * A plugin hook that throws or returns something wrong is a fault of that plugin, by name, and a failure of its host.
 */
import { describe, expect, test } from "bun:test"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import {
  type ChatResponse,
  chatProtocol,
  type Decoder,
  defineProvider,
  HostFailed,
  httpError,
  type Protocol,
  type Provider,
  type SignContext,
  Unsupported,
} from "headgate/plugin"
import { decodeEmbeddings } from "../../src/formats/embeddings/embeddingsRequest.ts"
import { decodeRerank } from "../../src/formats/rerank/rerankRequest.ts"
import { checkedProvider } from "../../src/plugin/checks/checked.ts"
import { PluginFault } from "../../src/plugin/checks/PluginFault.ts"
import { hostFor, requestWith } from "../support/recordings/recordings.ts"

const chat = chatProtocol()
const host = hostFor("m")
const request = requestWith({ messages: [{ role: "user", content: "hi" }] })
const head = { status: 200, headers: new Headers() }
const context = { request, host }
const body = { choices: [{ index: 0, message: { role: "assistant", content: "a" }, finish_reason: "stop" }] }
const event = { choices: [{ index: 0, delta: { content: "a" }, finish_reason: null }] }

const load = (more: Partial<Provider>) => {
  const provider = { protocols: { chat }, error: httpError, ...more }
  return checkedProvider(
    defineProvider({ id: "acme", name: "Acme", config: Schema.Struct({}), load: () => provider }),
    provider,
  )
}

const checked = (more: Partial<Protocol>) => {
  const { chat: protocol } = load({ protocols: { chat: { ...chat, ...more } } }).protocols
  if (protocol === undefined) throw new Error("no protocol")
  return protocol
}

/** The host's failure, and the message of the fault behind it. */
const faultOf = (failure: unknown): string => {
  expect(failure).toBeInstanceOf(HostFailed)
  expect(failure).toMatchObject({ reason: "plugin", cause: { _tag: "PluginFault", plugin: "acme" } })
  return failure instanceof HostFailed && failure.cause instanceof PluginFault ? failure.cause.message : ""
}

// A plugin in JavaScript can return what the compiler would refuse.
const wrongly = <A>(value: unknown): A => value as A

const throwing = () => {
  throw new TypeError("no disk\nand more lines")
}

describe("a plugin without faults", () => {
  test("is unchanged", () => {
    const { chat: protocol, ...others } = load({}).protocols
    expect(others).toEqual({})
    expect(protocol).toMatchObject({ framing: "sse", transparent: true })
    expect(protocol?.encode(request, host)).toEqual(chat.encode(request, host))
    expect(protocol?.decode(head, body, context)).toEqual(chat.decode(head, body, context))
    const decoder = protocol?.decoder(head, context)
    expect(decoder?.event("", event)).toEqual(chat.decoder(head, context).event("", event))
    expect(decoder?.end()).toEqual([])
    expect(decoder?.done).toBeUndefined()
    expect(load({}).error(401, head.headers, "")).toEqual(httpError(401, head.headers, ""))
  })

  test("may refuse: its failures and refusals pass through", () => {
    const failure = new HostFailed({ reason: "overloaded" })
    const refusal = Either.left(new Unsupported({ path: "messages[0]", reason: "no" }))
    const refusing = { event: () => failure, end: () => failure, done: () => true }
    const protocol = checked({ encode: () => refusal, decode: () => failure, decoder: () => refusing })
    expect(protocol.encode(request, host)).toBe(refusal)
    expect(protocol.decode(head, body, context)).toBe(failure)
    const decoder = protocol.decoder(head, context)
    expect([decoder.event("", event), decoder.end(), decoder.done?.()]).toEqual([failure, failure, true])
  })
})

describe("toolsBy", () => {
  const named = (toolsBy: () => unknown) => load({ toolsBy: () => wrongly(toolsBy()) }).toolsBy?.(host)

  test("names one of the protocols, or none", () => {
    expect([named(() => "chat"), named(() => undefined)]).toEqual(["chat", undefined])
  })

  test.each<[string, () => unknown]>([
    ["the name of no protocol", () => "responses"],
    ["the name of a member that every object has", () => "constructor"],
    ["a number", () => 5],
    ["a promise", () => Promise.resolve("chat")],
    ["a throw", throwing],
  ])("that gives %s counts as none", (_, toolsBy) => {
    expect(named(toolsBy)).toBeUndefined()
  })
})

describe("encode", () => {
  const right = (encoded: unknown) => Either.right(wrongly<never>(encoded))
  const sent = { path: "/chat", body: "{}" }
  test.each<[unknown, string]>([
    [undefined, "must return an Either of a request"],
    [sent, "must return an Either of a request"],
    [Promise.resolve(), "must return an Either of a request, not a promise"],
    [Either.left("no audio"), "must return an Unsupported on the left"],
    [right(null), "must return a request with path and body"],
    [right({ body: "{}" }), "must return a request whose path begins with a slash"],
    [right({ path: "chat", body: "{}" }), "must return a request whose path begins with a slash"],
    [right({ path: "/chat", body: {} }), "must return a request whose body is text or bytes"],
    [right({ ...sent, method: "PUT" }), "must return a request whose method is POST or GET"],
    [right({ ...sent, headers: [] }), "must return a request whose headers are an object"],
    [right({ ...sent, headers: { "x-a": 1 } }), "must return a request whose header x-a is text"],
    [right({ ...sent, headers: { "X-Api-Key": "a" } }), 'names are tokens in lower case, not "X-Api-Key"'],
    [right({ ...sent, dropped: "seed" }), "must return a request whose dropped is a list of names"],
  ])("that returns %j", (encoded, says) => {
    const failure = Either.getLeft(checked({ encode: () => wrongly(encoded) }).encode(request, host))
    const fault = faultOf("value" in failure ? failure.value : undefined)
    expect(fault).toStartWith("acme.protocols.chat.encode must return ")
    expect(fault).toContain(says)
  })

  test("that throws", () => {
    const failure = Either.getLeft(checked({ encode: throwing }).encode(request, host))
    expect(faultOf("value" in failure ? failure.value : undefined)).toBe(
      'acme.protocols.chat.encode threw "TypeError: no disk"',
    )
  })
})

describe("decode", () => {
  const message = { role: "assistant", content: "a" }
  const choice = { index: 0, finish_reason: "stop", native_finish_reason: "stop", message }
  const whole = (more: object) => ({ choices: [{ ...choice, ...more }] })
  const images = [{ type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } }]

  test("that gives images passes", () => {
    const answer = wrongly<ChatResponse>(whole({ message: { ...message, images } }))
    expect(checked({ decode: () => answer }).decode(head, body, context)).toBe(answer)
    const chunks = wrongly<[]>([{ choices: [{ index: 0, delta: { images }, finish_reason: null }] }])
    const decoder = checked({ decoder: () => ({ event: () => chunks, end: () => [] }) }).decoder(head, context)
    expect(decoder.event("", event)).toBe(chunks)
  })

  test.each<[unknown, string]>([
    [undefined, "a ChatResponse or a HostFailed"],
    [null, "a ChatResponse or a HostFailed"],
    [Promise.resolve({ choices: [choice] }), "a ChatResponse or a HostFailed, not a promise"],
    [{}, "an answer whose choices are a list of at least one, not nothing"],
    [{ choices: null }, "an answer whose choices are a list of at least one, not null"],
    [{ choices: [] }, "an answer whose choices are a list of at least one, not an empty list"],
    [{ choices: [choice, 7] }, "an answer whose choices[1] is an object"],
    [whole({ index: "0" }), "choices[0].index is a number"],
    [whole({ finish_reason: "STOP" }), 'choices[0].finish_reason is a FinishReason or null, not "STOP"'],
    [whole({ finish_reason: "my dear" }), "choices[0].finish_reason is a FinishReason or null, not a text"],
    [whole({ finish_reason: undefined }), "choices[0].finish_reason is a FinishReason or null"],
    [whole({ native_finish_reason: undefined }), "choices[0].native_finish_reason is text or null"],
    [whole({ message: 7 }), "choices[0].message is an object"],
    [whole({ message: {} }), "choices[0].message.content is text or null"],
    [whole({ message: { ...message, content: 7 } }), "choices[0].message.content is text or null, not a number"],
    [whole({ message: { ...message, images: "png" } }), "choices[0].message.images are a list of parts with type"],
    [whole({ message: { ...message, images: [{ image_url: { url: "a" } }] } }), "image_url.url as text"],
    [whole({ message: { ...message, images: [{ type: "image_url", image_url: {} }] } }), "image_url.url as text"],
    [whole({ message: { ...message, reasoning: {} } }), "choices[0].message.reasoning is text or null"],
    [whole({ message: { ...message, tool_calls: {} } }), "choices[0].message.tool_calls are a list"],
    [whole({ message: { ...message, tool_calls: [{ id: "a" }] } }), "choices[0].message.tool_calls are a list"],
    [{ choices: [choice], usage: 7 }, "an answer whose usage is an object, not a number"],
    [{ choices: [choice], usage: { prompt_tokens_details: 7 } }, "usage.prompt_tokens_details is an object"],
  ])("that returns %j", (answer, says) => {
    const fault = faultOf(checked({ decode: () => wrongly<ChatResponse>(answer) }).decode(head, body, context))
    expect(fault).toStartWith("acme.protocols.chat.decode must return ")
    expect(fault).toContain(says)
  })

  test("that throws, or whose answer has a getter that throws: it was once a defect after the answer was charged", () => {
    expect(faultOf(checked({ decode: throwing }).decode(head, body, context))).toContain('threw "TypeError: no disk"')
    const usages = [
      {
        get prompt_tokens() {
          return throwing()
        },
      },
      {
        prompt_tokens: 1,
        completion_tokens_details: {
          get reasoning_tokens() {
            return throwing()
          },
        },
      },
    ]
    for (const usage of usages) {
      const answer = wrongly<ChatResponse>({ choices: [choice], usage })
      expect(faultOf(checked({ decode: () => answer }).decode(head, body, context))).toContain("threw")
    }
  })

  test("gives a usage that is read once", () => {
    let reads = 0
    const usage = {
      get prompt_tokens() {
        return ++reads
      },
      completion_tokens: 2,
    }
    const read = checked({ decode: () => wrongly({ choices: [choice], usage }) }).decode(head, body, context)
    expect(read).toMatchObject({ usage: { prompt_tokens: 1, completion_tokens: 2 } })
    expect([JSON.stringify(read), reads]).toEqual([expect.stringContaining('"prompt_tokens":1'), 1])
  })
})

describe("decoder", () => {
  const decoderOf = (decoder: unknown) => checked({ decoder: () => wrongly<Decoder>(decoder) }).decoder(head, context)
  const good = { event: () => [], end: () => [] }
  const choice = { index: 0, delta: {}, finish_reason: null }
  const chunk = (more: object) => [{ choices: [{ ...choice, ...more }] }]

  test.each([[undefined], [null], [{ event: () => [] }], [{ ...good, done: true }], [Promise.resolve(good)]])(
    "that is %j fails at its first event, and at the end of a stream without one",
    (decoder) => {
      const { event: take, end } = decoderOf(decoder)
      for (const failure of [take("", event), end()]) {
        expect(faultOf(failure)).toStartWith("acme.protocols.chat.decoder must return a decoder with event and end")
      }
    },
  )

  test.each<[unknown, string]>([
    [undefined, "an array of chunks or a HostFailed, not nothing"],
    [Promise.resolve(), "an array of chunks or a HostFailed, not a promise"],
    [{ choices: [] }, "an array of chunks or a HostFailed, not an object"],
    [[7], "an array of chunks whose members are objects, not a number"],
    [[{}], "choices are a list, not nothing"],
    [[{ choices: [7] }], "choices are objects with an index and a delta, not a number"],
    [chunk({ index: undefined }), "choices have an index"],
    [chunk({ delta: undefined }), "choices have a delta"],
    [chunk({ finish_reason: undefined }), "choices have a finish_reason"],
    [chunk({ finish_reason: "STOP" }), 'choices have a finish_reason: a FinishReason, or null, not "STOP"'],
    [chunk({ delta: { images: {} } }), "delta.images are a list of parts with type image_url"],
    [chunk({ delta: { images: [{ type: "image_url", image_url: "a" }] } }), "image_url.url as text"],
    [chunk({ delta: { content: 7 } }), "delta.content is text"],
    [chunk({ delta: { reasoning: 7 } }), "delta.reasoning is text"],
    [chunk({ delta: { tool_calls: {} } }), "delta.tool_calls are a list of pieces with an index"],
    [chunk({ delta: { tool_calls: [{}] } }), "delta.tool_calls are a list of pieces with an index"],
    [[{ choices: [], usage: 7 }], "usage is an object"],
  ])("whose event or end returns %j", (chunks, says) => {
    const decoder = decoderOf({ event: () => chunks, end: () => chunks })
    expect(faultOf(decoder.event("", event))).toStartWith(
      "acme.protocols.chat.decoder.event must return an array of chunks",
    )
    expect(faultOf(decoder.end())).toStartWith("acme.protocols.chat.decoder.end must return an array of chunks")
    expect(faultOf(decoder.event("", event))).toContain(says)
  })

  test("that throws, anywhere", () => {
    const said = 'threw "TypeError: no disk"'
    const unmade = checked({ decoder: throwing }).decoder(head, context)
    expect(faultOf(unmade.event("", event))).toBe(`acme.protocols.chat.decoder ${said}`)
    const decoder = decoderOf({ event: throwing, end: throwing, done: throwing })
    expect(faultOf(decoder.event("", event))).toBe(`acme.protocols.chat.decoder.event ${said}`)
    expect(faultOf(decoder.end())).toBe(`acme.protocols.chat.decoder.end ${said}`)
    expect(decoder.done?.()).toBe(true)
    expect(faultOf(decoder.end())).toBe(`acme.protocols.chat.decoder.done ${said}`)
  })

  test("whose done is neither true nor false ends the stream, and the end says why", () => {
    for (const said of [undefined, 1, Promise.resolve(true)]) {
      const decoder = decoderOf({ ...good, done: () => said })
      expect(decoder.done?.()).toBe(true)
      expect(faultOf(decoder.end())).toStartWith("acme.protocols.chat.decoder.done must return true or false")
    }
  })

  test("a getter in the usage of a chunk throws where it is handled", () => {
    const usage = {
      get prompt_tokens() {
        return throwing()
      },
    }
    const decoder = decoderOf({ event: () => [{ choices: [], usage }], end: () => [] })
    expect(faultOf(decoder.event("", event))).toBe('acme.protocols.chat.decoder.event threw "TypeError: no disk"')
  })
})

describe("what a hook's own failure shows of the host was neither cut nor cleaned, but by `error`", () => {
  const long = new HostFailed({
    reason: "request",
    detail: `no\u0000\r\n${"x".repeat(5000)}`,
    code: `c\n${"y".repeat(500)}`,
    retryAfterSeconds: 3,
  })
  const cut = { reason: "request", detail: `no ${"x".repeat(1021)}`, code: `c ${"y".repeat(98)}`, retryAfterSeconds: 3 }
  const encoded = { path: "/chat", body: "{}" }
  const rejected = (promise: Promise<unknown> | undefined) => promise?.catch((cause: unknown) => cause)
  const signing: SignContext = { url: "", credentials: {}, http: () => Effect.die("not called"), now: 0 }

  test.each<[string, () => unknown]>([
    ["decode", () => checked({ decode: () => long }).decode(head, body, context)],
    ["event", () => decoderOf().event("", event)],
    ["end", () => decoderOf().end()],
    ["error", () => load({ error: () => long }).error(400, head.headers, "")],
    [
      "sign",
      () =>
        Effect.runPromise(Effect.flip(load({ sign: () => long }).sign?.(encoded, signing) ?? Effect.die("no sign"))),
    ],
    [
      "transport",
      () => rejected(load({ transport: () => Promise.reject(long) }).transport?.(new Request("http://in.process/"))),
    ],
  ])("%s", async (_, failure) => {
    expect(await failure()).toMatchObject(cut)
  })

  const decoderOf = () => checked({ decoder: () => ({ event: () => long, end: () => long }) }).decoder(head, context)

  test("what is no text is left out", () => {
    const failure = new HostFailed({ reason: "request", detail: wrongly({ a: 1 }), code: wrongly(7) })
    const shown = checked({ decode: () => failure }).decode(head, body, context)
    expect([shown, "detail" in shown, "code" in shown]).toEqual([expect.any(HostFailed), false, false])
  })
})

test("an async hook that rejects is at fault, and its promise does not end the process", async () => {
  const rejecting = async () => throwing()
  const protocol = checked({
    decode: wrongly(rejecting),
    decoder: () => ({ event: wrongly(rejecting), end: () => [] }),
  })
  expect(faultOf(protocol.decode(head, body, context))).toEndWith(", not a promise")
  expect(faultOf(protocol.decoder(head, context).event("", event))).toEndWith(", not a promise")
  // An unhandled rejection fails this test after a turn of the event loop.
  await Bun.sleep(0)
})

describe("error", () => {
  test("that throws or returns something invalid: the original status is kept", () => {
    for (const error of [throwing, () => undefined, async () => new HostFailed({ reason: "account" }), () => ({})]) {
      const failure = load({ error: wrongly(error) }).error(503, head.headers, "")
      expect(faultOf(failure)).toStartWith("acme.error ")
      expect(failure.status).toBe(503)
    }
  })
})

describe("sign", () => {
  const encoded = { path: "/chat", body: "{}" }
  const signing: SignContext = {
    url: "https://acme.example/chat",
    credentials: {},
    http: () => Effect.die("not called"),
    now: 0,
  }
  const signed = (sign: unknown) =>
    Effect.runPromiseExit(load({ sign: wrongly(sign) }).sign?.(encoded, signing) ?? Effect.die("no sign"))

  test("that signs or fails as a host passes", async () => {
    const headers = { "x-signature": "a" }
    expect(await signed(() => Effect.succeed({ ...encoded, headers }))).toEqual(Exit.succeed({ ...encoded, headers }))
    const failure = new HostFailed({ reason: "account" })
    expect(await signed(() => failure)).toEqual(Exit.fail(failure))
  })

  test.each<[string, unknown, string]>([
    ["throws", throwing, 'threw "TypeError: no disk"'],
    ["dies", () => Effect.die(new TypeError("no disk")), 'threw "TypeError: no disk"'],
    ["fails with what is no HostFailed", () => Effect.fail("no"), 'threw "no"'],
    ["returns no Effect", () => encoded, "must return an Effect"],
    ["returns a promise", async () => encoded, "must return an Effect, not a promise"],
    ["signs to no request", () => Effect.succeed({ path: 7 }), "must return an Effect of a request whose path"],
  ])("that %s", async (_, sign, says) => {
    const exit = await signed(sign)
    const fault = faultOf(Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined)
    expect(fault).toStartWith(`acme.sign ${says}`)
  })

  test("is run once for each request", async () => {
    let runs = 0
    await signed(() => {
      runs += 1
      return Effect.succeed(encoded)
    })
    expect(runs).toBe(1)
  })
})

describe("hooks that return promises", () => {
  const rejection = async (promise: Promise<unknown> | undefined) =>
    promise?.then(
      () => undefined,
      (cause: unknown) => cause,
    )
  const call = new Request("http://in.process/")

  test("a transport that gives no Response is at fault; one that rejects is a host that cannot be reached", async () => {
    expect(await load({ transport: async () => Response.json({}) }).transport?.(call)).toBeInstanceOf(Response)
    const wrong = await rejection(load({ transport: wrongly(async () => ({ status: 200 })) }).transport?.(call))
    expect(faultOf(wrong)).toBe("acme.transport must return a promise of a Response, not an object")
    for (const transport of [throwing, async () => throwing()]) {
      const failure = await rejection(load({ transport: wrongly(transport) }).transport?.(call))
      expect(failure).toMatchObject({
        reason: "unreachable",
        cause: expect.any(TypeError),
      })
    }
    const failure = new HostFailed({ reason: "timeout" })
    expect(await rejection(load({ transport: () => Promise.reject(failure) }).transport?.(call))).toBe(failure)
  })

  test("models that are no list", async () => {
    expect(await load({ models: async () => [{ id: "a/b" }] }).models?.()).toEqual([{ id: "a/b" }])
    for (const models of [throwing, async () => throwing(), async () => ({}), async () => [7]]) {
      expect(await rejection(load({ models: wrongly(models) }).models?.())).toBeInstanceOf(PluginFault)
    }
  })

  test("an invalid listing", () => {
    const listModels = { request: { method: "GET", path: "/models", body: "" }, decode: () => wrongly<[]>({}) } as const
    expect(faultOf(load({ listModels }).listModels?.decode({}))).toBe(
      "acme.listModels.decode must return a list of models, or nothing, not an object",
    )
  })
})

describe("what load returned is no provider", () => {
  test.each<[string, unknown, string]>([
    ["no protocols", { protocols: undefined }, "must return protocols"],
    ["an empty one", { protocols: {} }, "must return at least one protocol"],
    ["a protocol that is none", { protocols: { chat: 7 } }, "a protocol chat that is an object, not a number"],
    ["an unknown framing", { protocols: { chat: { ...chat, framing: "toString" } } }, "framing is one that this"],
    ["an unknown rule for usage", { protocols: { chat: { ...chat, usage: "first" } } }, 'usage is "largest" or "last"'],
    ["half a protocol", { protocols: { chat: { ...chat, decode: undefined } } }, "decode is a function"],
    ["no error", { error: undefined }, "must return error as a function"],
    ["a sign that is none", { sign: 7 }, "must return sign as a function"],
    ["a base URL that is none", { baseUrl: new URL("https://acme.example") }, "must return baseUrl as text"],
    ["a listing without a request", { listModels: {} }, "must return listModels with"],
  ])("%s", (_, more, says) => {
    expect(() => load(wrongly(more))).toThrow(says)
    expect(() => load(wrongly(more))).toThrow("acme.load ")
  })
})

describe("operations without streams", () => {
  const embeddingsRequest = Either.getOrThrow(decodeEmbeddings({ model: "a/b", input: ["a", "b"] }))
  const rerankRequest = Either.getOrThrow(decodeRerank({ model: "a/b", query: "a", documents: ["b"] }))
  const vectors = (data: unknown) =>
    load({ embeddings: { encode: throwing, decode: () => wrongly({ data }) } }).embeddings
  const scores = (results: unknown) => load({ rerank: { encode: throwing, decode: () => wrongly({ results }) } }).rerank

  test.each([
    [undefined, "a vector for each of 2 inputs, not nothing"],
    [[{ index: 0, embedding: [1] }], "a vector for each of 2 inputs"],
    [
      [
        { index: 0, embedding: [1] },
        { index: 0, embedding: [1] },
      ],
      "a vector for each of 2 inputs",
    ],
    [
      [
        { index: 0, embedding: [1] },
        { index: 1, embedding: 1 },
      ],
      "a vector for each of 2 inputs",
    ],
  ])("embeddings of %j", (data, says) => {
    const fault = faultOf(vectors(data)?.decode(head, {}, embeddingsRequest))
    expect(fault).toBe(`acme.embeddings.decode must return an answer whose data has ${says}`)
  })

  test.each([[[]], [[{ index: 1, relevance_score: 1 }]], [[{ index: 0 }]]])("results of %j", (results) => {
    const fault = faultOf(scores(results)?.decode(head, {}, rerankRequest))
    expect(fault).toStartWith(
      "acme.rerank.decode must return an answer whose results have scores of some of 1 documents",
    )
  })

  test("a throw", () => {
    const encoded = vectors([])?.encode(embeddingsRequest, host)
    const failure = encoded !== undefined && Either.isLeft(encoded) ? encoded.left : undefined
    expect(faultOf(failure)).toBe('acme.embeddings.encode threw "TypeError: no disk"')
  })

  test("a provider may have no other protocol, and needs both hooks", () => {
    const embeddings = { encode: throwing, decode: throwing }
    expect(load({ protocols: {}, embeddings }).protocols).toEqual({})
    expect(() => load({ protocols: {} })).toThrow("at least one protocol")
    expect(() => load({ embeddings: wrongly({ encode: throwing }) })).toThrow("embeddings whose decode is a function")
    for (const hook of ["readText", "mostInputs"])
      expect(() => load({ embeddings: wrongly({ ...embeddings, [hook]: 5 }) })).toThrow(
        `embeddings whose ${hook} is a function, not a number`,
      )
  })
})
