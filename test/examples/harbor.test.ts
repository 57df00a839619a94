/** `examples/plugins/harbor`: a token that is fetched by `sign`. docs/plugins.md#tokens */
import { describe, expect, test } from "bun:test"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { HostFailed, jsonBody, type SideAnswer, type SignContext } from "headgate/plugin"
import { providerChecks } from "headgate/testing"
import harbor from "../../examples/plugins/harbor/index.ts"

const config = { client_secret: "a-secret-that-must-not-leak" }

/** The provider, with a token server that counts. */
const start = async (answer: (at: number) => SideAnswer = (at) => granted(`token-${at}`)) => {
  const provider = await Either.getOrThrow(harbor.load(config))
  let fetches = 0
  const http: SignContext["http"] = () =>
    Effect.suspend(() => {
      fetches += 1
      return Effect.as(Effect.yieldNow(), answer(fetches))
    })
  const sign = (now = 0) => {
    const context = {
      url: "https://api.harbor.example/v1/chat/completions",
      credentials: provider.credentials ?? {},
      http,
      now,
    }
    const signed =
      provider.sign?.({ path: "/chat/completions", ...jsonBody({}) }, context) ?? Effect.dieMessage("it does not sign")
    return Effect.map(signed, ({ headers }) => headers?.["authorization"])
  }
  return { provider, sign, fetches: () => fetches }
}

const granted = (token: string): SideAnswer => ({
  status: 200,
  headers: new Headers(),
  body: JSON.stringify({ access_token: token, expires_in: 3600 }),
})

describe("harbor", () => {
  test("fetches one token for eight requests at once, and keeps it until a minute before its end", async () => {
    const { sign, fetches } = await start()
    const all = await Effect.runPromise(
      Effect.all(
        Array.from({ length: 8 }, () => sign()),
        { concurrency: 8 },
      ),
    )
    expect(new Set(all)).toEqual(new Set(["Bearer token-1"]))
    expect(await Effect.runPromise(sign(3_539_999))).toBe("Bearer token-1")
    expect(await Effect.runPromise(sign(3_540_000))).toBe("Bearer token-2")
    expect(fetches()).toBe(2)
  })

  test("fetches another one after a 401", async () => {
    const { provider, sign } = await start()
    expect(await Effect.runPromise(sign())).toBe("Bearer token-1")
    expect(provider.error(401, new Headers(), "").reason).toBe("account")
    expect(await Effect.runPromise(sign())).toBe("Bearer token-2")
  })

  test.each([
    [{ status: 400, headers: new Headers(), body: "{}" }, "account"],
    [{ status: 503, headers: new Headers(), body: "" }, "overloaded"],
    [{ status: 429, headers: new Headers(), body: "" }, "rate-limited"],
    [{ status: 200, headers: new Headers(), body: "<html>" }, "malformed"],
  ] as const)(
    "fails as a host when the token is refused: %j is %s, and the next request asks again",
    async (refused, reason) => {
      const { sign } = await start((at) => (at === 1 ? refused : granted("token-2")))
      const failure = await Effect.runPromise(Effect.flip(sign()))
      expect(failure).toBeInstanceOf(HostFailed)
      expect(failure.reason).toBe(reason)
      expect(await Effect.runPromise(sign())).toBe("Bearer token-2")
    },
  )

  const answer = (request: Request) =>
    new URL(request.url).hostname === "login.harbor.example"
      ? Response.json({ access_token: "a-token-that-must-not-leak", expires_in: 3600 })
      : Response.json({
          id: "1",
          choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }],
          usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
        })
  const checks = providerChecks({ plugin: harbor, config, answer })
  test("passes the kit", async () => {
    for (const check of await checks) await check.run()
  })
})
