/**
 * Every client form at every host form: an answer says the same whole and streamed, whoever gives it, and costs what the
 * ledger says.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { toUsd } from "../../../src/domain/price/money.ts"
import type { ReasoningDetail } from "../../../src/domain/request/chat.ts"
import type { ClientForm } from "../../support/forms/ClientForm.ts"
import { clientForms } from "../../support/forms/clients.ts"
import { type HostForm, hostForms } from "../../support/forms/hosts.ts"
import { bodyOf, type FormsScene, formsScene } from "../../support/forms/scene.ts"
import { type Answer, counts, objectIn, type Question, textIn, user } from "../../support/forms/script.ts"

let scene: FormsScene
beforeAll(async () => {
  scene = await formsScene()
})
afterAll(() => scene.stop())

const claudes = "anthropic-claude-v1"

interface Case {
  readonly name: string
  /** Its choices. */
  readonly answers: ReadonlyArray<Answer>
  /** The only form of hosts that can say it. */
  readonly only?: string
  /** How it ends for callers of a form at hosts of a form, where their words for its finish reason are not those of others. */
  readonly ends?: Readonly<Record<string, string>>
}

const signed: ReadonlyArray<ReasoningDetail> = [
  { type: "reasoning.text", text: "First of all,\nwe count.", signature: "c2lnbmVkLzE+==", format: claudes },
  { type: "reasoning.encrypted", data: "ZW5jcnlwdGVkLzI=", format: claudes },
  { type: "reasoning.text", text: "Then we add.", signature: "c2lnbmVkLzM=", format: claudes },
]

const cases: ReadonlyArray<Case> = [
  { name: "text", answers: [{ text: "The sum is 4.", finish: "stop" }] },
  {
    name: "unicode",
    answers: [
      { text: 'Zwölf Boxkämpfer 👩‍👩‍👧 "jagen"\\n\u2028 \u0007 \t\r\n 漢字 \ud83d\ude80 <b>&amp;</b>', finish: "stop" },
    ],
  },
  { name: "a long text", answers: [{ text: "0123456789 abc \u00e9\n".repeat(20_000), finish: "stop" }] },
  { name: "white space", answers: [{ text: "  \n two spaces and a line before, and after \n ", finish: "stop" }] },
  { name: "a length stop", answers: [{ text: "The sum of", finish: "length" }] },
  { name: "a content filter", answers: [{ text: "As to that", finish: "content_filter" }] },
  { name: "a refusal", answers: [{ refusal: "I will not do that.", finish: "content_filter" }] },
  {
    name: "a refusal that ends as other answers",
    answers: [{ refusal: "I will not do that.", finish: "stop" }],
    only: "chat",
    ends: { "messages at chat": "refusal" },
  },
  {
    name: "text up to a stop sequence",
    answers: [{ text: "One, two", finish: "stop", stoppedAt: ", three" }],
    ends: { "messages at messages": "stop_sequence" },
  },
  {
    name: "one call",
    answers: [
      { calls: [{ id: "call_1", name: "look", input: { at: "the moon", n: [1, null] } }], finish: "tool_calls" },
    ],
  },
  {
    name: "text and parallel calls, one of them without arguments",
    answers: [
      {
        text: "Let me see.",
        calls: [
          { id: "call_1", name: "look", input: { at: 'a "quoted" 月' } },
          { id: "call_2", name: "now", input: {} },
          { id: "call_3", name: "look", input: { at: "x", deep: { of: { it: [true, 1.5, -2e-3] } } } },
        ],
        finish: "tool_calls",
      },
    ],
  },
  { name: "signed and hidden reasoning", answers: [{ thoughts: signed, text: "4", finish: "stop" }] },
  {
    name: "reasoning before a call",
    answers: [
      { thoughts: signed.slice(0, 1), calls: [{ id: "call_9", name: "now", input: {} }], finish: "tool_calls" },
    ],
  },
  {
    name: "summaries with encrypted reasoning",
    answers: [
      {
        thoughts: [
          { type: "reasoning.summary", summary: "It counts.", format: "openai-responses-v1", id: "rs_1" },
          { type: "reasoning.encrypted", data: "ZW5jcnlwdGVk", format: "openai-responses-v1", id: "rs_1" },
        ],
        text: "4",
        finish: "stop",
      },
    ],
  },
  {
    name: "reasoning of a third vendor",
    answers: [
      {
        thoughts: [
          { type: "reasoning.text", text: "Hm.", format: "google-gemini-v1" },
          { type: "reasoning.encrypted", data: "Z2VtaW5p", format: "google-gemini-v1", id: "tool_1" },
        ],
        text: "4",
        finish: "stop",
      },
    ],
  },
  {
    name: "several choices",
    answers: [
      { text: "The first.", finish: "stop" },
      { text: "The second", finish: "length" },
      { text: "The third.", finish: "stop" },
    ],
  },
]

