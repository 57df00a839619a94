/** What a plugin returns is checked: a mistake is a failure of its host, not of the gateway. docs/guarantees.md#g33 */
import { describe, expect, test } from "bun:test"
import { openAccount } from "../../support/gateways/account.ts"
import { closeAfterEach, opened, startWatched } from "../../support/gateways/watched.ts"
import { type ScriptedHost, scriptedHost, streamAnswer, wholeAnswer } from "../../support/hosts/host.ts"
import { configWithOdd, type Odd, withOdd } from "../../support/hosts/oddPlugin.ts"

closeAfterEach()

const throwing = Object.defineProperty({ completion_tokens: 5 }, "prompt_tokens", {
  enumerable: true,
  get: () => {
    throw new Error("a usage that cannot be read")
  },
})

const wholes: ReadonlyArray<readonly [what: string, whole: NonNullable<Odd["whole"]>]> = [
  ["nothing", () => undefined],
  ["null", () => null],
  ["a number", () => 7],
  ["a promise of the answer", (right) => Promise.resolve(right)],
  ["choices that are no list", (right) => ({ ...right, choices: "none" })],
  ["no choices", (right) => ({ ...right, choices: undefined })],
  ["a choice that is none", (right) => ({ ...right, choices: [null] })],
  [
    "a message that is a number",
    (right) => ({ ...right, choices: right.choices.map((one) => ({ ...one, message: 7 })) }),
  ],
  ["usage that throws when it is read", (right) => ({ ...right, usage: throwing })],
]

const events: ReadonlyArray<readonly [what: string, event: NonNullable<Odd["event"]>]> = [
  ["nothing", () => undefined],
  ["a promise of the chunks", (right) => Promise.resolve(right)],
  ["a text", () => "chunks"],
  ["choices that are no list", () => [{ choices: 7 }]],
  ["a choice without a delta", () => [{ choices: [{ index: 0, finish_reason: null }] }]],
  ["a delta that is a number", () => [{ choices: [{ index: 0, delta: 7, finish_reason: null }] }]],
  ["usage that throws when it is read", (right) => right.map((chunk) => ({ ...chunk, usage: throwing }))],
]

const good = (text: string): ScriptedHost =>
  opened(scriptedHost((body) => (body["stream"] === true ? streamAnswer([text]) : wholeAnswer(text))))

const start = async (odd: Odd, hosts: Record<string, ScriptedHost>) => {
  const gateway = await startWatched({
    plugins: await withOdd(odd),
    config: configWithOdd(hosts, { server: { drain_s: 0 }, limits: { deadline_ms: 30_000 } }),
  })
  const account = await openAccount(gateway)
  const messages = [{ role: "user", content: "hi" }]
  const ask = (stream: boolean) =>
    gateway.chat(
      { model: "acme/small", messages, max_tokens: 10, stream, provider: { order: ["first"] } },
      { headers: { authorization: `Bearer ${account.secret}` } },
    )
  return { gateway, account, ask }
}

const mistakes = [
  ...wholes.map(([what, whole]) => [`a whole answer read as ${what}`, { whole }, false] as const),
  ...events.map(([what, event]) => [`an event read as ${what}`, { event }, true] as const),
]

describe("a mistake of a plugin failed the request and kept its reservation", () => {
  test.each(mistakes)("%s: the next host answers, and nothing is reserved", async (_what, odd, stream) => {
    const { account, ask } = await start(odd, { first: good("of the first"), second: good("of the second") })
    const response = await ask(stream)
    expect([response.status, response.headers.get("x-gw-host")]).toEqual([200, "second"])
    expect(await response.text()).toContain("of the second")
    expect(await account.reserved()).toBe(0n)
    expect(await account.rows()).toMatchObject([{ host: "second", outcome: "finished", cost: 20_000_000n }])
  })

  test.each(mistakes)("%s: as the only host it is 502, free of charge", async (_what, odd, stream) => {
    const { account, ask } = await start(odd, { first: good("of the first") })
    const response = await ask(stream)
    expect(response.status).toBe(502)
    expect(await response.json()).toMatchObject({
      error: { metadata: { error_type: "provider_unavailable", previous_errors: [{ provider: "first" }] } },
    })
    expect([await account.reserved(), await account.total(), await account.rows()]).toEqual([0n, 0n, []])
  })

  test.each(mistakes)("%s: the log did not say whose mistake it was", async (_what, odd, stream) => {
    const { gateway, ask } = await start(odd, { first: good("of the first") })
    await (await ask(stream)).text()
    expect(gateway.log()).toMatch(/\bodd\b/)
  })
})
