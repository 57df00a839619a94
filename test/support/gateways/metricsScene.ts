/** A gateway under traffic of every kind that figures tell of: whole answers, streams, failures, fallbacks, hedges, free answers, refusals. */
import * as Effect from "effect/Effect"
import type { GatewayConfigInput } from "../../../src/config/GatewayConfig.ts"
import { keyId } from "../../../src/domain/keys/keySecret.ts"
import type { LedgerRow } from "../../../src/services/storage/ledger.ts"
import { Storage } from "../../../src/services/storage/Storage.ts"
import { until } from "../clocks/until.ts"
import { chunkOf, configFor, type ScriptedHost, scriptedHost, sse, streamAnswer, wholeAnswer } from "../hosts/host.ts"
import { startGateway, type TestGateway } from "./gateway.ts"

export interface MetricsScene extends TestGateway {
  /** At the port of the gateway. */
  readonly metrics: (headers?: Record<string, string>, path?: string) => Promise<Response>
  /** Asks a model for what `word` stands for; the answer is read to its end. */
  readonly ask: (word: string, more?: Record<string, unknown>) => Promise<number>
  /** Every kind of request, some of them often. */
  readonly traffic: () => Promise<void>
  readonly rows: () => Promise<ReadonlyArray<LedgerRow>>
  readonly hosts: ReadonlyArray<ScriptedHost>
}

const usage = {
  prompt_tokens: 101,
  completion_tokens: 7,
  prompt_tokens_details: { cached_tokens: 33 },
  completion_tokens_details: { reasoning_tokens: 3 },
}

/** What the first host does at a word. The second one answers always. */
const firstHost = (body: Record<string, unknown>): Response | Promise<Response> => {
  const text = JSON.stringify(body["messages"])
  if (text.includes("fail")) return Response.json({ error: { message: "no" } }, { status: 503 })
  if (text.includes("empty")) return nothing()
  if (text.includes("uncounted")) return wholeAnswer("no usage", {})
  if (text.includes("break")) return sse([chunkOf({ delta: { content: "half an" }, finish_reason: null })])
  if (text.includes("slow")) return new Promise((resolve) => setTimeout(() => resolve(secondHost(body)), 1500))
  return secondHost(body)
}

/** Without text and without a finish, which is free. */
const nothing = (): Response =>
  Response.json({
    ...{ id: "chatcmpl-1", object: "chat.completion", created: 1, model: "upstream" },
    choices: [{ index: 0, message: { role: "assistant", content: "" }, finish_reason: null }],
    usage: { prompt_tokens: 11, completion_tokens: 0 },
  })

const secondHost = (body: Record<string, unknown>): Response =>
  body["stream"] === true ? streamAnswer(["fine", " and", " done"], usage) : wholeAnswer("fine", usage)

/** Prices that no float has exactly. */
const odd = { prompt: "0.000000123457", completion: "0.000000987653" }

export const openMetricsScene = async (config: GatewayConfigInput = {}): Promise<MetricsScene> => {
  const hosts = [scriptedHost(firstHost), scriptedHost(secondHost)] as const
  const [a, b] = hosts
  const gateway = await startGateway({
    config: configFor(
      { a: { url: a.url, ...odd }, b: { url: b.url, ...odd, completion: "0.000001000001" } },
      { routing: { hedge: { enabled: "on_request", max_cost_share: 1 } }, ...config },
    ),
  })
  const origin = new URL(gateway.url).origin
  const ask = async (word: string, more: Record<string, unknown> = {}) => {
    const body = { model: "acme/small", messages: [{ role: "user", content: word }], ...more }
    const response = await gateway.chat({ provider: { order: ["a", "b"] }, ...body })
    await response.text()
    return response.status
  }
  const rows = () =>
    gateway.run(Effect.flatMap(Storage, ({ ledger }) => Effect.orDie(ledger.rows(keyId(gateway.key), 10_000))))
  return {
    ...gateway,
    hosts,
    ask,
    rows,
    metrics: ({ authorization = `Bearer ${gateway.managementKey}`, ...headers } = {}, path = "/metrics") =>
      fetch(`${origin}${path}`, { headers: { ...headers, ...(authorization === "" ? {} : { authorization }) } }),
    traffic: async () => {
      for (let at = 0; at < 25; at++) await ask("hi", { stream: true })
      await ask("hi")
      for (const word of ["fail", "empty", "uncounted"]) await ask(word)
      await ask("break", { stream: true, provider: { order: ["a"], allow_fallbacks: false } })
      await ask("fail", { provider: { order: ["a"], allow_fallbacks: false } })
      await ask("slow", { stream: true, provider: { order: ["a", "b"], hedge: true } })
      await ask("hi", { model: "acme/unknown" })
      await ask("hi", { messages: "none" })
      await until(async () => (await rows()).some(({ outcome }) => outcome === "lost"), "the call that lost")
    },
    stop: async () => {
      await gateway.stop()
      for (const host of hosts) await host.stop()
    },
  }
}

/** The values of samples by their name and labels, as they are written. */
export const samplesOf = (text: string): ReadonlyMap<string, string> =>
  new Map(
    text
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#"))
      .map((line) => {
        const at = line.lastIndexOf(" ")
        return [line.slice(0, at), line.slice(at + 1)] as const
      }),
  )
