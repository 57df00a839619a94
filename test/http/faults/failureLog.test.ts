/** What the log says of a failed host: whose mistake it was and what came, but nothing of a prompt, an answer or a key. */
import { describe, expect, test } from "bun:test"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { type ChatChunk, chatProtocol, defineProvider, HostFailed, httpError, malformed } from "headgate/plugin"
import { isJsonObject } from "../../../src/domain/json/json.ts"
import type { Plugin } from "../../../src/plugin/loading/discover.ts"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import { chunkOf, configFor, scriptedHost, sse, streamAnswer, wholeAnswer } from "../../support/hosts/host.ts"
import { configWithOdd, type Odd, withOdd } from "../../support/hosts/oddPlugin.ts"

closeAfterEach()

const prompt = "words of the prompt"
const said = "words of the answer"

/** The lines of single failures. */
const events = ["attempt_failed", "request_refused_by_host", "plugin_fault"]

interface Line {
  readonly level: string
  readonly message: unknown
  readonly about: unknown
  readonly cause: string
}

/** Sends one request and gives the lines that tell of failures, the whole log, and what the caller read. */
const failuresOf = async (config: object, stream: boolean, plugins?: ReadonlyArray<Plugin>) => {
  const lines: Array<Line> = []
  const logger = Logger.make<unknown, void>(({ logLevel, message, cause }) => {
    const [text, about] = Array.isArray(message) ? message : [message]
    if (isJsonObject(about) && events.includes(String(about["event"]))) {
      const why = Cause.isEmpty(cause) ? "" : Cause.pretty(cause).split("\n", 1)[0]
      lines.push({ level: logLevel.label, message: text, about, cause: why ?? "" })
    }
  })
  const gateway = await startWatched({
    config,
    ...(plugins === undefined ? {} : { plugins }),
    setting: Logger.add(logger),
  })
  const messages = [{ role: "user", content: prompt }]
  const answer = await (await gateway.chat({ model: "acme/small", messages, max_tokens: 10, stream })).text()
  expect(gateway.log()).not.toContain(prompt)
  expect(gateway.log()).not.toContain(said)
  return { lines, log: gateway.log(), answer }
}

test("the line of a failed host has the caller's own id of the request, beside ours", async () => {
  const host = opened(scriptedHost(() => new Response("no", { status: 500 })))
  const gateway = await startWatched({ config: configFor({ a: { url: host.url } }) })
  const body = { model: "acme/small", messages: [{ role: "user", content: prompt }] }
  const answer = await gateway.chat(body, { headers: { "x-request-id": "trace-7" } })
  expect(answer.status).toBe(502)
  await answer.text()
  expect(gateway.log()).toContain('caller_request_id: "trace-7"')
  expect(gateway.log()).toContain(answer.headers.get("x-request-id") ?? "none")
})

describe("a mistake of a plugin was logged like a failure of the host, without what came", () => {
  const changed = (change: (choice: ChatChunk["choices"][number]) => object): NonNullable<Odd["event"]> => {
    return (right) => right.map((chunk) => ({ ...chunk, choices: chunk.choices.map(change) }))
  }
  const mistakes: ReadonlyArray<readonly [what: string, odd: Odd, hook: string, problem: string]> = [
    [
      "a finish in the host's own word",
      { event: changed((choice) => ({ ...choice, finish_reason: "STOP" })) },
      "decoder.event",
      'must return an array of chunks whose choices have a finish_reason: a FinishReason, or null, not "STOP"',
    ],
    [
      "a finish that is a sentence of the answer",
      { event: changed((choice) => ({ ...choice, finish_reason: said })) },
      "decoder.event",
      "must return an array of chunks whose choices have a finish_reason: a FinishReason, or null, not a text",
    ],
    [
      "an index that is a text of the answer",
      { event: changed((choice) => ({ ...choice, index: choice.delta.content ?? "" })) },
      "decoder.event",
      "must return an array of chunks whose choices have an index: a number, not a text",
    ],
    [
      "content that is a number",
      { event: changed((choice) => ({ ...choice, delta: { content: 7 } })) },
      "decoder.event",
      "must return an array of chunks whose delta.content is text, not a number",
    ],
    [
      "an answer that is the text itself",
      { whole: ({ choices }) => choices[0]?.message.content },
      "decode",
      "must return a ChatResponse or a HostFailed, not a text",
    ],
  ]

  test.each([...mistakes])("%s", async (_, odd, hook, problem) => {
    const host = opened(scriptedHost((body) => (body["stream"] === true ? streamAnswer([said]) : wholeAnswer(said))))
    const { lines } = await failuresOf(configWithOdd({ first: host }), odd.whole === undefined, await withOdd(odd))
    const whose = { host: "first", model: "acme/small", plugin: "odd", member: "protocols.chat", hook }
    const about = { ...whose, problem: `odd.protocols.chat.${hook} ${problem}` }
    expect(lines).toMatchObject([{ level: "ERROR", message: "a plugin made a mistake", about, cause: "" }])
  })

  test("a throw is logged with its place", async () => {
    const host = opened(scriptedHost(() => wholeAnswer(said)))
    const whole = () => {
      throw new TypeError("no disk")
    }
    const { lines } = await failuresOf(configWithOdd({ first: host }), false, await withOdd({ whole }))
    const thrownAt = expect.stringMatching(/^at .*failureLog\.test\.ts/)
    const problem = 'odd.protocols.chat.decode threw "TypeError: no disk"'
    const about = { plugin: "odd", hook: "decode", problem, thrown_at: thrownAt }
    expect(lines).toMatchObject([{ level: "ERROR", message: "a plugin made a mistake", about }])
  })
})

