/** What one key provokes at a host costs no other key anything. docs/guarantees.md#g35 */
import { describe, expect, test } from "bun:test"
import { errorOf } from "../../support/clients/answers.ts"
import { until } from "../../support/clocks/until.ts"
import { openAccount } from "../../support/gateways/account.ts"
import { closeAfterEach, opened, startWatched, type Watched } from "../../support/gateways/watched.ts"
import { chunkOf, configFor, scriptedHost, sse, streamAnswer, wholeAnswer } from "../../support/hosts/host.ts"
import { configWithOdd, type Odd, withOdd } from "../../support/hosts/oddPlugin.ts"

closeAfterEach()

type Way = (isStream: boolean) => Response

const finished = (word: string): Way => {
  const usage = { prompt_tokens: 10, completion_tokens: 5 }
  return (isStream) =>
    isStream
      ? sse([
          chunkOf({ delta: { content: "so far" }, finish_reason: null }),
          chunkOf({ delta: {}, finish_reason: word }, { usage }),
          "[DONE]",
        ])
      : Response.json({
          choices: [{ index: 0, message: { role: "assistant", content: "" }, finish_reason: word }],
          usage,
        })
}
const status = (code: number, headers: Record<string, string> = {}): Way => {
  return () => Response.json({ error: { message: "no" } }, { status: code, headers })
}
const json = (text: string): Way => {
  return (isStream) =>
    isStream ? sse([text]) : new Response(text, { headers: { "content-type": "application/json" } })
}
const brokenOff: Way = (isStream) =>
  isStream ? sse([chunkOf({ delta: { content: "so far" }, finish_reason: null })]) : new Response("")

/** Every way that is known in which a request can make a host's answer useless, or seem so. */
const ways: ReadonlyArray<readonly [what: string, way: Way, asked?: Record<string, unknown>]> = [
  ["a finish that the model chose: MALFORMED_FUNCTION_CALL", finished("MALFORMED_FUNCTION_CALL")],
  ["a finish that the model chose: NO_IMAGE", finished("NO_IMAGE")],
  ["a finish that the model chose: TOO_MANY_TOOL_CALLS", finished("TOO_MANY_TOOL_CALLS")],
  ["a finish that the model chose: abort", finished("abort")],
  ["a finish with an error of the host", finished("error")],
  ["an answer above body_bytes", json(`{"x":"${"y".repeat(60_000)}"}`)],
  ["an answer nested too deep", json(`{"choices":${"[".repeat(70)}${"]".repeat(70)}}`)],
  [
    "more headers than we read",
    () => new Response("{}", { headers: Object.fromEntries(Array.from({ length: 201 }, (_, at) => [`x-${at}`, "1"])) }),
  ],
  ["HTML", () => new Response("<html>")],
  ["no JSON", json("{")],
  ["choices that are none", json('{"choices":[7]}')],
  ["an end without a finish", brokenOff],
  ["a 400", status(400)],
  ["a 402, because the request is too dear", status(402)],
  ["a 403", status(403)],
  ["a 404", status(404)],
  ["a 408", status(408)],
  ["a 413", status(413)],
  [
    "a 429 for a request that alone is above the limit of tokens",
    () => {
      const message = "Request too large for m on tokens per min (TPM): Limit 30000, Requested 50000."
      return Response.json({ error: { message, type: "tokens", code: "rate_limit_exceeded" } }, { status: 429 })
    },
  ],
  ["a 500", status(500)],
  ["a 503", status(503)],
  ["an error in a 200", json('{"error":{"message":"no","code":500}}')],
]

const ask = (gateway: Watched, secret: string, content: string, stream: boolean) =>
  gateway.chat(
    { model: "acme/small", messages: [{ role: "user", content }], max_tokens: 10, stream },
    { headers: { authorization: `Bearer ${secret}` } },
  )

/** The host answers what is odd in this way, and anything else well. */
const withOddHost = (way: Way): Promise<Watched> => {
  const host = opened(
    scriptedHost((body) => {
      const isStream = body["stream"] === true
      if (JSON.stringify(body["messages"]).includes("odd")) return way(isStream)
      return isStream ? streamAnswer(["fine"]) : wholeAnswer("fine")
    }),
  )
  return startWatched({ config: configFor({ acme: host }, { limits: { body_bytes: 50_000 } }) })
}

const fiveOdd = async (gateway: Watched, secret: string): Promise<void> => {
  for (let at = 0; at < 6; at++) await (await ask(gateway, secret, "odd", at % 2 === 1)).text()
}