const question: Question = { turns: [user("What is 2 + 2?")] }

/** Whether the host can write it, and the client can get it. */
const fits = (client: ClientForm, host: HostForm, { answers, only = host.name }: Case): boolean =>
  only === host.name &&
  answers.length <= Math.min(host.choices, client.choices) &&
  answers.every(
    ({ thoughts = [], calls = [] }) =>
      thoughts.every(({ format }) => host.writes(format ?? "")) && (client.isChat || calls.length === 0),
  )

/** 24 tokens at 1 µ$, 6 of the cache at 0.1, 12 at 2. */
const cost = toUsd(48_600_000n)
const completionCost = toUsd(24_000_000n)
const promptCost = toUsd(24_600_000n)

for (const client of clientForms) {
  for (const host of hostForms) {
    describe(`a caller of ${client.name} at a host of ${host.name}`, () => {
      for (const one of cases.filter((candidate) => fits(client, host, candidate))) {
        test(`hears ${one.name}`, async () => {
          const { answers, ends = {} } = one
          const more = answers.length > 1 ? client.several(answers.length) : {}
          scene.say(...answers)
          const whole = await scene.post(client, host, question, more)
          const body = await bodyOf(whole)
          const streamed = await scene.post(client, host, question, { ...more, stream: true })
          expect(streamed.headers.get("content-type")).toBe("text/event-stream")
          const assembled = client.assembled(await streamed.text())

          expect(client.same(assembled)).toEqual(client.same(body))
          const heard = client.heard(body)
          expect(heard).toEqual(
            answers.map(({ thoughts = [], text = "", refusal = "", calls = [], finish }) => ({
              reasoning: thoughts.map((detail) => detail.text ?? detail.summary ?? "").join(""),
              text,
              refusal,
              calls,
              end: ends[`${client.name} at ${host.name}`] ?? client.ends[finish],
              counts,
              cost,
              model: scene.model(host),
            })),
          )
          expect(client.heard(assembled)).toEqual(heard)

          for (const response of [whole, streamed]) {
            const { headers } = response
            expect(headers.get("x-gw-host")).toBe(host.name)
            expect(headers.get("x-gw-request-id")).toMatch(/^req_/)
            expect(headers.get("x-gw-dropped")).toBeNull()
            expect(await scene.row(response)).toMatchObject({
              request_id: textIn(headers.get("x-gw-request-id")),
              model: scene.model(host),
              provider_name: host.name,
              streamed: response === streamed,
              tokens_prompt: counts.prompt,
              tokens_completion: counts.completion,
              native_tokens_cached: counts.cached,
              native_tokens_reasoning: counts.reasoning,
              total_cost: cost,
              finish_reason: answers[0]?.finish,
            })
          }
          expect(Number(whole.headers.get("x-gw-cost-usd"))).toBe(cost)
          const { upstream_inference_cost: upstream, ...parts } = objectIn(objectIn(body["usage"])["cost_details"])
          expect(upstream).toBe(cost)
          expect(Object.values(parts).toSorted()).toEqual([completionCost, promptCost])
        })
      }
    })
  }
}