describe("the log of a failed host", () => {
  const word = chunkOf({ delta: { content: said }, finish_reason: null })
  const failed = (about: object, cause = "") => [
    { level: "DEBUG", message: "a host failed", about: { host: "acme", model: "acme/small", ...about }, cause },
  ]

  const refused = (about: object) => [
    {
      level: "DEBUG",
      message: "a host refused a request",
      about: {
        host: "acme",
        model: "acme/small",
        request_id: expect.any(String),
        caller: expect.any(String),
        ...about,
      },
      cause: "",
    },
  ]

  test("did not say that a stream ended without a finish", async () => {
    const host = opened(scriptedHost(() => sse([word])))
    const { lines } = await failuresOf(configFor({ acme: host }), true)
    expect(lines).toMatchObject(failed({ reason: "unreachable" }, "Error: the stream ended without a finish"))
  })

  test.each<[string, () => Response, string]>([
    ["a page of HTML", () => new Response(`<html>${said}`), "the stream ended without a single event"],
    ["an event that is no JSON", () => sse([said]), "an event is no JSON"],
    ["[DONE] and nothing else", () => sse(["[DONE]"]), "the stream was done before anything was said"],
  ])("did not say what was wrong with %s in place of a stream", async (_, answer, cause) => {
    const host = opened(scriptedHost(answer))
    const { lines } = await failuresOf(configFor({ acme: host }), true)
    expect(lines).toMatchObject(failed({ reason: "malformed" }, `Error: ${cause}`))
  })

  test("had an error made of the reason in place of the host's status and code", async () => {
    const error = { message: said, code: "bad_thing" }
    const host = opened(scriptedHost(() => Response.json({ error }, { status: 400 })))
    const { lines, answer } = await failuresOf(configFor({ acme: host }), false)
    expect(lines).toMatchObject(refused({ reason: "request", status: 400, code: "bad_thing" }))
    // The caller is shown what the log is not.
    expect(answer).toContain(said)
  })

  test("shows no key that the host put into its code", async () => {
    const error = { message: "no", code: "key-of-acme is wrong" }
    const host = opened(scriptedHost(() => Response.json({ error }, { status: 401 })))
    const { lines, log } = await failuresOf(configFor({ acme: host }), false)
    expect(lines).toMatchObject(failed({ reason: "account", status: 401, code: "[secret] is wrong" }))
    expect(log).not.toContain("key-of-acme")
  })

  const failing = (sign: HostFailed) =>
    defineProvider({
      id: "signing",
      name: "Signing",
      config: Schema.Struct({}),
      load: () => ({
        protocols: { chat: chatProtocol() },
        error: httpError,
        credentials: { secret: Redacted.make("secret-of-signing") },
        sign: () => Effect.fail(sign),
      }),
    })

  test("shows no credential that `sign` put into its failure, and neither does the answer: both did", async () => {
    const quoted = "the secret-of-signing is wrong"
    const plugin = failing(new HostFailed({ reason: "request", detail: quoted, code: quoted }))
    const host = opened(scriptedHost(() => wholeAnswer(said)))
    const { providers, ...config } = configFor({ acme: host })
    const signed = { ...config, providers: { acme: { ...providers["acme"], plugin: "signing" } } }
    const { lines, log, answer } = await failuresOf(signed, false, [plugin])
    expect(lines).toMatchObject(refused({ reason: "request", code: "the [secret] is wrong" }))
    expect(answer).toContain("the [secret] is wrong")
    expect(`${log}${answer}`).not.toContain("secret-of-signing")
    expect(host.calls).toEqual([])
  })

  test("has the word that a plugin found for an answer that is none", async () => {
    const plugin = failing(malformed().with({ code: "MALFORMED_FUNCTION_CALL" }))
    const host = opened(scriptedHost(() => wholeAnswer(said)))
    const { providers, ...config } = configFor({ acme: host })
    const signed = { ...config, providers: { acme: { ...providers["acme"], plugin: "signing" } } }
    const { lines } = await failuresOf(signed, false, [plugin])
    expect(lines).toMatchObject(failed({ reason: "malformed", code: "MALFORMED_FUNCTION_CALL" }))
  })
})
