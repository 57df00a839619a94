/**
 * Vectors and ranks that are beyond a limit of ours: charged by what the host counted, in the form of each host. A count of
 * OpenAI's form alone was found. docs/guarantees.md#g5 and #g10
 */
import { afterEach, describe, expect, test } from "bun:test"
import type { JsonObject } from "../../../src/domain/json/json.ts"
import { toUsd } from "../../../src/domain/price/money.ts"
import { openAccount } from "../../support/gateways/account.ts"
import { type UnaryScene, unaryScene } from "../../support/hosts/unaryHosts.ts"

const stops: Array<() => Promise<void>> = []
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

const longest = 100_000
const inputs = 40
const texts = Array.from({ length: inputs }, (_, at) => `text ${at}`)
const vector = Array.from({ length: 64 }, (_, at) => at / 100)
/** A tenth more than there can be. */
const many = `[${"0,".repeat(4_400_000)}0]`
const objects = `[${"{},".repeat(4_400_000)}{}]`

interface Spoken {
  readonly operation: "embeddings" | "rerank"
  readonly plugin: string
  readonly facts?: object
  /** Of `more`, which no protocol knows, so that the answer is one but for its depth, length or values. */
  readonly answer: (more: string) => string
  readonly row: JsonObject
  /** USD. */
  readonly cost: number
}

const json = (value: unknown): string => JSON.stringify(value)
const counted = { promptTokens: 400, estimated: false, completionTokens: 0 }
const results = texts.map((_, index) => ({ index, relevance_score: 0.5 }))

const spoken: Readonly<Record<string, Spoken>> = {
  "embeddings of OpenAI": {
    ...{ operation: "embeddings", plugin: "openai", row: counted, cost: 0.0004 },
    answer: (more) =>
      `{"object":"list","more":${more},"data":${json(texts.map((_, index) => ({ index, embedding: vector })))},` +
      `"usage":{"prompt_tokens":400,"total_tokens":400}}`,
  },
  "embeddings of Cohere": {
    ...{ operation: "embeddings", plugin: "cohere", row: counted, cost: 0.0004 },
    answer: (more) =>
      `{"id":"1","more":${more},"embeddings":{"float":${json(texts.map(() => vector))}},` +
      `"meta":{"billed_units":{"input_tokens":400}}}`,
  },
  "embeddings of Gemini": {
    ...{ operation: "embeddings", plugin: "google-ai-studio", row: counted, cost: 0.0004 },
    answer: (more) =>
      `{"more":${more},"embeddings":${json(texts.map(() => ({ values: vector })))},` +
      `"usageMetadata":{"promptTokenCount":400}}`,
  },
  "ranks of Cohere": {
    ...{
      operation: "rerank",
      plugin: "cohere",
      facts: { pricing: { prompt: "0", completion: "0", request: "0.002" } },
    },
    ...{ row: { rareUsage: { searchUnits: 3 }, estimated: false }, cost: 0.006 },
    answer: (more) => `{"id":"1","more":${more},"results":${json(results)},"meta":{"billed_units":{"search_units":3}}}`,
  },
  "ranks of Jina's form": {
    ...{ operation: "rerank", plugin: "openai-compatible", row: counted, cost: 0.0004 },
    answer: (more) => `{"more":${more},"results":${json(results)},"usage":{"total_tokens":400}}`,
  },
}

const scene = async ({ operation, plugin, facts = {} }: Spoken, text: string, limits: object): Promise<UnaryScene> => {
  const answer = () => new Response(text, { headers: { "content-type": "application/json" } })
  const made = await unaryScene(
    operation,
    { one: answer, two: answer },
    { one: facts, two: facts },
    { one: { plugin }, two: { plugin } },
    limits,
  )
  stops.push(made.stop)
  return made
}

const ask = ({ operation }: Spoken): Record<string, unknown> =>
  operation === "embeddings" ? { input: texts } : { query: "which?", documents: texts }

