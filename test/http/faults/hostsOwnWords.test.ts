/** What hosts say with the status of a request's fault, and is none: which host and which key is called next. docs/guarantees.md#g10 */
import { expect, test } from "bun:test"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import { configFor, scriptedHost, wholeAnswer } from "../../support/hosts/host.ts"

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
}, 30_000)

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