describe("five requests of one key, after which another key asks the same host", () => {
  test.each(ways)("%s: is served, whether or not it was there before", async (_, way) => {
    for (const isThereBefore of [true, false]) {
      const gateway = await withOddHost(way)
      const [odd, other] = [await openAccount(gateway), await openAccount(gateway)]
      if (isThereBefore) expect((await ask(gateway, other.secret, "hello", false)).status).toBe(200)
      await fiveOdd(gateway, odd.secret)
      for (const stream of [false, true]) {
        const answer = await ask(gateway, other.secret, "hello", stream)
        expect([answer.status, (await answer.text()).includes("fine")]).toEqual([200, true])
      }
      expect([await odd.reserved(), await other.reserved()]).toEqual([0n, 0n])
    }
  })

  test("callers who leave: is served, and nothing is said against the host", async () => {
    const host = opened(
      scriptedHost((body, request) =>
        JSON.stringify(body["messages"]).includes("odd")
          ? new Promise((resolve) => request.signal.addEventListener("abort", () => resolve(new Response())))
          : wholeAnswer("fine"),
      ),
    )
    const gateway = await startWatched({ config: configFor({ acme: host }) })
    const [odd, other] = [await openAccount(gateway), await openAccount(gateway)]
    for (let at = 1; at <= 6; at++) {
      const leaving = new AbortController()
      const asked = gateway
        .chat(
          { model: "acme/small", messages: [{ role: "user", content: "odd" }] },
          { headers: { authorization: `Bearer ${odd.secret}` }, signal: leaving.signal },
        )
        .catch(() => "left")
      await until(() => host.calls.length === at, "the call")
      leaving.abort()
      await asked
    }
    expect((await ask(gateway, other.secret, "hello", false)).status).toBe(200)
    expect(await gateway.listed()).toMatchObject([{ status: 0, uptime_last_1d: 100 }])
  })
})

describe("two keys took a host from all others", () => {
  const alone: ReadonlyArray<readonly [what: string, way: Way]> = [
    ...ways.map(([what, way]) => [what, way] as const),
    ["a 502", status(502)],
    ["a 529", status(529)],
  ]

  test.each(alone)("%s: keys of one owner count as one, and another key is served", async (_, way) => {
    const gateway = await withOddHost(way)
    const owner = "somebody"
    const keys = [await openAccount(gateway, { owner }), await openAccount(gateway, { owner })]
    const other = await openAccount(gateway)
    for (let round = 0; round < 4; round++) {
      for (const { secret } of keys) await (await ask(gateway, secret, "odd", round % 2 === 1)).text()
      // One that is out is tried by the other key's call, in the first round and the last.
      if (round % 3 === 0) expect((await ask(gateway, other.secret, "hello", false)).status).toBe(200)
    }
    expect((await ask(gateway, other.secret, "hello", true)).status).toBe(200)
  })

  test.each(alone)("%s: of two owners, a fifth of all calls: another key is served", async (_, way) => {
    const gateway = await withOddHost(way)
    const keys = [await openAccount(gateway), await openAccount(gateway)]
    const other = await openAccount(gateway)
    for (let at = 0; at < 16; at++) expect((await ask(gateway, other.secret, "hello", false)).status).toBe(200)
    for (let at = 0; at < 4; at++) {
      for (const { secret } of keys) await (await ask(gateway, secret, "odd", at % 2 === 1)).text()
    }
    expect((await ask(gateway, other.secret, "hello", true)).status).toBe(200)
  })
})

describe("a finish that the model chose", () => {
  test.each(["MALFORMED_FUNCTION_CALL", "NO_IMAGE", "TOO_MANY_TOOL_CALLS", "abort"])(
    "%s was free, and a failure of the host: it is billed as the host counts it",
    async (word) => {
      for (const stream of [false, true]) {
        const host = opened(scriptedHost(() => finished(word)(stream)))
        const gateway = await startWatched({ config: configFor({ acme: host }) })
        const account = await openAccount(gateway)
        const text = await (await ask(gateway, account.secret, "hello", stream)).text()
        expect(text).toContain('"finish_reason":"error"')
        expect(text).toContain(`"native_finish_reason":"${word}"`)
        await until(async () => (await account.rows()).length === 1, "the row")
        const [row] = await account.rows()
        expect(row).toMatchObject({ outcome: "finished", promptTokens: 10, completionTokens: 5, waived: null })
        expect(row?.cost).toBeGreaterThan(0n)
        expect(await gateway.listed()).toMatchObject([{ status: 0, uptime_last_1d: 100 }])
      }
    },
  )
})

/** Answers of which our own writers can make nothing. */
const unwritable: Odd = {
  whole: (right) => ({ ...right, odd: 1n }),
  event: (right) =>
    right.map((chunk) => ({ ...chunk, choices: chunk.choices.map((choice) => ({ ...choice, delta: { odd: 1n } })) })),
}