/** Asks once: a 502, one call, one row, and what is told is what is booked. Returns the row, and its cost in USD. */
const charged = async (one: Spoken, text: string, limits: object = {}) => {
  const { gateway, post, hosts } = await scene(one, text, limits)
  const account = await openAccount(gateway)
  const answer = await post(ask(one), { headers: { authorization: `Bearer ${account.secret}` } })
  const body: { readonly error?: { readonly metadata?: JsonObject } } = JSON.parse(await answer.text())
  const rows = await account.rows()
  expect([answer.status, rows.length]).toEqual([502, 1])
  expect((hosts["one"]?.calls.length ?? 0) + (hosts["two"]?.calls.length ?? 0)).toBe(1)
  const [row] = rows
  expect(row).toMatchObject({ outcome: "cut", waived: null })
  const cost = toUsd(row?.cost ?? 0n)
  expect([Number(answer.headers.get("x-gw-cost-usd")), body.error?.metadata?.["cost"]]).toEqual([cost, cost])
  expect(answer.headers.get("x-should-retry")).toBe("false")
  expect([await account.reserved(), await account.total()]).toEqual([0n, row?.cost ?? 0n])
  return { row, cost }
}

describe("vectors and ranks beyond a limit were free, or charged by OpenAI's count alone", () => {
  test.each(Object.entries(spoken))("%s, nested too deep: charged by the host's own count", async (_, one) => {
    const { row, cost } = await charged(one, one.answer(`${"[".repeat(70)}${"]".repeat(70)}`))
    expect(row).toMatchObject(one.row)
    expect(cost).toBe(one.cost)
  })

  test.each(Object.entries(spoken))("%s, cut for its length: charged by an estimate", async (_, one) => {
    const whole = one.answer("0")
    // The end, where hosts count, is beyond the bound.
    const at = whole.lastIndexOf("]")
    const text = `${whole.slice(0, at)},${"[0.1],".repeat(longest)}${whole.slice(at)}`
    const { cost } = await charged(one, text, { body_bytes: longest })
    expect(cost).toBeGreaterThan(0)
    expect(cost).toBeLessThan(one.operation === "rerank" ? 0.1 : 0.001)
  })

  test("cut for its length after the host's count: charged by that", async () => {
    const [one] = Object.values(spoken)
    if (one === undefined) throw new Error("none")
    const text = `{"usage":{"prompt_tokens":7,"total_tokens":7},${one.answer(json("x".repeat(longest * 3))).slice(1)}`
    const data = text.replace('"data"', '"other"').replace('{"usage"', '{"data":[{"index":0,"embedding":[1]}],"usage"')
    const { row } = await charged(one, data, { body_bytes: longest })
    expect(row).toMatchObject({ promptTokens: 7, estimated: false })
  })
})

describe("4,000,000 values are the most", () => {
  test.each([
    ["embeddings of OpenAI", objects],
    ["embeddings of Cohere", objects],
    ["ranks of Cohere", many],
  ])("%s with more: 502 before they are parsed, charged by the host's own count", async (name, more) => {
    const one = spoken[name]
    if (one === undefined) throw new Error(name)
    const { row } = await charged(one, one.answer(more))
    expect(row).toMatchObject(one.row)
  })

  test("numbers in lists of an answer with vectors do not count, and those that are no vector took 6 µs each to write", async () => {
    const one = spoken["embeddings of OpenAI"]
    if (one === undefined) throw new Error("none")
    const { gateway, post } = await scene(one, one.answer(many), {})
    const account = await openAccount(gateway)
    const answer = await post(ask(one), { headers: { authorization: `Bearer ${account.secret}` } })
    expect(answer.status).toBe(200)
    expect(await answer.json()).toMatchObject({ more: null, data: { length: inputs } })
    expect(await account.rows()).toMatchObject([{ outcome: "finished", promptTokens: 400 }])
  })
})
