/** A prompt costs and fits the same however its JSON was escaped and formatted. docs/guarantees.md#g1 */
import { describe, expect, test } from "bun:test"
import * as FastCheck from "effect/FastCheck"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { openAccount, type TestAccount } from "../../support/gateways/account.ts"
import { closeAfterEach, good, type Routed, routed } from "../../support/gateways/routed.ts"

closeAfterEach()

interface Spelling {
  /** Escapes every character that is not ASCII, as Python's and PHP's encoders do. */
  readonly ascii: boolean
  /** Escapes slashes too, as PHP does. */
  readonly slashes: boolean
  /** Blanks for each level; 0: one line. */
  readonly indent: number
}

const spelled = (value: unknown, { ascii, slashes, indent }: Spelling): string => {
  let text = JSON.stringify(value, null, indent)
  if (ascii) text = text.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
  return slashes ? text.replaceAll("/", "\\/") : text
}

const plain: Spelling = { ascii: false, slashes: false, indent: 0 }
const escaped: Spelling = { ascii: true, slashes: true, indent: 0 }
const pretty: Spelling = { ascii: false, slashes: false, indent: 10 }

const post = (gateway: Routed, account: TestAccount, path: string, body: string): Promise<Response> =>
  gateway.call(path, { method: "POST", body, headers: { authorization: `Bearer ${account.secret}` } })

const statusOf = async (gateway: Routed, account: TestAccount, path: string, body: string): Promise<number> => {
  const response = await post(gateway, account, path, body)
  await response.text()
  return response.status
}

describe("the same prompt, written in three ways", () => {
  const emojis = {
    model: "acme/small",
    messages: [{ role: "user", content: "\u{1f600}".repeat(15_000) }],
    max_tokens: 20,
  }
  const nested = Array.from({ length: 400 }, (_, at) => ({ type: "text", text: `${at}` }))
  const many = { model: "acme/small", messages: [{ role: "user", content: nested }], max_tokens: 20 }

  test.each([
    ["as UTF-8", plain],
    ["with every character escaped", escaped],
    ["on many lines", pretty],
  ] as const)("%s: it is not refused for its length", async (_name, spelling) => {
    const gateway = await routed({ host: good() })
    const account = await openAccount(gateway)
    expect(await statusOf(gateway, account, "/chat/completions", spelled(emojis, spelling))).toBe(200)
  })

  test.each([
    ["characters escaped", emojis, escaped],
    ["on many lines", many, pretty],
  ] as const)("%s: it needs no more of a limit", async (_name, body, spelling) => {
    const gateway = await routed({ host: good() })
    // A microdollar for each byte that is sent, and a few more.
    const sent = Buffer.byteLength(JSON.stringify(body)) + 300
    const account = await openAccount(gateway, { limit: BigInt(sent) * 1_000_000n })
    expect(await statusOf(gateway, account, "/chat/completions", spelled(body, spelling))).toBe(200)
  })
})

test("a prompt of far more text than a host's context has is refused, one that some tokenizer could fit is the host's to judge", async () => {
  const gateway = await routed({ host: good() })
  const account = await openAccount(gateway)
  const ask = (bytes: number) =>
    statusOf(
      gateway,
      account,
      "/chat/completions",
      spelled({ model: "acme/small", messages: [{ role: "user", content: " ".repeat(bytes) }], max_tokens: 20 }, plain),
    )
  expect(await ask(8192 * 16)).toBe(200)
  expect(await ask(8192 * 16 + 16)).toBe(400)
})

test("any value in any spelling: the same plan, the same reservation, the same outcome", async () => {
  const reserved: Array<bigint> = []
  let account: TestAccount | undefined
  const answer = async (body: JsonObject) => {
    reserved.push((await account?.reserved()) ?? -1n)
    return await good()(body, new Request("http://127.0.0.1"), 0)
  }
  const gateway = await routed({ cheap: answer, dear: answer })
  const text = FastCheck.string({ unit: "grapheme", maxLength: 300 })
  const Body = FastCheck.record({
    model: FastCheck.constant("acme/small"),
    messages: FastCheck.array(FastCheck.record({ role: FastCheck.constantFrom("user", "system"), content: text }), {
      minLength: 1,
      maxLength: 4,
    }),
    max_tokens: FastCheck.constantFrom(1, 100, 4000),
    documents: FastCheck.array(FastCheck.record({ id: text, size: FastCheck.double({ noNaN: true }) }), {
      maxLength: 2,
    }),
    provider: FastCheck.constantFrom({}, { max_price: { prompt: 1.5 } }),
  })
  const Spelling = FastCheck.record({
    ascii: FastCheck.boolean(),
    slashes: FastCheck.boolean(),
    indent: FastCheck.nat(10),
  })
  const limit = FastCheck.bigInt(1_000_000n, 9_000_000_000n)
  let refused = 0
  await FastCheck.assert(
    FastCheck.asyncProperty(Body, Spelling, limit, async (body, spelling, limit) => {
      const outcomes: Array<unknown> = []
      for (const each of [plain, spelling]) {
        account = await openAccount(gateway, { limit })
        const written = spelled(body, each)
        const explained = await (await post(gateway, account, "/route/explain?seed=1", written)).json()
        expect(explained).toHaveProperty("data.attempts")
        const status = await statusOf(gateway, account, "/chat/completions", written)
        outcomes.push({ explained, status, reserved: reserved.splice(0) })
        if (status === 402) refused += 1
      }
      expect(outcomes[1]).toEqual(outcomes[0])
    }),
    { numRuns: 60 },
  )
  expect(refused).toBeGreaterThan(5)
}, 1_800_000)