describe("a throw in our own writer", () => {
  test.each([false, true])(
    "called every host and opened every breaker, unlogged: 500 once, and logged (stream: %p)",
    async (stream) => {
      const answer = () => (stream ? streamAnswer(["fine"]) : wholeAnswer("fine"))
      const [first, second] = [opened(scriptedHost(answer)), opened(scriptedHost(answer))]
      const gateway = await startWatched({
        plugins: await withOdd(unwritable),
        config: configWithOdd({ first, second }, { routing: { strategy: "price" } }),
      })
      const account = await openAccount(gateway)
      for (let at = 1; at <= 6; at++) {
        const asked = await ask(gateway, account.secret, "hello", stream)
        expect(asked.status).toBe(500)
        expect(await errorOf(asked)).toMatchObject({ code: 500, message: "Internal error." })
        expect([first.calls.length, second.calls.length]).toEqual([at, 0])
      }
      expect(gateway.log().match(/a defect/g)).toHaveLength(6)
      expect(gateway.log()).toMatch(/BigInt/)
      expect(await gateway.listed()).toMatchObject([{ status: 0, uptime_last_1d: null }, { status: 0 }])
      expect(await account.reserved()).toBe(0n)
    },
  )
})

describe("a mistake of a plugin", () => {
  test.each([false, true])(
    "opened the breaker of its host: the next host answers, and nothing is counted (stream: %p)",
    async (stream) => {
      const answer = () => (stream ? streamAnswer(["fine"]) : wholeAnswer("fine"))
      const [first, second] = [opened(scriptedHost(answer)), opened(scriptedHost(answer))]
      const gateway = await startWatched({
        plugins: await withOdd({ whole: () => 7, event: () => 7 }),
        config: configWithOdd({ first, second }, { routing: { strategy: "price" } }),
      })
      const account = await openAccount(gateway)
      for (let at = 1; at <= 7; at++) {
        expect(await (await ask(gateway, account.secret, "hello", stream)).text()).toContain("fine")
        expect(first.calls.length).toBe(at)
      }
      expect(await gateway.listed()).toMatchObject([
        { status: 0, uptime_last_1d: null },
        { status: 0, uptime_last_1d: 100 },
      ])
    },
  )
})

describe("an image of 1.2 MB in one event", () => {
  test("was a failure of its host: it is delivered and booked", async () => {
    const url = `data:image/png;base64,${"A".repeat(1_200_000)}`
    const images = [{ type: "image_url", image_url: { url } }]
    const usage = { prompt_tokens: 10, completion_tokens: 1290 }
    const host = opened(
      scriptedHost(() =>
        sse([
          chunkOf({ delta: { images }, finish_reason: null }),
          chunkOf({ delta: {}, finish_reason: "stop" }, { usage }),
          "[DONE]",
        ]),
      ),
    )
    const gateway = await startWatched({ config: configFor({ acme: host }) })
    const account = await openAccount(gateway)
    for (let at = 0; at < 6; at++) {
      const text = await (await ask(gateway, account.secret, "draw", true)).text()
      expect(text.includes(url)).toBe(true)
    }
    await until(async () => (await account.rows()).length === 6, "the rows")
    expect(await gateway.listed()).toMatchObject([{ status: 0, uptime_last_1d: 100 }])
  })
})

test.each([
  [
    "a video that the operator's account may not read",
    403,
    { status: "PERMISSION_DENIED", message: "You do not have permission." },
  ],
  [
    "a schema whose words are repeated",
    400,
    { status: "INVALID_ARGUMENT", message: 'Invalid value "API key not valid"' },
  ],
])(
  "of one key Google said what sounds like the operator's account, and every key was refused: %s",
  async (_, code, error) => {
    const host = opened(
      scriptedHost((body) =>
        JSON.stringify(body).includes("odd")
          ? Response.json({ error: { code, ...error } }, { status: code })
          : Response.json({
              candidates: [{ content: { role: "model", parts: [{ text: "fine" }] }, finishReason: "STOP" }],
              usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1 },
            }),
      ),
    )
    for (const access of [{ api_key: "one" }, { api_keys: [{ key: "one" }, { key: "two" }] }]) {
      const google = { base_url: host.url, network: "private", ...access }
      const config = configFor({ acme: host })
      const [model] = config.models
      const hosts = model?.hosts.map((each) => ({ ...each, provider: "google-ai-studio", model: "gemini-3-pro" }))
      const gateway = await startWatched({
        config: { ...config, providers: { "google-ai-studio": google }, models: [{ ...model, hosts }] } as never,
      })
      const [odd, other] = [await openAccount(gateway), await openAccount(gateway)]
      expect((await ask(gateway, other.secret, "hello", false)).status).toBe(200)
      for (let at = 0; at < 3; at++) expect((await ask(gateway, odd.secret, "odd", false)).status).not.toBe(200)
      for (let at = 0; at < 3; at++) expect((await ask(gateway, other.secret, "hello", false)).status).toBe(200)
    }
  },
)
